import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Template } from 'aws-cdk-lib/assertions';
import { Code } from 'aws-cdk-lib/aws-lambda';
import { App } from 'aws-cdk-lib/core';
import { WeirStack } from '../../infra/stack.ts';
import { checkConfig, type WeirConfig } from '../../lib/config.ts';
import shipped from '../../weir.config.ts';

/** A template is JSON whose shape only the assertions know. */
type Json = ReturnType<typeof JSON.parse>;
export type Resource = { readonly Type: string; readonly Properties: Json; readonly [key: string]: unknown };
type Options = { readonly config?: WeirConfig; readonly variables?: Record<string, string>; readonly stage?: string };

/** The stack as the CDK's command line makes it, with `cdk.json`'s flags but without bundles. */
export function makeStack({ config = shipped, variables = {}, stage = 'main' }: Options = {}): {
  app: App;
  stack: WeirStack;
} {
  const { context } = JSON.parse(readFileSync(new URL('../../cdk.json', import.meta.url), 'utf8'));
  const outdir = mkdtempSync(join(tmpdir(), 'weir-synth-'));
  const app = new App({ context, outdir });
  const weir = checkConfig(config, variables);
  const code = () => Code.fromInline('exports.handler = async () => undefined;');
  return { app, stack: new WeirStack(app, `weir-${stage}`, { weir, stage, code, environment: variables }) };
}

/** The synthesized template, by resource type. */
export class Synthesized {
  readonly template: Template;

  constructor(options: Options = {}) {
    const { app, stack } = makeStack(options);
    this.template = Template.fromStack(stack);
    rmSync(app.outdir, { recursive: true, force: true });
  }

  all(type: string): [string, Resource][] {
    return Object.entries(this.template.findResources(type)) as [string, Resource][];
  }

  only(type: string): Resource {
    const found = this.all(type);
    if (found.length !== 1) throw new Error(`expected one ${type}, found ${found.length}`);
    return (found[0] as [string, Resource])[1];
  }

  /** A function by its name without `weir-<stage>-`. */
  fn(name: string): Resource {
    const found = this.all('AWS::Lambda::Function').find(
      ([, { Properties }]) => Properties.FunctionName === `weir-main-${name}`,
    );
    if (found === undefined) throw new Error(`no function ${name}`);
    return found[1];
  }

  /** What a function may do: its own statements, not the managed policies. */
  statements(name: string): { Action: string | string[]; Resource: unknown }[] {
    const role = this.fn(name).Properties.Role?.['Fn::GetAtt']?.[0];
    return this.all('AWS::IAM::Policy')
      .filter(([, { Properties }]) => Properties.Roles?.some((each: { Ref: string }) => each.Ref === role))
      .flatMap(([, { Properties }]) => Properties.PolicyDocument?.Statement as never);
  }

  /** Actions on one service, sorted. */
  actions(name: string, service: string): string[] {
    return this.statements(name)
      .flatMap(({ Action }) => Action)
      .filter((action) => action.startsWith(`${service}:`))
      .sort();
  }
}
