// OOM kills from the kernel's log, as events of the agent. The log is read from its oldest record, so that a kill while no agent ran is
// reported, too; the last reported record is kept beside the agent's state, so that a restart doesn't report kills twice.
// Invariants: only the kernel's own records count, not those that a process wrote to its log; with an unreadable or unwritable state
// events may be repeated, but never lost.

import type { KernelLog, KernelLogBatch } from '../../ports/outbound/kernel-log.js';
import type { Logger } from '../../ports/outbound/logger.js';
import { type OomKill, type OomParserState, readOomLine } from './oom-parser.js';

/** The last reported OOM kill. */
export interface ReportedOomKills {
  readonly bootId: string;
  /** Of the record that ended the last kill. */
  readonly sequence: number;
}

export interface ReportedOomKillsFile {
  /** null: nothing that can be read. */
  read(): ReportedOomKills | null;
  write(reported: ReportedOomKills): void;
}

const kernelFacility = 0;

export interface OomWatch {
  readonly log: KernelLog;
  readonly file: ReportedOomKillsFile;
  readonly bootId: string;
  readonly logger: Logger;
  readonly killed: (kill: OomKill) => void;
}

/** Returns a function that ends it. Logs an unreadable kernel log once and stops following it. */
export function watchForOom({ log, file, bootId, logger, killed }: OomWatch): () => void {
  const before = file.read();
  let reported = before?.bootId === bootId ? before.sequence : -1;
  let state: OomParserState = null;
  const take = ({ records, lost, ended }: KernelLogBatch): void => {
    const last = reported;
    // A report whose middle was overwritten would end with another one's victim.
    if (lost) state = null;
    for (const { facility, sequence, text, sinceBootMicros } of records) {
      if (facility !== kernelFacility) continue;
      const step = readOomLine(state, text, sinceBootMicros);
      state = step.state;
      if (step.kill === null || sequence <= reported) continue;
      reported = sequence;
      logger.log('debug', 'Got OOM event', { cgroup: step.kill.limitCgroup, process: step.kill.processName, pid: step.kill.pid });
      killed(step.kill);
    }
    if (reported !== last) file.write({ bootId, sequence: reported });
    if (ended !== null) logger.log('error', 'Unexpectedly stopped receiving OOM notifications', { err: ended });
  };
  try {
    log.follow(true, take);
  } catch (error) {
    logger.log('warn', 'Failed to watch for kills for lack of memory: no event SystemOOM will be sent', { err: error instanceof Error ? error.message : String(error) });
  }
  return () => log.close();
}
