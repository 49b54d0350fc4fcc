import { StackError } from '../stack-error.ts';
import type { Value } from './template.ts';

export type Scope = {
  /** The value of Ref: of a resource, a parameter or a pseudo parameter. `AWS::NoValue` never gets here. */
  ref(name: string): Value;
  getAtt(logicalId: string, attribute: string): Value;
  /** Applied to each whole string once its functions are resolved. */
  text(resolved: string): string;
};

const noValue = Symbol('AWS::NoValue');
type Resolved = Value | typeof noValue;

/**
 * Resolves Ref, Fn::GetAtt, Fn::Join, Fn::Select, Fn::Split, Fn::Sub and Fn::Base64 in a value. What refers to
 * AWS::NoValue is left out of its list or object. Any other function throws a StackError that names it.
 *
 * `{ 'Fn::Join': [':', ['a', { Ref: 'B' }]] }` with Ref B = `b` is `a:b`.
 */
export function resolveValue(value: Value, scope: Scope): Value {
  const resolved = resolveAny(value, scope);
  return resolved === noValue ? null : finish(resolved, scope);
}

// Strings are finished last and from the outside: a dynamic reference or a URL may be joined from several parts.
function finish(value: Value, scope: Scope): Value {
  if (typeof value === 'string') return scope.text(value);
  if (Array.isArray(value)) return value.map((item) => finish(item, scope));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, finish(item, scope)]));
}

function resolveAny(value: Value, scope: Scope): Resolved {
  if (Array.isArray(value)) {
    return value.map((item) => resolveAny(item, scope)).filter((item): item is Value => item !== noValue);
  }
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value);
  const [only] = entries;
  if (entries.length === 1 && only !== undefined && (only[0] === 'Ref' || only[0].startsWith('Fn::'))) {
    return call(only[0], only[1], scope);
  }
  const kept = entries
    .map(([key, item]) => [key, resolveAny(item, scope)] as const)
    .filter((entry): entry is readonly [string, Value] => entry[1] !== noValue);
  return Object.fromEntries(kept);
}

function call(name: string, argument: Value, scope: Scope): Resolved {
  switch (name) {
    case 'Ref':
      return argument === 'AWS::NoValue' ? noValue : scope.ref(text(name, argument));
    case 'Fn::GetAtt': {
      const [logicalId, ...attribute] = typeof argument === 'string' ? argument.split('.') : list(name, argument);
      return scope.getAtt(
        text(name, logicalId),
        attribute.map((part) => text(name, resolveAny(part, scope))).join('.'),
      );
    }
    case 'Fn::Join': {
      const [separator, parts] = list(name, argument);
      const resolved = list(name, resolveAny(parts ?? null, scope));
      return resolved.map((part) => text(name, part)).join(text(name, separator));
    }
    case 'Fn::Select': {
      const [index, from] = list(name, argument);
      const chosen = list(name, resolveAny(from ?? null, scope))[Number(resolveAny(index ?? null, scope))];
      if (chosen === undefined) throw new StackError(`${name}: index ${JSON.stringify(index)} is past the end`);
      return chosen;
    }
    case 'Fn::Split': {
      const [separator, from] = list(name, argument);
      return text(name, resolveAny(from ?? null, scope)).split(text(name, separator));
    }
    case 'Fn::Sub':
      return substitute(argument, scope);
    case 'Fn::Base64':
      return Buffer.from(text(name, resolveAny(argument, scope))).toString('base64');
    default:
      throw new StackError(`the template uses ${name}, which is not supported here`);
  }
}

function substitute(argument: Value, scope: Scope): string {
  const [pattern, own] = typeof argument === 'string' ? [argument, {}] : list('Fn::Sub', argument);
  const variables = typeof own === 'object' && own !== null && !Array.isArray(own) ? own : {};
  return text('Fn::Sub', pattern).replace(/\$\{(!?)([^}]+)\}/g, (_, literal: string, name: string) => {
    if (literal === '!') return `\${${name}}`;
    const variable = Object.hasOwn(variables, name) ? variables[name] : undefined;
    if (variable !== undefined) return text('Fn::Sub', resolveAny(variable, scope));
    const [logicalId = '', ...attribute] = name.trim().split('.');
    const value = attribute.length > 0 ? scope.getAtt(logicalId, attribute.join('.')) : scope.ref(logicalId);
    return text('Fn::Sub', value);
  });
}

function text(name: string, value: Resolved | undefined): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw new StackError(`${name}: expected text, got ${JSON.stringify(value)}`);
}

function list(name: string, value: Resolved): Value[] {
  if (Array.isArray(value)) return value;
  throw new StackError(`${name}: expected a list, got ${JSON.stringify(value)}`);
}
