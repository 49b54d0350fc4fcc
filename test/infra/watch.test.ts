import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { runbookSections } from '../../infra/alarm.ts';
import { Synthesized } from './synthesize.ts';

const alarms = new Synthesized().all('AWS::CloudWatch::Alarm').map(([, { Properties }]) => Properties);
const runbook = readFileSync(new URL('../../docs/runbook.md', import.meta.url), 'utf8');

test.each(alarms.map((alarm) => [String(alarm.AlarmName), alarm] as const))(
  '%s says what is wrong and where to read on',
  (name, alarm) => {
    expect(name).toMatch(/^weir-main-/);
    const [, section] = /Runbook: docs\/runbook\.md#([a-z-]+)$/.exec(String(alarm.AlarmDescription)) ?? [];
    expect(runbook).toContain(`\n## ${section}\n`);
  },
);

test('each section of the runbook has an alarm', () => {
  for (const section of runbookSections) {
    expect(
      alarms.filter(({ AlarmDescription }) => String(AlarmDescription).endsWith(`#${section}`)).length,
    ).toBeGreaterThan(0);
  }
});
