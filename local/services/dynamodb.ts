import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { serviceFolder, withRemoval } from './place.ts';
import { runService, type Service, type ServiceOptions } from './service.ts';

/** Amazon's DynamoDB Local, bound to the loopback interface. With a dataDir it keeps its tables there. */
export async function startDynamoDb(options: ServiceOptions = {}): Promise<Service> {
  const { folder, remove } = serviceFolder('dynamodb', options.dataDir);
  const emulator = join(
    dirname(createRequire(import.meta.url).resolve('amplify-dynamodb-simulator/package.json')),
    'emulator',
  );
  const server = join(folder, 'server.xml');
  writeFileSync(server, serverXml(options.dataDir));
  try {
    const service = await runService(
      {
        name: 'dynamodb',
        command: 'java',
        cwd: emulator,
        args: (port) => [
          // C1 alone halves the start; the heap is what a busy test needs.
          ...['-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Xms128m', '-Xmx512m'],
          '-Dorg.eclipse.jetty.LEVEL=WARN',
          '-Djava.library.path=DynamoDBLocal_lib',
          // It unpacks a library there, which stays when it is killed.
          `-Djava.io.tmpdir=${folder}`,
          ...['-cp', 'DynamoDBLocal.jar:DynamoDBLocal_lib/*'],
          'org.eclipse.jetty.xml.XmlConfiguration',
          ...[server, `port=${port}`],
        ],
        check: listTables,
        readyWithinMs: 60_000,
        whenMissing:
          'java is not on PATH: install it (Debian: apt-get install default-jre-headless; macOS: brew install openjdk)',
      },
      { ...options, logFile: options.logFile ?? join(folder, 'dynamodb.log') },
    );
    return withRemoval(service, remove);
  } catch (error) {
    remove();
    throw error;
  }
}

// The program's own command line has no way to bind to loopback: it would serve the whole network. So its parts are put
// together by Jetty's XML runner, which is on its class path: a connector with a host, and the handler its main() makes.
function serverXml(dataDir: string | undefined): string {
  const server = 'com.amazonaws.services.dynamodbv2.local.server';
  const path = dataDir?.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  return `<?xml version="1.0"?>
<!DOCTYPE Configure PUBLIC "-//Jetty//Configure//EN" "http://www.eclipse.org/jetty/configure_9_3.dtd">
<Configure id="server" class="org.eclipse.jetty.server.Server">
  <Call name="addConnector">
    <Arg>
      <New class="org.eclipse.jetty.server.ServerConnector">
        <Arg><Ref refid="server" /></Arg>
        <Set name="host">127.0.0.1</Set>
        <Set name="port"><Property name="port" /></Set>
      </New>
    </Arg>
  </Call>
  <New id="requests" class="${server}.LocalDynamoDBRequestHandler">
    <Arg type="int">0</Arg><!-- unused -->
    <Arg type="boolean">${path === undefined}</Arg><!-- in memory -->
    <Arg${path === undefined ? ' />' : `>${path}</Arg>`}<!-- database folder -->
    <Arg type="boolean">true</Arg><!-- one database for all regions and credentials -->
    <Arg type="boolean">false</Arg><!-- no artificial delays -->
  </New>
  <New id="http" class="${server}.LocalDynamoDBServerHandler">
    <Arg><Ref refid="requests" /></Arg>
    <Arg type="String">*</Arg><!-- CORS -->
  </New>
  <New id="proxy" class="${server}.DynamoDBProxyServer">
    <Arg type="int">0</Arg>
    <Arg><Ref refid="http" /></Arg>
  </New>
  <Ref refid="proxy"><Call id="routes" name="setUpHandler"><Arg><Ref refid="http" /></Arg></Call></Ref>
  <Set name="handler"><Ref refid="routes" /></Set>
</Configure>
`;
}

async function listTables(port: number): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${port}/`, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/x-amz-json-1.0',
      'X-Amz-Target': 'DynamoDB_20120810.ListTables',
      Authorization:
        'AWS4-HMAC-SHA256 Credential=local/20200101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=none',
    },
    body: '{}',
    signal: AbortSignal.timeout(2_000),
  });
  await response.text();
  if (!response.ok) throw new Error(`HTTP status ${response.status}`);
}
