import { AttributeType, Billing, ProjectionType, TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import type { IGrantable } from 'aws-cdk-lib/aws-iam';
import { RemovalPolicy } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import type { Variables } from '../lib/settings.ts';
import { allow } from './allow.ts';

type TableVariables = Pick<Variables<'status'>, 'WEIR_TABLE'>;

/**
 * The records: tasks and dedup items, by key. Both indexes are sparse (an item without the attribute is not in them), sharded, and hold keys
 * only: `open` gives open tasks by when they are due, `dead` those given up, by when they ended.
 */
export class TaskTable extends Construct {
  private readonly table: TableV2;

  constructor(scope: Construct, id: string) {
    super(scope, id);
    this.table = new TableV2(this, 'table', {
      partitionKey: { name: 'pk', type: AttributeType.STRING },
      globalSecondaryIndexes: [index('open', 'openShard', 'dueAt'), index('dead', 'deadShard', 'finishedAt')],
      billing: Billing.onDemand(),
      timeToLiveAttribute: 'ttl',
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
      deletionProtection: true,
      removalPolicy: RemovalPolicy.RETAIN,
    });
  }

  /** Reads by key. */
  grantRead(fn: IGrantable): TableVariables {
    return this.grant(fn, 'GetItem');
  }

  /** Makes records. A transaction needs the permission of each write in it; there is none of its own. */
  grantCreate(fn: IGrantable): TableVariables {
    return this.grant(fn, 'GetItem', 'PutItem', 'UpdateItem');
  }

  /** Moves records on; cannot make or delete one. */
  grantChange(fn: IGrantable): TableVariables {
    return this.grant(fn, 'GetItem', 'UpdateItem');
  }

  /** Reads and writes the settings: limits set at run time, and who set them when. */
  grantSettings(fn: IGrantable): TableVariables {
    return this.grant(fn, 'GetItem', 'PutItem');
  }

  /** Finds what is due and moves it on, and writes the epoch. */
  grantMend(fn: IGrantable): TableVariables {
    allow(fn, ['dynamodb:Query'], [`${this.table.tableArn}/index/open`]);
    return this.grant(fn, 'GetItem', 'PutItem', 'UpdateItem');
  }

  private grant(fn: IGrantable, ...actions: string[]): TableVariables {
    const names = actions.map((action) => `dynamodb:${action}`);
    allow(fn, names, [this.table.tableArn]);
    return { WEIR_TABLE: this.table.tableName };
  }
}

function index(indexName: string, shard: string, moment: string) {
  return {
    indexName,
    partitionKey: { name: shard, type: AttributeType.STRING },
    sortKey: { name: moment, type: AttributeType.NUMBER },
    projectionType: ProjectionType.KEYS_ONLY,
  };
}
