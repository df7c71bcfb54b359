// The HTTP source: requests a pod, or a list of pods, from a URL at intervals.
// Invariant: an error leaves the pods as they were; only a good body, or an empty one, changes them. An unchanged body is not parsed again.
import type { Micros } from '../../ports/micros.js';
import type { Pod } from '../../ports/model/pod.js';
import type { ManifestOperations, ManifestResponse } from '../../ports/outbound/manifests.js';
import type { Outcome } from '../../ports/port-error.js';
import type { Address, Turn } from '../kernel/machine.js';
import { oneLine, podsOfManifest } from './manifest-pods.js';
import type { ManifestStoreSettings } from './manifest-store.js';

export interface UrlSourceSettings extends ManifestStoreSettings {
  readonly url: string;
  readonly headers: Readonly<Record<string, readonly string[]>>;
  /** Time between requests (httpCheckFrequency). */
  readonly checkPeriod: Micros;
}

export interface UrlSourceState {
  readonly settings: UrlSourceSettings;
  /** Of the last body, valid or not; null after an empty body, so that the old body counts as new. */
  digest: string | null;
  /** That body was no good. */
  isRejected: boolean;
  failures: number;
  nextFetchAt: Micros;
}

export interface UrlSourceContext {
  readonly turn: Turn<ManifestOperations>;
  /** Takes the complete list of pods. */
  emit(pods: readonly Pod[]): void;
}

export const urlSourceAddress: Address = { machine: 'url-source', key: '' };
const slot = 'fetch';
const requestTimeout: Micros = 10_000_000;
/** Failures that are logged in full; after these only that they continue. */
const loggedFailures = 3;

export function newUrlSource(settings: UrlSourceSettings): UrlSourceState {
  return { settings, digest: null, isRejected: false, failures: 0, nextFetchAt: 0 };
}

/** At the start and on each wake-up. */
export function runUrlSource(state: UrlSourceState, { turn }: UrlSourceContext): void {
  if (turn.inFlight(urlSourceAddress, slot)) return;
  if (turn.now < state.nextFetchAt) {
    turn.wakeAt(urlSourceAddress, state.nextFetchAt);
    return;
  }
  const { url, headers } = state.settings;
  turn.ask('manifestUrl.fetch', urlSourceAddress, slot, { url, headers }, requestTimeout);
  turn.wakeAt(urlSourceAddress, null);
}

export function urlSourceReplied(state: UrlSourceState, outcome: Outcome<ManifestResponse>, context: UrlSourceContext): void {
  const { turn } = context;
  const problem = outcome.ok ? takeResponse(state, outcome.value, context) : outcome.error.message;
  if (problem === null && !state.isRejected) {
    if (state.failures > 0) turn.log('info', 'Successfully read pods from URL', { url: state.settings.url });
    state.failures = 0;
  } else if (problem !== null) reportFailure(state, oneLine(problem), context);
  state.nextFetchAt = turn.now + state.settings.checkPeriod;
  turn.wakeAt(urlSourceAddress, state.nextFetchAt);
}

/** The problem of the answer; null if none is new. */
function takeResponse(state: UrlSourceState, response: ManifestResponse, context: UrlSourceContext): string | null {
  const { url, nodeName, preventApiReferences } = state.settings;
  if (response.statusCode !== 200) return `${url}: ${response.status}`;
  if (response.bodyBytes === 0) {
    state.digest = null;
    state.isRejected = false;
    context.emit([]);
    return `zero-length data received from ${url}`;
  }
  if (response.digest === state.digest) return null;
  // Before it is decoded: a bad body is reported once and not at each request.
  state.digest = response.digest;
  const result = podsOfManifest(response.content, { nodeName, preventApiReferences, origin: { kind: 'http', url } });
  state.isRejected = result.kind !== 'pods';
  switch (result.kind) {
    case 'pods':
      for (const note of result.notes) context.turn.log('warn', `${url}: ${note}`);
      context.emit(result.pods);
      return null;
    case 'rejected':
      return result.isParsed ? result.message : `${url}: received '${response.excerpt}', but couldn't parse as single or multiple pods (${result.message})`;
    case 'skipped':
      return `${url}: ${result.message}`;
    case 'absent':
      return `zero-length data received from ${url}`;
  }
}

function reportFailure(state: UrlSourceState, err: string, { turn }: UrlSourceContext): void {
  if (state.failures < loggedFailures) turn.log('error', 'Failed to read pods from URL', { err });
  else if (state.failures === loggedFailures) turn.log('error', 'Failed to read pods from URL. Dropping verbosity of this message', { err });
  else turn.log('debug', 'Failed to read pods from URL', { err });
  state.failures++;
}
