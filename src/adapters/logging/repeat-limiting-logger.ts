// A logger that limits a repeated warning or error to one in five minutes, like the kernel for the logs of machines: for events
// and for the parts of the daemon that are no machines.
// Invariant: lines that a machine's kernel has passed are passed.
import { countLine, type RepeatedLines, repeatInterval, withRepeats } from '../../domain/kernel/repeated-lines.js';
import type { Micros } from '../../ports/micros.js';
import type { LogFields, Logger, LogLevel } from '../../ports/outbound/logger.js';

/** How far the kernel's clock may be behind this one's when a line arrives. */
const tolerance: Micros = 1_000_000;

export class RepeatLimitingLogger implements Logger {
  private constructor(
    private readonly inner: Logger,
    private readonly now: () => Micros,
    private readonly lines: RepeatedLines,
    private readonly source: string,
  ) {}

  /** @param now a monotonic clock */
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
