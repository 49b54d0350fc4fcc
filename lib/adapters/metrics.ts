import { Metrics, MetricUnit } from '@aws-lambda-powertools/metrics';
import type { Metrics as Port } from '../ports.ts';

/** Counts as CloudWatch metrics in the namespace `Weir`: each is one line of the function's log in the embedded metric format. */
export function emfMetrics(serviceName: string): Port {
  const metrics = new Metrics({ namespace: 'Weir', serviceName });
  return {
    count(name, value, dimensions = {}) {
      const single = metrics.singleMetric();
      single.addDimensions(dimensions);
      single.addMetric(name, MetricUnit.Count, value);
    },
  };
}
