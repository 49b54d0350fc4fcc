/** What each process of a race is told before it may post. */
export type Start = {
  readonly ports: Ports;
  readonly stage: string;
  readonly table: string;
  readonly queueUrl: string;
  /** Tasks that pool `p` takes in. */
  readonly limit: number;
  /** By a rate rule in place of the pool, which has room for all of them then. */
  readonly by: 'pool' | 'rule';
};
export type Ports = { readonly redis: number; readonly dynamodb: number; readonly sqsS3: number };

/** Settings of an AWS client that talks to a server of the test. */
export function awsAt(port: number) {
  return {
    endpoint: `http://127.0.0.1:${port}`,
    region: 'eu-central-1',
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
  };
}
