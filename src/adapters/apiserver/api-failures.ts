// Maps refusals of the apiserver to PortError: the only place that interprets its status codes.
import { goQuote } from '../../domain/values/go-text.js';
import { microsPerSecond } from '../../domain/values/time.js';
import { PortError, type PortErrorKind } from '../../ports/port-error.js';

/** The subject of a request, for messages: `get pods default/a`. */
export interface Asked {
  readonly operation: string;
  readonly verb: string;
  /** With the group, as in `leases.coordination.k8s.io`. */
  readonly resource: string;
  readonly namespace: string | null;
  readonly name: string | null;
}

/** The fields used of the API's own error object. */
interface Status {
  readonly kind?: unknown;
  readonly message?: unknown;
  readonly reason?: unknown;
  readonly code?: unknown;
  readonly details?: { readonly retryAfterSeconds?: unknown } | null;
}

const kinds: Readonly<Record<number, PortErrorKind>> = {
  400: 'invalid-argument',
  401: 'unauthenticated',
  403: 'permission-denied',
  404: 'not-found',
  405: 'unimplemented',
  406: 'unimplemented',
  409: 'aborted',
  410: 'out-of-range',
  413: 'invalid-argument',
  415: 'unimplemented',
  422: 'invalid-argument',
  429: 'resource-exhausted',
  504: 'deadline-exceeded',
};

/** Used if the server sent no message. */
const messages: Readonly<Record<number, string>> = {
  400: 'the server rejected our request for an unknown reason',
  401: 'the server has asked for the client to provide credentials',
  404: 'the server could not find the requested resource',
  405: 'the server does not allow this method on the requested resource',
  406: 'the server was unable to respond with a content type that the client supports',
  409: 'the server reported a conflict',
  415: 'the server was unable to understand the content type of the request',
  422: 'the server rejected our request due to an error in our request',
  429: 'the server has received too many requests and has asked us to try again later',
  503: 'the server is currently unable to handle the request',
  504: 'the server was unable to return a response in the time allotted, but may still be processing the request',
};

const excerptCharacters = 200;

export function subjectOf({ resource, namespace, name }: Asked): string {
  return [resource, [namespace, name].filter((part) => part !== null && part !== '').join('/')].filter((part) => part !== '').join(' ');
}

/** An answer that is no success. @param body its text. @param retryAfterSeconds from its header */
export function failureOf(asked: Asked, code: number, body: string, retryAfterSeconds: number | null): PortError {
  const status = statusOf(body);
  return statusFailure(asked, status ?? { message: genericMessage(asked, code, body) }, code, retryAfterSeconds);
}

/** The object of an ERROR event, or the body of an answer. */
export function statusFailure(asked: Asked, status: Status, code: number, retryAfterSeconds: number | null): PortError {
  const { details } = status;
  const said = typeof details?.retryAfterSeconds === 'number' && details.retryAfterSeconds > 0 ? details.retryAfterSeconds : null;
  const seconds = retryAfterSeconds ?? said;
  const kind = status.reason === 'AlreadyExists' ? 'already-exists' : (kinds[code] ?? (code >= 500 ? 'unavailable' : 'unknown'));
  const message = typeof status.message === 'string' && status.message !== '' ? status.message : genericMessage(asked, code, '');
  return new PortError({ kind, message, operation: asked.operation, subject: subjectOf(asked), retryAfterMicros: seconds === null ? null : seconds * microsPerSecond });
}

/** No answer, or one that can't be used. */
export function localFailure(asked: Asked, kind: PortErrorKind, message: string, cause?: unknown): PortError {
  return new PortError({ kind, message, operation: asked.operation, subject: subjectOf(asked), ...(cause === undefined ? {} : { cause }) });
}

export function statusCodeOf(status: Status): number {
  return typeof status.code === 'number' ? status.code : 500;
}

function statusOf(body: string): Status | null {
  if (!body.startsWith('{')) return null;
  try {
    const parsed = JSON.parse(body) as Status;
    return parsed.kind === 'Status' ? parsed : null;
  } catch {
    return null;
  }
}

function genericMessage({ verb, resource, name }: Asked, code: number, body: string): string {
  const excerpt = body.trim().slice(0, excerptCharacters);
  const what = `(${[verb, resource, name].filter((part) => part !== null && part !== '').join(' ')})`;
  if (code === 403 && excerpt !== '') return `${excerpt} ${what}`;
  const known = messages[code] ?? (code >= 500 ? `an error on the server (${goQuote(excerpt)}) has prevented the request from succeeding` : null);
  return `${known ?? `the server responded with the status code ${code} but did not return more information`} ${what}`;
}
