// A record of an agent's inputs and outputs in a file: a line with the agent's initial settings, then a line per step.
// It contains complete pod specs, so the file is readable by its owner only; known secrets are masked (secret-masks.ts).
// See domain/kernel/flight-recorder.ts for replays.
//
//   {"kubeletTs":2,"seed":7,"settings":{...},"facts":{...}}
//   {"now":86400000000,"wall":1800000000000000,"input":{"type":"start"},"output":"{...}"}
//
// Invariants: each line is written before the step's commands are performed, so that after a crash the last line is the step that caused it; the file
// stays within its limit: there the record ends with a line that says so, and the agent continues.
import { closeSync, constants, lstatSync, openSync, renameSync, writeSync } from 'node:fs';
import { canonicalJson } from '../../domain/kernel/canonical.js';
import { outputText } from '../../domain/kernel/flight-recorder.js';
import type { Output } from '../../domain/kernel/kernel.js';
import type { Clocks } from '../../domain/values/instant.js';
import { SecretMasks } from './secret-masks.js';

export const recordFormatVersion = 2;
const endLine = '{"end":"the record has reached its size limit"}\n';

export interface FlightRecordSettings {
  readonly path: string;
  /** The record ends at this size; the daemon continues. */
  readonly bytesMax: number;
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
   * @param beginning the agent's initial settings
   * Begins a new record in the file's place; moves the previous one to `FILE.previous`, since a crash is followed by a start. Throws the
   * kernel's error. `onEnd` is called once with the reason if the record ends early.
   */
  static begin({ path, bytesMax }: FlightRecordSettings, beginning: object, onEnd: (why: string) => void): FlightRecorder {
    const { O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW } = constants;
    if (lstatSync(path, { throwIfNoEntry: false })?.isFile() === true) renameSync(path, `${path}.previous`);
    const recorder = new FlightRecorder(openSync(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0o600), bytesMax, onEnd);
    recorder.write(() => canonicalJson({ kubeletTs: recordFormatVersion, ...recorder.masks.beginning(beginning) }));
    return recorder;
  }

  /** `input` is null for a wake-up. Never throws. */
  record<Operations>({ now, wall }: Clocks, input: unknown, output: Output<Operations>): void {
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
