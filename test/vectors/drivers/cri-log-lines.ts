// cri-log-lines: a log file read with the options of `kubectl logs`.
import { readLogLine, startLogReading, wantsLine } from '../../../src/domain/logs/log-reader.js';
import { type LogTailStep, searchLogTail, startLogTailSearch } from '../../../src/domain/logs/log-tail-search.js';
import type { LogReadOptions, LogStream } from '../../../src/domain/values/log-read-options.js';
import type { VectorDriver } from '../driver.js';

interface Input {
  readonly log: string;
  readonly logRepeat?: readonly { readonly line: string; readonly times: number }[];
  readonly tailLines?: number;
  readonly limitBytes?: number;
  readonly since?: string;
  readonly timestamps?: boolean;
  readonly streams: readonly LogStream[];
}

export const driver: VectorDriver = {
  run(input: Input) {
    const repeated = (input.logRepeat ?? []).map(({ line, times }) => Array.from({ length: times }, (_, i) => line.replaceAll('{n}', String(i))).join(''));
    const file = Buffer.from(input.log + repeated.join(''));
    const tailLines = input.tailLines ?? null;
    return read(file.subarray(tailLines === null ? 0 : tailStart(file, tailLines)), {
      tailLines,
      limitBytes: input.limitBytes ?? null,
      since: input.since ?? null,
      timestamps: input.timestamps === true,
      streams: input.streams,
      follow: false,
    });
  },
};

function tailStart(file: Buffer, lines: number): number {
  let step: LogTailStep = startLogTailSearch(lines, file.length);
  while (step.kind === 'read') step = searchLogTail(step.search, file.subarray(step.offset, step.offset + step.length));
  return step.offset;
}

function read(bytes: Buffer, options: LogReadOptions): unknown {
  const written: Record<LogStream | 'combined', Buffer[]> = { stdout: [], stderr: [], combined: [] };
  let reading = startLogReading(options);
  let error: string | null = null;
  for (let at = 0; at < bytes.length && wantsLine(reading); ) {
    const newline = bytes.indexOf('\n', at);
    const end = newline < 0 ? bytes.length : newline + 1;
    const step = readLogLine(reading, bytes.subarray(at, end));
    at = end;
    if (step.kind === 'failed') {
      error = step.message;
      break;
    }
    if (step.chunk !== null) for (const name of [step.chunk.stream, 'combined'] as const) written[name].push(Buffer.from(step.chunk.bytes));
    if (step.kind === 'done') break;
    reading = step.reading;
  }
  const texts = Object.fromEntries(Object.entries(written).map(([name, chunks]) => [name, Buffer.concat(chunks).toString('utf8')]));
  return { ...texts, ...(error === null ? {} : { error }) };
}
