// Replays the flight record of a kubelet from its file.
import { readFileSync } from 'node:fs';
import { recordFormatVersion } from '../../adapters/flight-record/index.js';
import { type KubeletEvent, type KubeletOperations, type KubeletSettings, type KubeletState, kubeletMachine, newKubeletState } from '../../domain/agent/kubelet.js';
import type { NodeFacts } from '../../domain/containers/node-facts.js';
import { parseCanonicalJson } from '../../domain/kernel/canonical.js';
import { type Divergence, type RecordedStep, replay } from '../../domain/kernel/flight-recorder.js';

/** An agent's initial settings, the first line of a record. */
interface Beginning {
  readonly seed: number;
  readonly settings: KubeletSettings;
  readonly facts: NodeFacts;
}

export type ReplayResult =
  | { readonly kind: 'same'; readonly steps: number }
  | { readonly kind: 'diverged'; readonly divergence: Divergence }
  /** Not a record, or one of another version. */
  | { readonly kind: 'unreadable'; readonly message: string };

/** Replays a record, without the outside. Ignores an incomplete last line, as after a crash. */
export function replayFile(path: string): ReplayResult {
  const lines = readFileSync(path, 'utf8').split('\n');
  lines.pop();
  try {
    const header = parseCanonicalJson(lines[0] ?? '') as Beginning & { readonly kubeletTs?: number };
    if (header.kubeletTs !== recordFormatVersion) return { kind: 'unreadable', message: `line 1: not a flight record of format ${recordFormatVersion}` };
    return replayed(header, stepsOf(lines.slice(1)));
  } catch (error) {
    if (error instanceof SyntaxError) return { kind: 'unreadable', message: `not a flight record: ${error.message}` };
    throw error;
  }
}

function replayed({ seed, settings, facts }: Beginning, steps: Iterable<RecordedStep<KubeletEvent, KubeletOperations>>): ReplayResult {
  const state = newKubeletState(settings, facts);
  const result = replay<KubeletState, KubeletEvent, KubeletOperations>(kubeletMachine(state), state, seed, steps);
  return result.divergence === null ? { kind: 'same', steps: result.steps } : { kind: 'diverged', divergence: result.divergence };
}

function* stepsOf(lines: readonly string[]): Generator<RecordedStep<KubeletEvent, KubeletOperations>> {
  for (const line of lines) {
    const step = parseCanonicalJson(line) as RecordedStep<KubeletEvent, KubeletOperations> | { readonly end: string };
    if ('end' in step) return;
    yield step;
  }
}
