// A record of an agent's inputs and outputs in a file: a line with the agent's initial settings, then a line per step.
// It contains complete pod specs, so the file is readable by its owner only; known secrets are masked (secret-masks.ts).
// See domain/kernel/flight-recorder.ts for replays.
//
//   {"kubeletTs":2,"seed":7,"settings":{...},"facts":{...}}
//   {"now":86400000000,"wall":1800000000000000,"input":{"type":"start"},"output":"{...}"}
//
// Invariants: each line is written before the step's commands are performed, so that after a crash the last line is the step that caused it; the file
// stays within its limit: there the record ends with a line that says so, and the agent continues.
import { closeSync, constants, lstatSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { type KubeletEvent, type KubeletOperations, type KubeletSettings, type KubeletState, kubeletMachine, newKubeletState } from '../../domain/agent/kubelet.js';
import type { NodeFacts } from '../../domain/containers/node-facts.js';
import { canonicalJson, parseCanonicalJson } from '../../domain/kernel/canonical.js';
import { type Divergence, outputText, type RecordedStep, replay } from '../../domain/kernel/flight-recorder.js';
import type { Output } from '../../domain/kernel/kernel.js';
import type { Clocks } from '../../domain/values/instant.js';
import type { FlightRecordSettings } from './daemon-profile.js';
import { SecretMasks } from './secret-masks.js';

const formatVersion = 2;
const endLine = '{"end":"the record has reached its size limit"}\n';

/** An agent's initial settings. */
export interface Beginning {
  readonly seed: number;
  readonly settings: KubeletSettings;
  readonly facts: NodeFacts;
}

export class FlightRecorder {
  private bytesLeft: number;
  private ended = false;
  private readonly masks = new SecretMasks();

  private constructor(
    private readonly fd: number,
    bytesMax: number,
    private readonly onEnd: (why: string) => void,
  ) {
    this.bytesLeft = bytesMax - endLine.length;
  }

  /**
   * Begins a new record in the file's place; moves the previous one to `FILE.previous`, since a crash is followed by a start. Throws the
   * kernel's error. `onEnd` is called once with the reason if the record ends early.
   */
  static begin({ path, bytesMax }: FlightRecordSettings, beginning: Beginning, onEnd: (why: string) => void): FlightRecorder {
    const { O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW } = constants;
    if (lstatSync(path, { throwIfNoEntry: false })?.isFile() === true) renameSync(path, `${path}.previous`);
    const recorder = new FlightRecorder(openSync(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0o600), bytesMax, onEnd);
    recorder.write(() => canonicalJson({ kubeletTs: formatVersion, ...recorder.masks.beginning(beginning) }));
    return recorder;
  }

  /** `input` is null for a wake-up. Never throws. */
  record({ now, wall }: Clocks, input: unknown, output: Output<KubeletOperations>): void {
    if (this.ended) return;
    this.write(() => {
      const masked = this.masks.input(input);
      return canonicalJson({ now, wall, input: masked, output: outputText({ ...output, commands: this.masks.commands(output.commands) }) });
    });
  }

  close(): void {
    this.ended = true;
    closeSync(this.fd);
  }

  private write(textOf: () => string): void {
    try {
      const line = Buffer.from(`${textOf()}\n`);
      if (line.length > this.bytesLeft) {
        this.ended = true;
        writeSync(this.fd, endLine);
        this.onEnd('the size limit is reached');
        return;
      }
      this.bytesLeft -= writeSync(this.fd, line);
    } catch (error) {
      this.ended = true;
      this.onEnd(error instanceof Error ? error.message : String(error));
    }
  }
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
    if (header.kubeletTs !== formatVersion) return { kind: 'unreadable', message: `line 1: not a flight record of format ${formatVersion}` };
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
