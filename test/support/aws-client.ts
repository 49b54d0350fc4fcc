/** Settings of an AWS client that talks to the test's own server. */
export function awsClient(port: number) {
  const credentials = { accessKeyId: 'local', secretAccessKey: 'local' };
  return { endpoint: `http://127.0.0.1:${port}`, region: 'eu-central-1', credentials };
}
