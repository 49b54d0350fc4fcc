import type { Task } from '../config.ts';
import type { TaskContext } from '../task.ts';
import type { Deps } from './deps.ts';
import { settleCharges } from './rate-charges.ts';
import type { Held } from './work.ts';

/** `ctx.settle` of one attempt. Throws on what is no amount of this task type; that Redis is away fails no task, whose estimate then stands. */
export function handlerCosts(
  deps: Pick<Deps, 'gate' | 'log'>,
  { record, key }: Pick<Held, 'record' | 'key'>,
  { costs = {} }: Task,
): TaskContext['settle'] {
  return async (amounts) => {
    for (const [name, amount] of Object.entries(amounts)) {
      if (!Object.hasOwn(costs, name))
        throw new TypeError(`settle: expected one of the costs of ${record.api} (${Object.keys(costs)}), got ${name}`);
      if (!(amount >= 0)) throw new RangeError(`settle: expected ${name} of 0 or more, got ${amount}`);
    }
    const whole = Object.fromEntries(Object.entries(amounts).map(([name, amount]) => [name, Math.ceil(amount)]));
    await settleCharges(deps, record, key.attempt, whole).catch((error: unknown) => {
      deps.log.warn('settle had no answer', { taskId: record.id, attempt: key.attempt, reason: String(error) });
    });
  };
}
