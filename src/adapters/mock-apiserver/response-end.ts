// Aborts an answer before its end, in either protocol: HTTP/1.1 has a connection for it, HTTP/2 one stream of a shared connection.
import type { ServerResponse } from 'node:http';
import { constants, Http2ServerResponse } from 'node:http2';

/** Whether the client has abandoned the answer. */
export function isGone(response: ServerResponse): boolean {
  const any: unknown = response;
  return any instanceof Http2ServerResponse ? any.stream.destroyed : response.destroyed;
}

/** The client sees a missing or incomplete answer. */
export function cut(response: ServerResponse): void {
  const any: unknown = response;
  if (!(any instanceof Http2ServerResponse)) response.destroy();
  else if (!any.stream.destroyed) any.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
}
