import { AttributeType, Billing, ProjectionType, TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import type { IGrantable } from 'aws-cdk-lib/aws-iam';
import { RemovalPolicy } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import type { Variables } from '../lib/settings.ts';
import { allow } from './allow.ts';

type TableVariables = Pick<Variables<'status'>, 'WEIR_TABLE'>;

/**
 * The records: tasks and dedup items, by key. The indexes are sparse (an item without the attribute is not in them), sharded, and hold keys
 * only: `open` gives open tasks by when they are due, `dead` those given up, by when they ended, `own` a tenant's tasks by id, and so by age.
 */
export class TaskTable extends Construct {
  private readonly table: TableV2;

  constructor(scope: Construct, id: string) {
    super(scope, id);
    this.table = new TableV2(this, 'table', {
      partitionKey: { name: 'pk', type: AttributeType.STRING },
      globalSecondaryIndexes: [
        index('open', 'openShard', 'dueAt', AttributeType.NUMBER),
        index('dead', 'deadShard', 'finishedAt', AttributeType.NUMBER),
        index('own', 'ownShard', 'id', AttributeType.STRING),
      ],
      billing: Billing.onDemand(),
      timeToLiveAttribute: 'ttl',
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
      deletionProtection: true,
      removalPolicy: RemovalPolicy.RETAIN,
    });
  }

  /** Reads by key, and lists a tenant's own. */
  grantRead(fn: IGrantable): TableVariables {
    this.grantQuery(fn, 'own');
    return this.grant(fn, 'GetItem', 'BatchGetItem');
  }

  /** Makes records. A transaction needs the permission of each write in it; there is none of its own. */
  grantCreate(fn: IGrantable): TableVariables {
    return this.grant(fn, 'GetItem', 'PutItem', 'UpdateItem');
  }

  /** Names uploads and forgets them, and reads the tasks whose results are asked for. */
  grantUploads(fn: IGrantable): TableVariables {
    return this.grant(fn, 'GetItem', 'PutItem', 'DeleteItem');
  }

  /** Moves records on; cannot make or delete one. */
  grantChange(fn: IGrantable): TableVariables {
    return this.grant(fn, 'GetItem', 'UpdateItem');
  }

  /** Cancels tasks, lists dead letters, and writes the settings: limits set at run time, who set them when, and the redrive. */
  grantControl(fn: IGrantable): TableVariables {
    this.grantQuery(fn, 'dead');
    return this.grant(fn, 'GetItem', 'BatchGetItem', 'PutItem', 'UpdateItem');
  }

  /** Moves on the task of a given-up message, or keeps the message. */
  grantBury(fn: IGrantable): TableVariables {
    return this.grant(fn, 'GetItem', 'PutItem', 'UpdateItem');
  }

  /** Finds what is due and moves it on, does dead tasks again, and writes the epoch. */
  grantMend(fn: IGrantable): TableVariables {
    this.grantQuery(fn, 'open', 'dead');
    return this.grant(fn, 'GetItem', 'BatchGetItem', 'PutItem', 'UpdateItem');
  }

  private grantQuery(fn: IGrantable, ...indexes: string[]): void {
    const resources = indexes.map((name) => `${this.table.tableArn}/index/${name}`);
    allow(fn, ['dynamodb:Query'], resources);
  }

  private grant(fn: IGrantable, ...actions: string[]): TableVariables {
    const names = actions.map((action) => `dynamodb:${action}`);
    allow(fn, names, [this.table.tableArn]);
    return { WEIR_TABLE: this.table.tableName };
  }
}

function index(indexName: string, shard: string, sort: string, type: AttributeType) {
  return {
    indexName,
    partitionKey: { name: shard, type: AttributeType.STRING },
    sortKey: { name: sort, type },
    projectionType: ProjectionType.KEYS_ONLY,
  };
}
