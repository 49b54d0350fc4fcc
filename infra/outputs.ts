import { CfnOutput, type Stack } from 'aws-cdk-lib/core';
import type { Api } from './api.ts';

/** What someone who has just deployed or started Weir types first. */
export function writeOutputs(stack: Stack, api: Api): void {
  const url = `${api.baseUrl}/v1`;
  const json = "-H 'content-type: application/json'";
  output(stack, 'Url', 'Where the API is', url);
  output(
    stack,
    'TryPdf',
    'Text of a PDF, page by page',
    `curl -F 'input={"to":"text"};type=application/json' -F 'document=@some.pdf;type=application/pdf' ${url}/conversions/pdf/tasks`,
  );
  output(
    stack,
    'TryProbe',
    'A task that sleeps for two seconds',
    `curl ${json} -d '{"input":{"ms":2000,"tag":"hello"}}' ${url}/examples/probe/tasks`,
  );
  output(
    stack,
    'TryTask',
    'Read a task, waiting up to 20 s for news; put in the id of a 202',
    `curl '${url}/tasks/ID?wait=20'`,
  );
  output(stack, 'TryQueue', 'How full each pool is', `curl ${url}/queue/status`);
  const operator = 'curl -H "authorization: Bearer $WEIR_OPERATOR_TOKEN"';
  output(stack, 'TryLimits', 'The limits in force, for the operator', `${operator} ${url}/operator/limits`);
  output(
    stack,
    'TryNewLimit',
    'Change a limit at once, for the operator',
    `${operator} -X PATCH ${json} -d '{"pools":{"examples":{"running":2}}}' ${url}/operator/limits`,
  );
  output(stack, 'TrySlots', 'Who holds which slot, for the operator', `${operator} ${url}/operator/slots`);
  output(
    stack,
    'TryRefusal',
    'Refused on purpose: the input has an unknown field',
    `curl ${json} -d '{"input":{"ms":500,"speed":"fast"}}' ${url}/examples/probe/tasks`,
  );
}

function output(stack: Stack, id: string, description: string, value: string): void {
  new CfnOutput(stack, id, { description, value });
}
