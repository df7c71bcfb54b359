// The outcome of one probe attempt, and its event for users.
// Invariant: an error is not a failure; it says nothing about the container and changes no count.

/** `warning` counts as success, `unknown` as failure. */
export type ProbeOutcomeResult = 'success' | 'warning' | 'failure' | 'unknown';

export type ProbeOutcome =
  | { readonly kind: 'result'; readonly result: ProbeOutcomeResult; readonly output: string }
  /** The attempt itself went wrong; `result` is only named in the event. */
  | { readonly kind: 'error'; readonly result: ProbeOutcomeResult; readonly error: string };

export type ProbeKind = 'liveness' | 'readiness' | 'startup';

/** About a container of the pod; always a warning. */
export interface ProbeEvent {
  readonly reason: 'Unhealthy' | 'ProbeWarning';
  readonly message: string;
}

const words: Readonly<Record<ProbeKind, string>> = { liveness: 'Liveness', readiness: 'Readiness', startup: 'Startup' };

/** Bodies and outputs are cut here, in bytes: an event is no place for a page. */
export const probeOutputMaxBytes = 10 * 1024;

/** null: no event. */
export function probeEvent(kind: ProbeKind, outcome: ProbeOutcome): ProbeEvent | null {
  if (outcome.kind === 'error') return { reason: 'Unhealthy', message: `${words[kind]} probe errored and resulted in ${outcome.result} state: ${outcome.error}` };
  if (outcome.result === 'failure') return { reason: 'Unhealthy', message: `${words[kind]} probe failed: ${outcome.output}` };
  return outcome.result === 'warning' ? { reason: 'ProbeWarning', message: `${words[kind]} probe warning: ${outcome.output}` } : null;
}

export function probeResult(result: ProbeOutcomeResult, output: string): ProbeOutcome {
  return { kind: 'result', result, output };
}

export function probeError(result: ProbeOutcomeResult, error: string): ProbeOutcome {
  return { kind: 'error', result, error };
}
