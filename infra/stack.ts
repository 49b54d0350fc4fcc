import { type App, Fn, Stack } from 'aws-cdk-lib/core';
import type { Weir } from '../lib/config.ts';
import { Api } from './api.ts';
import type { FunctionCode } from './bundle.ts';
import { Deliveries } from './deliveries.ts';
import { type FunctionBase, limitVariables } from './function.ts';
import { writeOutputs } from './outputs.ts';
import { State } from './state.ts';
import { Watch } from './watch.ts';
import { Workers } from './workers.ts';

export type WeirStackProps = {
  readonly weir: Weir;
  /** Names the deployment; several stages live in one account. */
  readonly stage: string;
  readonly code: FunctionCode;
  /** Where limit variables are looked for, `process.env` when deployed. */
  readonly environment: Readonly<Record<string, string | undefined>>;
};

/** Weir as one stack, in the order data flows: state, API, workers, deliveries, watch. */
export class WeirStack extends Stack {
  constructor(scope: App, id: string, { weir, stage, code, environment }: WeirStackProps) {
    super(scope, id, { description: `Weir, stage ${stage}` });
    const functions: FunctionBase = { stage, code, limits: limitVariables(environment) };
    const state = new State(this, 'state', { weir, stage });
    const api = new Api(this, 'api', { weir, functions, state });
    const workers = new Workers(this, 'workers', { weir, functions, state, environment });
    new Deliveries(this, 'deliveries', { functions, state, baseUrl: api.baseUrl });
    new Watch(this, 'watch', { stage, state, api, workers });
    writeOutputs(this, api);
  }

  /** Two zones of whatever region it is deployed to. The getter it overrides may ask AWS, and synth works offline. */
  override get availabilityZones(): string[] {
    return [0, 1].map((index) => Fn.select(index, Fn.getAzs()));
  }
}
