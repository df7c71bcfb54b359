// A pod reported as Succeeded or Failed never changes its phase.
import { isTerminalPhase } from '../../domain/status/phase.js';
import type { Checker } from './checker.js';

/** uid -> its terminal phase. */
type Memory = Map<string, string>;

export const terminalPhaseStays: Checker<Memory> = {
  name: 'terminal-phase-stays',
  fresh: () => new Map(),
  look(memory, what, { agent }, report) {
    if (what.kind === 'started') memory.clear();
    if (what.kind !== 'step') return;
    for (const [uid, phase] of memory) {
      const now = agent.statuses.get(uid)?.status.phase;
      if (now === undefined) memory.delete(uid);
      else if (now !== phase) {
        report(`pod ${uid} was ${phase} and is now ${now}`);
        memory.delete(uid);
      }
    }
    for (const [uid, { status }] of agent.statuses) if (status.phase !== undefined && isTerminalPhase(status.phase)) memory.set(uid, status.phase);
  },
};
