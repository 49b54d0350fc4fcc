import { describe, expect, test } from 'vitest';
import { resolveValue, type Scope } from '../../local/template/intrinsics.ts';
import type { Value } from '../../local/template/template.ts';

const scope: Scope = {
  ref: (name) => (name === 'List' ? ['x', 'y'] : `ref:${name}`),
  getAtt: (logicalId, attribute) => `att:${logicalId}/${attribute}`,
  text: (resolved) => resolved.replaceAll('https://deployed', 'http://local'),
};

describe('resolves', () => {
  const rows: [string, Value, Value][] = [
    ['plain values as they are', { a: [1, true, null, 'x'] }, { a: [1, true, null, 'x'] }],
    ['Ref', { Ref: 'Table' }, 'ref:Table'],
    [
      'GetAtt of a list',
      { 'Fn::GetAtt': ['Cache', 'ConfigurationEndPoint.Address'] },
      'att:Cache/ConfigurationEndPoint.Address',
    ],
    ['GetAtt of text', { 'Fn::GetAtt': 'Cache.Endpoint.Port' }, 'att:Cache/Endpoint.Port'],
    ['Join of nested functions', { 'Fn::Join': ['-', ['a', { Ref: 'B' }, 3]] }, 'a-ref:B-3'],
    ['Join of a list that is a Ref', { 'Fn::Join': ['', { Ref: 'List' }] }, 'xy'],
    ['Select with a text index', { 'Fn::Select': ['1', ['a', 'b']] }, 'b'],
    ['Select of a Split', { 'Fn::Select': [2, { 'Fn::Split': [':', 'a:b:c'] }] }, 'c'],
    ['Sub', { 'Fn::Sub': `\${AWS::Region}/\${Fn.Arn}/\${!literal}` }, `ref:AWS::Region/att:Fn/Arn/\${literal}`],
    ['Sub with variables', { 'Fn::Sub': [`\${Own}-\${Other}`, { Own: { Ref: 'X' } }] }, 'ref:X-ref:Other'],
    ['NoValue in an object and in a list', { a: { Ref: 'AWS::NoValue' }, b: [{ Ref: 'AWS::NoValue' }, 1] }, { b: [1] }],
    ['a text joined from parts as a whole', { 'Fn::Join': ['', ['https://', 'deployed', '/x']] }, 'http://local/x'],
    ['two keys as data', { Ref: 'A', other: 1 }, { Ref: 'A', other: 1 }],
  ];
  test.each(rows)('%s', (_, value, expected) => {
    expect(resolveValue(value, scope)).toEqual(expected);
  });
});

describe('refuses', () => {
  const rows: [string, Value, string][] = [
    ['an unknown function by its name', { 'Fn::ImportValue': 'x' }, 'Fn::ImportValue'],
    ['a Select past the end', { 'Fn::Select': [5, ['a']] }, 'past the end'],
    ['a Join of what is no list', { 'Fn::Join': ['', { a: 1 }] }, 'expected a list'],
    ['a Join of objects', { 'Fn::Join': ['', [{ a: 1 }]] }, 'expected text'],
  ];
  test.each(rows)('%s', (_, value, message) => {
    expect(() => resolveValue(value, scope)).toThrow(message);
  });
});
