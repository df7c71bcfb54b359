// The behaviour of a simulated container, written in a few words. A pod sets it with the annotation `sim.kubelet-ts/<container name>`:
//
//   run=30s,exit=1,log=2/s          ends by itself after 30 s with exit code 1, and logs two lines a second until then
//   ignore-term                     runs until it is killed
//   run=1s,exit=1; run=forever      the first attempt fails, the second and all later ones run
//
// Words, separated by commas; a `;` separates attempts, of which the last repeats. No word may appear twice.
//
//   run=<duration>|forever  until it ends by itself (default forever)       exit=<0-255>     with this code (default 0)
//   reason=<Word>           its reason (default Completed or Error)         message=<text>   its termination message
//   term=<duration>         how long it takes to end after SIGTERM (default 0) term-exit=<code> with this code (default 143)
//   ignore-term             never ends after SIGTERM                        log=<n>/s        lines of log a second (default none)
//   fail-create=<text>      creating it fails with this text                fail-start=<text> starting it does
//   start=<duration>        starting takes this much longer
//   healthy=<from>[-<to>]   answers probes well only from then, until then, counted from its start (default always)
//   listen=<port>+<port>    answers on these ports (default on any)
//   exec=<duration>         how long a command in it takes (default 0)      exec-exit=<code> its exit code (default 0)
//   serve=<kind>            the server behind a forwarded port: echo, http, discard, reset (default echo)
//   stream=<fault>          a fault of exec, attach and port-forward: no-answer, hang, reset, half-close (default none)
//
// A duration is `500ms`, `30s`, `1m30s`, `2h`. Invariant: an unknown or ambiguous word is an error, never ignored.
import type { Micros } from '../../ports/micros.js';

export const scriptAnnotationPrefix = 'sim.kubelet-ts/';

/** The server behind a port of the container: echoes the input, answers in HTTP, discards the input, or resets the connection at the first byte. */
export type ServedKind = 'echo' | 'http' | 'discard' | 'reset';
/** No answer to the request; a session in which nothing comes; a reset, or an end without an outcome, after the first bytes. */
export type StreamFault = 'no-answer' | 'hang' | 'reset' | 'half-close';

const servedKinds: readonly string[] = ['echo', 'http', 'discard', 'reset'] satisfies ServedKind[];
const streamFaults: readonly string[] = ['no-answer', 'hang', 'reset', 'half-close'] satisfies StreamFault[];

export interface ContainerScript {
  /** null: runs until it is stopped. */
  readonly runMicros: Micros | null;
  readonly exitCode: number;
  /** '' for the usual one of the exit code. */
  readonly reason: string;
  readonly message: string;
  /** How long it takes to end after SIGTERM; null: ignores it. */
  readonly termMicros: Micros | null;
  readonly termExitCode: number;
  readonly logLinesPerSecond: number;
  readonly failCreate: string | null;
  readonly failStart: string | null;
  readonly startMicros: Micros;
  readonly healthyFrom: Micros;
  /** null: as long as it runs. */
  readonly healthyTo: Micros | null;
  /** null: on any port. */
  readonly listens: readonly number[] | null;
  readonly execMicros: Micros;
  readonly execExitCode: number;
  readonly serves: ServedKind;
  /** null: none. */
  readonly streamFault: StreamFault | null;
}

export const defaultScript: ContainerScript = {
  runMicros: null,
  exitCode: 0,
  reason: '',
  message: '',
  termMicros: 0,
  termExitCode: 143,
  logLinesPerSecond: 0,
  failCreate: null,
  failStart: null,
  startMicros: 0,
  healthyFrom: 0,
  healthyTo: null,
  listens: null,
  execMicros: 0,
  execExitCode: 0,
  serves: 'echo',
  streamFault: null,
};

export type ScriptParse = { readonly ok: true; readonly script: ContainerScript } | { readonly ok: false; readonly error: string };

/** The script of attempt `attempt` (0 is the first). Never throws. */
export function parseScript(text: string, attempt: number): ScriptParse {
  const attempts = text.split(';');
  const parsed = attempts.map(parseAttempt);
  const bad = parsed.find((one) => !one.ok);
  // A mistake in a later attempt is reported at the first attempt, not in the middle of a run.
  return bad ?? parsed[Math.min(attempt, parsed.length - 1)] ?? { ok: true, script: defaultScript };
}

type Writable = { -readonly [Key in keyof ContainerScript]: ContainerScript[Key] };

function parseAttempt(text: string): ScriptParse {
  const script: Writable = { ...defaultScript };
  const seen = new Set<string>();
  for (const part of text.split(',')) {
    const word = part.trim();
    const at = word.indexOf('=');
    const name = at < 0 ? word : word.slice(0, at);
    const value = at < 0 ? null : word.slice(at + 1);
    if (seen.has(name)) return { ok: false, error: `${name} is given twice` };
    seen.add(name);
    const error = setWord(script, name, value);
    if (error !== null) return { ok: false, error };
  }
  if (seen.has('ignore-term') && (seen.has('term') || seen.has('term-exit'))) return { ok: false, error: 'ignore-term leaves no room for term and term-exit' };
  return { ok: true, script };
}

function setWord(script: Writable, name: string, value: string | null): string | null {
  if (name === 'ignore-term') {
    script.termMicros = null;
    return value === null ? null : 'ignore-term takes no value';
  }
  const set = words[name];
  if (set === undefined) return `unknown word ${JSON.stringify(name)}`;
  if (value === null || value === '') return `${name} needs a value`;
  return set(script, value) ? null : `${name}=${value} is not understood`;
}

const words: Readonly<Record<string, (script: Writable, value: string) => boolean>> = {
  run(script, value) {
    script.runMicros = value === 'forever' ? null : durationOf(value);
    return value === 'forever' || script.runMicros !== null;
  },
  exit(script, value) {
    script.exitCode = exitCodeOf(value);
    return script.exitCode >= 0;
  },
  reason(script, value) {
    script.reason = value;
    return /^[A-Za-z]+$/.test(value);
  },
  message(script, value) {
    script.message = value;
    return true;
  },
  term(script, value) {
    script.termMicros = durationOf(value);
    return script.termMicros !== null;
  },
  'term-exit'(script, value) {
    script.termExitCode = exitCodeOf(value);
    return script.termExitCode >= 0;
  },
  log(script, value) {
    const match = /^(\d{1,4})\/s$/.exec(value);
    script.logLinesPerSecond = Number(match?.[1] ?? 0);
    return match !== null;
  },
  'fail-create'(script, value) {
    script.failCreate = value;
    return true;
  },
  'fail-start'(script, value) {
    script.failStart = value;
    return true;
  },
  start(script, value) {
    script.startMicros = durationOf(value) ?? -1;
    return script.startMicros >= 0;
  },
  healthy(script, value) {
    const [from = '', to = null, ...more] = value.split('-');
    script.healthyFrom = durationOf(from) ?? -1;
    script.healthyTo = to === null ? null : durationOf(to);
    return script.healthyFrom >= 0 && more.length === 0 && (to === null || script.healthyTo !== null);
  },
  listen(script, value) {
    script.listens = value.split('+').map(Number);
    return /^\d{1,5}(\+\d{1,5})*$/.test(value);
  },
  exec(script, value) {
    script.execMicros = durationOf(value) ?? -1;
    return script.execMicros >= 0;
  },
  serve(script, value) {
    script.serves = value as ServedKind;
    return servedKinds.includes(value);
  },
  stream(script, value) {
    script.streamFault = value as StreamFault;
    return streamFaults.includes(value);
  },
  'exec-exit'(script, value) {
    script.execExitCode = exitCodeOf(value);
    return script.execExitCode >= 0;
  },
};

function exitCodeOf(text: string): number {
  return /^\d{1,3}$/.test(text) && Number(text) <= 255 ? Number(text) : -1;
}

const unitMicros: Readonly<Record<string, number>> = { us: 1, ms: 1_000, s: 1_000_000, m: 60_000_000, h: 3_600_000_000 };

function durationOf(text: string): Micros | null {
  if (!/^(\d{1,9}(us|ms|s|m|h))+$/.test(text)) return null;
  let sum = 0;
  for (const [, digits = '', unit = ''] of text.matchAll(/(\d+)(us|ms|s|m|h)/g)) sum += Number(digits) * (unitMicros[unit] ?? 0);
  return sum;
}
