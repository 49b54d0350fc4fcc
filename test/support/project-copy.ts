import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const copied = ['cdk.json', 'package.json', 'package-lock.json', 'tsconfig.json', 'lib', 'functions', 'infra', 'tasks'];

/** Copies what a deployment is made of from `source` into `folder`, with another weir.config.ts: an edit in `source` changes nothing that runs there. */
export function copyProject(source: string, folder: string, configuration: string): void {
  mkdirSync(folder, { recursive: true });
  for (const name of copied) cpSync(join(source, name), join(folder, name), { recursive: true });
  symlinkSync(resolve(source, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'weir.config.ts'), configuration);
}
