// When the node's status is sent. It is computed every few seconds, but sent only when something changed or the last report is old, since
// that many nodes write to one API server; the lease says that the node is alive.
//
//   state     | computed                     | sent            | failed
//   idle      | (no cycle is under way)
//   computing | patching, or done: not due   |                 | next try, or given up
//   patching  |                              | done            | next try, or given up
//
// Invariants: at most five tries a cycle; the first one works on the cached node, later ones read it from the API first, since a conflict
// means that the cache is old; the time of the last report moves on success alone.
import type { Micros } from '../../ports/micros.js';
import { assert } from '../kernel/assert.js';
import { microsPerSecond } from '../values/time.js';

const triesMax = 5;
/** Part of the update period by which it is drawn out at random. */
const jitter = 0.04;
const defaultReportFrequency: Micros = 300 * microsPerSecond;

export interface StatusReport {
  readonly reportFrequency: Micros;
  state: 'idle' | 'computing' | 'patching';
  /** Of the current cycle, from 1. */
  tries: number;
  /** null: never. */
  lastReportAt: Micros | null;
  /** Added to the frequency, so that nodes that changed together don't report together again. May be negative. */
  delay: Micros;
}

export type ReportStep =
  /** Get the node (`cache`: as last seen, without a call) and compute its status. */
  { readonly kind: 'compute'; readonly source: 'cache' | 'api' } | { readonly kind: 'patch' } | { readonly kind: 'done' } | { readonly kind: 'gave-up'; readonly error: string };

export interface FailedReport {
  readonly step: ReportStep;
  /** The API server can't be reached again and again: connections to it should be closed, one may hang. */
  readonly heartbeatFailed: boolean;
}

/** The default: the update frequency if it is configured, else five minutes. */
export function effectiveReportFrequency(updateFrequency: Micros | null, reportFrequency: Micros | null): Micros {
  return reportFrequency ?? updateFrequency ?? defaultReportFrequency;
}

export function newStatusReport(reportFrequency: Micros): StatusReport {
  return { reportFrequency, state: 'idle', tries: 0, lastReportAt: null, delay: 0 };
}

/** When the status is to be computed again. @param random in [0, 1) @param now the end of the cycle */
export function nextStatusUpdateAt(updateFrequency: Micros, random: number, now: Micros): Micros {
  return now + Math.floor(updateFrequency + updateFrequency * jitter * random);
}

export function startReport(report: StatusReport): ReportStep {
  assert(report.state === 'idle', 'a report is under way');
  report.state = 'computing';
  report.tries = 1;
  return { kind: 'compute', source: 'cache' };
}

/** @param changed something else than heartbeats differs from the node that was got @param random in [0, 1), drawn only where a new delay is needed */
export function statusComputed(report: StatusReport, changed: boolean, random: () => number, now: Micros): ReportStep {
  assert(report.state === 'computing', 'no status is being computed');
  if (!changed && report.lastReportAt !== null && now - report.lastReportAt < report.reportFrequency + report.delay) return finished(report);
  report.delay = changed || report.lastReportAt === null ? Math.round((random() - 0.5) * report.reportFrequency) : 0;
  report.state = 'patching';
  return { kind: 'patch' };
}

export function statusSent(report: StatusReport, now: Micros): ReportStep {
  assert(report.state === 'patching', 'no status is being sent');
  report.lastReportAt = now;
  return finished(report);
}

/** The node could not be got, or the patch failed; a conflict too. */
export function reportFailed(report: StatusReport): FailedReport {
  assert(report.state !== 'idle', 'no report is under way');
  const heartbeatFailed = report.tries > 1;
  if (report.tries < triesMax) {
    report.tries++;
    report.state = 'computing';
    return { step: { kind: 'compute', source: 'api' }, heartbeatFailed };
  }
  report.state = 'idle';
  return { step: { kind: 'gave-up', error: 'update node status exceeds retry count' }, heartbeatFailed };
}

function finished(report: StatusReport): ReportStep {
  report.state = 'idle';
  return { kind: 'done' };
}
