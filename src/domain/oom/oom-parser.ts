// Parses OOM kills from the kernel's log line by line.
//
//   state      line                                        becomes
//   idle       `... invoked oom-killer: ...`               reading
//   reading    `Task in A killed as a result of limit of B`  reading, both cgroups known (kernels before 5.0)
//   reading    `oom-kill:constraint=...,uid=...`           idle, a kill
//   reading    `Killed process 42 (java) ...`              idle, a kill
//
// Kill lines outside of a report are ignored: their report is complete already.
// Invariant: a line costs time in proportion to its length, for any names in it.
import type { Micros } from '../../ports/micros.js';
import { parseGoInt } from '../values/go-text.js';
import { joinPath } from '../values/slash-paths.js';

export interface OomKill {
  /** cgroup of the killed process; `/` if unknown. */
  readonly taskCgroup: string;
  /** cgroup whose limit was hit; `/` when the whole system was out of memory. */
  readonly limitCgroup: string;
  readonly processName: string;
  readonly pid: number;
  /** `CONSTRAINT_MEMCG` and others, of kernels since 5.0; empty if unknown. */
  readonly constraint: string;
  /** When the line that ended the report was written. */
  readonly sinceBootMicros: Micros;
}

/** A report that has begun and isn't finished; null between reports. */
export type OomParserState = Pick<OomKill, 'taskCgroup' | 'limitCgroup' | 'constraint'> | null;

export interface OomStep {
  readonly state: OomParserState;
  readonly kill: OomKill | null;
}

/** One record of the log, in order. */
export function readOomLine(state: OomParserState, text: string, sinceBootMicros: Micros): OomStep {
  if (state === null) return { state: text.includes('invoked oom-killer:') ? { taskCgroup: '/', limitCgroup: '/', constraint: '' } : null, kill: null };
  const summary = oomSummary(text);
  const known = summary === null ? { ...state, ...legacyCgroups(text) } : { taskCgroup: summary.taskCgroup, limitCgroup: summary.limitCgroup, constraint: summary.constraint };
  const victim = pidOf(summary?.pid, summary?.processName) ?? killedProcess(text);
  return victim === null ? { state: known, kill: null } : { state: null, kill: { ...known, ...victim, sinceBootMicros } };
}

/** Reason of the node's event, type Warning. */
export const systemOomReason = 'SystemOOM';

/** The text of the node's event; null when a cgroup hit its own limit, which is nothing of the node's. */
export function systemOomMessage({ limitCgroup, processName, pid }: OomKill): string | null {
  if (limitCgroup !== '/') return null;
  return processName === '' || pid === 0 ? 'System OOM encountered' : `System OOM encountered, victim process: ${processName}, pid: ${pid}`;
}

interface OomSummary {
  readonly constraint: string;
  readonly limitCgroup: string;
  readonly taskCgroup: string;
  readonly processName: string;
  readonly pid: string;
}

const summaryStart = 'oom-kill:constraint=';
const summaryFields = [',nodemask=', ',cpuset=', ',mems_allowed=', ',oom_memcg=', ',task_memcg=', ',task=', ',pid=', ',uid='] as const;

/** Null unless all nine fields are present: if the whole system is out of memory, `global_oom` replaces `oom_memcg`. */
function oomSummary(text: string): OomSummary | null {
  for (const line of text.split('\n')) {
    const start = line.indexOf(summaryStart);
    if (start < 0) continue;
    const values = fieldsFromTheEnd(line.slice(start + summaryStart.length));
    if (values === null) continue;
    const [constraint, , , , limitCgroup, taskCgroup, processName, pid] = values as [string, string, string, string, string, string, string, string];
    return { constraint, limitCgroup: joinPath('/', limitCgroup), taskCgroup: joinPath('/', taskCgroup), processName, pid };
  }
  return null;
}

/** A process may be called `x,pid=1`, so each field begins at the last place where it can. */
function fieldsFromTheEnd(text: string): string[] | null {
  const values: string[] = [];
  let rest = text;
  for (const name of summaryFields.toReversed()) {
    const at = rest.lastIndexOf(name);
    if (at < 0) return null;
    values.push(rest.slice(at + name.length));
    rest = rest.slice(0, at);
  }
  return [...values, rest].reverse();
}

function legacyCgroups(text: string): Partial<NonNullable<OomParserState>> {
  const match = /Task in ([^\n]*) killed as a result of limit of ([^\n]*)/.exec(text);
  return match === null ? {} : { taskCgroup: joinPath('/', match[1] as string), limitCgroup: joinPath('/', match[2] as string) };
}

function killedProcess(text: string): Pick<OomKill, 'pid' | 'processName'> | null {
  const match = /Killed process ([0-9]+) \(([^\n]+)\)/.exec(text);
  return match === null ? null : pidOf(match[1], match[2]);
}

function pidOf(pid: string | undefined, processName: string | undefined): Pick<OomKill, 'pid' | 'processName'> | null {
  if (pid === undefined || processName === undefined) return null;
  const parsed = parseGoInt(pid, 10, 64);
  return parsed.ok ? { pid: Number(parsed.value), processName } : null;
}
