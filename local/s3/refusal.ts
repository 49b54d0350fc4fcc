import type { ServerResponse } from 'node:http';

/** Why S3 does not do what it was asked, in its own codes. */
export type Refusal = { readonly status: number; readonly code: string; readonly message: string };

/** Answers as S3 does: XML, and nothing but the status where the request was a HEAD. */
export function refuse(response: ServerResponse, { status, code, message }: Refusal, isHead = false): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const text = `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>${xmlText(message)}</Message></Error>`;
  // What was sent and not read would be taken for the next request.
  response.writeHead(status, { 'content-type': 'application/xml', connection: 'close' });
  response.end(isHead ? undefined : text);
}

function xmlText(text: string): string {
  return text.replace(/[<>&]/g, (letter) => ({ '<': '&lt;', '>': '&gt;', '&': '&amp;' })[letter] ?? letter);
}
