import { Alarm, ComparisonOperator, type IMetric, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import type { Construct } from 'constructs';

/** The runbook's sections, one for each kind of alarm; a test checks that `docs/runbook.md` has them. */
export const runbookSections = [
  'dead-letters',
  'burials',
  'mend-dead-letters',
  'deliver-dead-letters',
  'reconcile-errors',
  'admit-errors',
  'admit-throttles',
  'rate-limit-denials',
  'cache-memory',
  'cache-evictions',
  'cache-cpu',
] as const;
export type RunbookSection = (typeof runbookSections)[number];

export type WeirAlarmProps = {
  readonly name: string;
  readonly runbook: RunbookSection;
  /** What is wrong when it rings, one sentence. */
  readonly meaning: string;
  readonly metric: IMetric;
  readonly above: number;
  /** How many periods in a row. Default 1. */
  readonly periods?: number;
};

/** An alarm with a name and a runbook section. Silence of the metric is no alarm. */
export class WeirAlarm extends Alarm {
  constructor(scope: Construct, id: string, { name, runbook, meaning, metric, above, periods = 1 }: WeirAlarmProps) {
    super(scope, id, {
      alarmName: name,
      alarmDescription: `${meaning}. Runbook: docs/runbook.md#${runbook}`,
      metric,
      threshold: above,
      comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD,
      evaluationPeriods: periods,
      treatMissingData: TreatMissingData.NOT_BREACHING,
    });
  }
}
