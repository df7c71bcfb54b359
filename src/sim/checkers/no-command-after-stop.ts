// An agent that was stopped commands nothing.
import type { Checker } from './checker.js';

export const noCommandAfterStop: Checker<null> = {
  name: 'no-command-after-stop',
  fresh: () => null,
  look(_memory, what, { running }, report) {
    if (what.kind === 'command' && !running) report(`${what.command.op} by an agent that is stopped`);
  },
};
