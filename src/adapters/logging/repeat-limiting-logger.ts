// A logger that shows a warning or an error that repeats at most once in five minutes, as the kernel does for what machines log: for events
// and for the parts of the daemon that are no machines.
// Invariant: what a machine's kernel has let through is let through.
import { countLine, type RepeatedLines, repeatInterval, withRepeats } from '../../domain/kernel/repeated-lines.js';
import type { Micros } from '../../ports/micros.js';
import type { LogFields, Logger, LogLevel } from '../../ports/outbound/logger.js';

/** By so much the kernel's clock may be behind this one's when a line comes here. */
const tolerance: Micros = 1_000_000;

export class RepeatLimitingLogger implements Logger {
  private constructor(
    private readonly inner: Logger,
    private readonly now: () => Micros,
    private readonly lines: RepeatedLines,
    private readonly source: string,
  ) {}

  /** @param now for intervals: never goes back */
  static around(inner: Logger, now: () => Micros): RepeatLimitingLogger {
    return new RepeatLimitingLogger(inner, now, new Map(), '');
  }

  log(level: LogLevel, message: string, fields: LogFields = {}): void {
    const leftOut = countLine(this.lines, this.now(), level, `${this.source}\n${message}`, fields, repeatInterval - tolerance);
    if (leftOut !== null) this.inner.log(level, message, withRepeats(fields, leftOut));
  }

  shows(level: LogLevel): boolean {
    return this.inner.shows(level);
  }

  named(source: string): RepeatLimitingLogger {
    return new RepeatLimitingLogger(this.inner.named(source), this.now, this.lines, source);
  }
}
