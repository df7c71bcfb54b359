// The daemon's logger: klog's text written directly, Kubernetes' JSON by pino, both over pino's destination.
// Invariant: all output is redacted, and a failing destination costs lines, never the daemon.
import { type DestinationStream, type Logger as Pino, pino } from 'pino';
import type { Micros } from '../../ports/micros.js';
import type { LogFields, Logger, LogLevel } from '../../ports/outbound/logger.js';
import { redactedFields, redactedText } from './redaction.js';
import { type SourcePattern, SourceVerbosity } from './source-verbosity.js';
import { callerOf, textLine } from './text-line.js';

/** `-v` from which on debug lines are shown: klog's level for "debug". */
export const debugVerbosity = 4;

export interface LoggerOptions {
  readonly format: 'text' | 'json';
  /** `--v`. */
  readonly verbosity: number;
  readonly now: () => Micros;
  /** `--vmodule`. */
  readonly vmodule?: readonly SourcePattern[];
  readonly pid: number;
  readonly destination: DestinationStream;
  /** For all but errors, if separate. */
  readonly othersTo?: DestinationStream;
}

export class PinoLogger implements Logger {
  private constructor(
    private readonly output: LogOutput,
    private readonly source: string,
  ) {}

  static create(options: LoggerOptions, source: string): PinoLogger {
    return new PinoLogger(new LogOutput(options), source);
  }

  log(level: LogLevel, message: string, fields: LogFields = {}): void {
    if (this.shows(level)) this.output.write(level, this.source, message, fields);
  }

  shows(level: LogLevel): boolean {
    return level !== 'debug' || this.output.verbosity.of(this.source) >= debugVerbosity;
  }

  named(source: string): PinoLogger {
    return new PinoLogger(this.output, source);
  }

  /** For this logger and all derived from it. */
  setVerbosity(verbosity: number): void {
    this.output.verbosity.general = verbosity;
  }

  /** Why the last line could not be written, or null: the `log` health check. */
  get failure(): string | null {
    return this.output.failure;
  }
}

/** State shared by loggers of all names. */
class LogOutput {
  readonly verbosity: SourceVerbosity;
  failure: string | null = null;
  private readonly json: { readonly errors: Pino; readonly others: Pino } | null;

  constructor(private readonly options: LoggerOptions) {
    this.verbosity = new SourceVerbosity(options.verbosity, options.vmodule ?? []);
    this.json = options.format === 'json' ? { errors: jsonLogger(options, options.destination), others: jsonLogger(options, options.othersTo ?? options.destination) } : null;
  }

  write(level: LogLevel, source: string, message: string, fields: LogFields): void {
    try {
      const shown = redactedFields(fields);
      const text = redactedText(message);
      const { destination, othersTo = destination, now, pid } = this.options;
      const isError = level === 'error';
      if (this.json === null) (isError ? destination : othersTo).write(textLine({ level, time: now(), pid, source }, text, shown));
      else (isError ? this.json.errors : this.json.others)[level]({ ...shown, caller: callerOf(source), ...verbosityOf(level) }, text);
      this.failure = null;
    } catch (error) {
      this.failure = error instanceof Error ? error.message : String(error);
    }
  }
}

/** Kubernetes' JSON lines carry the verbosity, and none for errors. */
function verbosityOf(level: LogLevel): { readonly v?: number } {
  return level === 'error' ? {} : { v: level === 'debug' ? debugVerbosity : 0 };
}

function jsonLogger(options: LoggerOptions, destination: DestinationStream): Pino {
  return pino(
    {
      base: { pid: options.pid },
      level: 'debug',
      messageKey: 'msg',
      // Milliseconds with fractions, as component-base's JSON has it.
      timestamp: () => `,"ts":${options.now() / 1000}`,
      formatters: { level: (label) => ({ level: label }) },
      // All values are plain already; pino would process `err` again.
      serializers: { err: (value: unknown) => value },
    },
    destination,
  );
}
