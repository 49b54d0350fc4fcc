import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

export type Certificate = { readonly key: string; readonly cert: string };
export type Call = { readonly path: string; readonly headers: IncomingHttpHeaders; readonly body: Buffer };

/** Somebody's server that callbacks are posted to: keeps what came and answers as the test says, by default with 204. Closed when the test ends. */
export async function openReceiver(answer?: RequestListener, certificate?: Certificate) {
  const receiver = await startReceiver(answer, certificate);
  onTestFinished(() => receiver.close());
  return receiver;
}

/** The same, to be closed by hand. */
export async function startReceiver(
  answer: RequestListener = (_request, response) => response.writeHead(204).end(),
  certificate?: Certificate,
) {
  const calls: Call[] = [];
  const names: string[] = [];
  let connections = 0;
  const listener: RequestListener = async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    calls.push({ path: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks) });
    answer(request, response);
  };
  const server = certificate === undefined ? createServer(listener) : createTlsServer(certificate, listener);
  server.on(certificate === undefined ? 'connection' : 'secureConnection', (socket) => {
    connections++;
    if ('servername' in socket) names.push(String(socket.servername));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    origin: `http://127.0.0.1:${port}`,
    calls,
    names,
    connections: () => connections,
    close(): void {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** A self-signed certificate for a name. */
export function makeCertificate(name: string): Certificate {
  const folder = mkdtempSync(join(tmpdir(), 'weir-certificate-'));
  const [keyFile, certFile] = [join(folder, 'key'), join(folder, 'cert')];
  const asked = `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=${name}`;
  const files = ['-addext', `subjectAltName=DNS:${name}`, '-keyout', keyFile, '-out', certFile];
  const made = spawnSync('openssl', [...asked.split(' '), ...files], { encoding: 'utf8' });
  if (made.status !== 0) throw new Error(`openssl made no certificate: ${made.error?.message ?? made.stderr}`);
  const certificate = { key: readFileSync(keyFile, 'utf8'), cert: readFileSync(certFile, 'utf8') };
  rmSync(folder, { recursive: true });
  return certificate;
}
