// Exec probes: the result of the command.
// Invariant: only exit code 0 is a success; a command that times out has failed, even if the runtime reports otherwise.
import { cutUtf8 } from './output-limit.js';
import { type ProbeOutcome, probeError, probeOutputMaxBytes, probeResult } from './probe-outcome.js';

export type ExecEnd =
  | { readonly kind: 'exit'; readonly exitCode: number }
  /** Also for a runtime without an answer in time: a hanging application must be detected. */
  | { readonly kind: 'timeout'; readonly error: string }
  | { readonly kind: 'runtime-error'; readonly error: string };

/** @param output standard output, then standard error */
export function execProbeOutcome(end: ExecEnd, output: string): ProbeOutcome {
  if (end.kind === 'timeout') return probeResult('failure', end.error);
  if (end.kind === 'runtime-error') return probeError('unknown', end.error);
  return probeResult(end.exitCode === 0 ? 'success' : 'failure', cutUtf8(output, probeOutputMaxBytes));
}
