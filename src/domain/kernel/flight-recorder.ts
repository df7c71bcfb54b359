// The flight recorder's format and its offline replay: a kernel's inputs, their times, and the resulting commands.
// A record is a header and one entry a step; fed to a fresh kernel with the same seed and start, it must give the same commands.
// The recorder is off by default: entries hold complete pod specs, environment values included.
import type { Instant } from '../../ports/instant.js';
import type { Micros } from '../../ports/micros.js';
import { canonicalJson } from './canonical.js';
import type { Input, Output } from './kernel.js';
import { Kernel } from './kernel.js';
import type { Machine, Reply } from './machine.js';

export interface RecordedStep<Event, Ops> {
  readonly now: Micros;
  readonly wall: Instant;
  /** A wake-up is `null`: the state determines which address is due. */
  readonly input: Event | Reply<Ops> | null;
  /** The commands and cancellations of the step in canonical JSON, or their digest where the record was made small. */
  readonly output: string;
}

/** The text that two runs of a step are compared by. Log lines do not count: they decide nothing. */
export function outputText<Ops>(output: Output<Ops>): string {
  return canonicalJson({ commands: output.commands, cancelled: output.cancelled });
}

export interface Divergence {
  readonly step: number;
  readonly now: Micros;
  readonly recorded: string;
  readonly replayed: string;
}

/** Replays a record; null when every step gave the recorded output, else the first step that did not. */
export function replay<State, Event extends { readonly type: string }, Ops>(
  machine: Machine<State, Event, Ops>,
  initial: State,
  seed: number,
  steps: Iterable<RecordedStep<Event, Ops>>,
): { readonly steps: number; readonly divergence: Divergence | null } {
  const kernel = new Kernel<State, Event, Ops>(machine, initial, seed);
  let n = 0;
  for (const recorded of steps) {
    const output = recorded.input === null ? kernel.wake(recorded.now, recorded.wall) : kernel.deliver(recorded.input, recorded.now, recorded.wall);
    const replayed = output === null ? 'no wake-up was due' : outputText(output);
    if (replayed !== recorded.output) return { steps: n, divergence: { step: n, now: recorded.now, recorded: recorded.output, replayed } };
    n++;
  }
  return { steps: n, divergence: null };
}

export type { Input };
