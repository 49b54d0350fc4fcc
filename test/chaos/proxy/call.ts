export type ServiceName = 'redis' | 'dynamodb' | 'sqs';

/** A function's process. `kind`: what it is an instance of, `admit`, `work`, `reconcile`, … */
export type Owner = { readonly pid: number; readonly kind: string };

/** One request of a function to a service. */
export type Call = {
  readonly service: ServiceName;
  /** What it is to Weir (`acquire`, `create`, `start`, `finish`, `send`, …), or the service's own name for it. */
  readonly name: string;
  readonly taskId: string | undefined;
  /** The attempt's, where it names one. */
  readonly nonce: string | undefined;
  /** A creation: the dedup key it takes. */
  readonly dedupKey?: string | undefined;
};

/** Where a task stands by its record. */
export type Standing = { readonly status: string; readonly attempt: number; readonly revision: number };

export type Reply = {
  /** A script's first word, `ok`, `refused` (a condition did not hold), or the error's name. */
  readonly kind: string;
  /** The record as it was read, is after the write, or stood in its way. */
  readonly standing?: Standing | undefined;
  /** What a script answers after its first word. */
  readonly numbers?: readonly number[];
};

/** `drop`: the request is not forwarded, or its reply not passed on, and the connection is closed. */
export type Verdict = 'pass' | 'drop';

export type Connection = { owner(): Owner | undefined };

/** Is told every request before it is forwarded, and every reply before it is passed on; both wait for its verdict. */
export type Watch = {
  before(call: Call, connection: Connection): Verdict | Promise<Verdict>;
  after(call: Call, reply: Reply, connection: Connection): Verdict | Promise<Verdict>;
};

export type Relay = {
  readonly port: number;
  /** Resets every connection that is open, on both sides. */
  cut(): void;
  close(): Promise<void>;
};

const taskIdForm = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/;
const nonceForm = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Task ids are UUIDs of version 7. */
export function taskIdIn(text: string): string | undefined {
  return taskIdForm.exec(text)?.[0];
}

/** Nonces are UUIDs of version 4, by themselves. */
export function isNonce(text: string): boolean {
  return nonceForm.test(text);
}
