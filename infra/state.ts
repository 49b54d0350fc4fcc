import { Construct } from 'constructs';
import type { Weir } from '../lib/config.ts';
import { Cache } from './cache.ts';
import { DeliverQueue } from './deliver-queue.ts';
import { FileBucket } from './file-bucket.ts';
import { MendQueue } from './mend-queue.ts';
import { Network } from './network.ts';
import { Signing } from './signing.ts';
import { TaskTable } from './task-table.ts';
import { WorkQueues } from './work-queues.ts';

/** What outlives a request: records, files, messages, secrets and the cache, and the network around it. */
export class State extends Construct {
  readonly tasks: TaskTable;
  readonly files: FileBucket;
  readonly queues: WorkQueues;
  readonly mend: MendQueue;
  readonly deliveries: DeliverQueue;
  readonly signing: Signing;
  readonly network: Network;
  readonly cache: Cache;

  constructor(scope: Construct, id: string, { weir, stage }: { readonly weir: Weir; readonly stage: string }) {
    super(scope, id);
    this.tasks = new TaskTable(this, 'tasks');
    this.files = new FileBucket(this, 'files', weir.times.keepMs);
    this.queues = new WorkQueues(this, 'queues', { weir, stage });
    this.mend = new MendQueue(this, 'mend', stage);
    this.deliveries = new DeliverQueue(this, 'deliveries', stage);
    this.signing = new Signing(this, 'signing', stage);
    this.network = new Network(this, 'network', weir);
    this.cache = new Cache(this, 'cache', this.network);
  }
}
