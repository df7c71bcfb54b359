// The identity of a span on the wire: W3C trace context (traceparent, tracestate) and baggage.
// Invariant: a peer's context is accepted only if it conforms to the standard; baggage and tracestate are passed on unchanged, within their length limits.

export interface SpanContext {
  /** 32 digits of lower-case hex, not all zero. */
  readonly traceId: string;
  /** 16 digits of lower-case hex, not all zero. */
  readonly spanId: string;
  readonly isSampled: boolean;
  /** It came from another process. */
  readonly isRemote: boolean;
  /** '' : none. */
  readonly traceState: string;
  /** '' : none. */
  readonly baggage: string;
}

/** Node's headers: names in lower case. */
export type IncomingTraceHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

const traceStateLengthMax = 512;
const baggageLengthMax = 8192;
const parentPattern = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const membersMax = 32;
const statePattern = /^\s*([a-z0-9][a-z0-9_\-*/]{0,255}|[a-z0-9][a-z0-9_\-*/]{0,240}@[a-z][a-z0-9_\-*/]{0,13})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,256}\s*$/;

/** null: absent or malformed. */
export function remoteContext(headers: IncomingTraceHeaders): SpanContext | null {
  const parent = headers.traceparent;
  if (typeof parent !== 'string') return null;
  const [, version = '', traceId = '', spanId = '', flags = '', more] = parentPattern.exec(parent) ?? [];
  // Later versions may have more fields; version 00 has none.
  if (version === '' || version === 'ff' || (version === '00' && more !== undefined)) return null;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return null;
  // As the Go library reads it: version 0 has two flags.
  if (version === '00' && Number.parseInt(flags, 16) > 3) return null;
  const isSampled = (Number.parseInt(flags, 16) & 1) === 1;
  return { traceId, spanId, isSampled, isRemote: true, traceState: traceStateOf(textOf(headers.tracestate)), baggage: baggageOf(textOf(headers.baggage)) };
}

export function headersOf({ traceId, spanId, isSampled, traceState, baggage }: SpanContext): Readonly<Record<string, string>> {
  const headers: Record<string, string> = { traceparent: `00-${traceId}-${spanId}-0${isSampled ? 1 : 0}` };
  if (traceState !== '') headers.tracestate = traceState;
  if (baggage !== '') headers.baggage = baggage;
  return headers;
}

function textOf(value: string | readonly string[] | undefined): string {
  return typeof value === 'string' ? value : (value ?? []).join(',');
}

function traceStateOf(text: string): string {
  const members = text.split(',');
  return text.length <= traceStateLengthMax && members.length <= membersMax && members.every((member) => statePattern.test(member)) ? text : '';
}

function baggageOf(text: string): string {
  return text.length <= baggageLengthMax && /^[\x20-\x7e]*$/.test(text) && text.includes('=') ? text : '';
}
