// HTTP probes: the request, and the result of an answer.
// Invariant: 200 to 299 is a success and 300 to 399 a warning; nothing else is.
import type { ContainerPort, HTTPGetAction, HTTPHeader } from '../../ports/model/container.js';
import { utf8Length } from '../values/utf8.js';
import { cutUtf8 } from './output-limit.js';
import { type ProbeOutcome, probeError, probeOutputMaxBytes, probeResult } from './probe-outcome.js';
import { resolveProbePort } from './probe-port.js';
import { probeTarget } from './probe-url.js';

export interface HttpProbeRequest {
  readonly method: 'GET';
  readonly url: string;
  /** Canonical names, each with its values in the order in which they were listed. */
  readonly headers: Readonly<Record<string, readonly string[]>>;
  /** The Host line; '' where it follows from the URL. */
  readonly hostHeader: string;
}

export type HttpProbeRequestResult = { readonly ok: true; readonly request: HttpProbeRequest } | { readonly ok: false; readonly error: string };

/** @param kubeletVersion `<major>.<minor>` @param product the client: probes and lifecycle hooks have their own names */
export function httpProbeRequest(
  action: HTTPGetAction,
  containerPorts: readonly ContainerPort[],
  podIp: string,
  kubeletVersion: string,
  product: 'kube-probe' | 'kube-lifecycle' = 'kube-probe',
): HttpProbeRequestResult {
  const port = resolveProbePort(action.port, containerPorts);
  if (!port.ok) return port;
  const scheme = (action.scheme ?? '') === '' ? 'http' : (action.scheme as string).toLowerCase();
  const host = (action.host ?? '') === '' ? podIp : (action.host as string);
  const authority = `${host.includes(':') ? `[${host}]` : host}:${port.value}`;
  const headers = probeHeaders(action.httpHeaders ?? [], `${product}/${kubeletVersion}`);
  return { ok: true, request: { method: 'GET', url: `${scheme}://${authority}${probeTarget(action.path ?? '')}`, headers, hostHeader: headers['Host']?.[0] ?? '' } };
}

/** What everyone gets unless it is listed; a listed empty Accept means none at all. */
function probeHeaders(listed: readonly HTTPHeader[], userAgent: string): Record<string, readonly string[]> {
  const headers = new Map<string, string[]>();
  for (const { name, value } of listed) {
    const canonical = canonicalHeaderName(name);
    headers.set(canonical, [...(headers.get(canonical) ?? []), value]);
  }
  if (!headers.has('User-Agent')) headers.set('User-Agent', [userAgent]);
  if (!headers.has('Accept')) headers.set('Accept', ['*/*']);
  else if (headers.get('Accept')?.[0] === '') headers.delete('Accept');
  return Object.fromEntries(headers);
}

/** `content-type` becomes `Content-Type`; an invalid header name stays unchanged. */
export function canonicalHeaderName(name: string): string {
  if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]*$/.test(name)) return name;
  return name.replace(/[^-]+/g, (word) => word.charAt(0).toUpperCase() + word.slice(1).toLowerCase());
}

/** @param bodyReadError why the body could not be read to its end, or to the limit; null: it could */
export function httpProbeOutcome(statusCode: number, body: string, bodyReadError: string | null): ProbeOutcome {
  // A partial answer doesn't show the container's health, so this is an error, which has no effect on the counts.
  if (bodyReadError !== null) return probeError('failure', bodyReadError);
  if (statusCode < 200 || statusCode >= 400) return probeResult('failure', `HTTP probe failed with statuscode: ${statusCode}`);
  const shown = utf8Length(body) > probeOutputMaxBytes ? cutUtf8(body, probeOutputMaxBytes) : body;
  return statusCode < 300 ? probeResult('success', shown) : probeResult('warning', `Probe terminated redirects, Response body: ${shown}`);
}

/** There was no answer: refused, timed out, or a redirect too many. */
export function httpProbeFailed(error: string): ProbeOutcome {
  return probeResult('failure', error);
}
