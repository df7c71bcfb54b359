// The daemon's log in a demonstration: short lines for users (warnings, errors, Warning events), and everything
// only on request.

import { PinoLogger, redactedText, standardErrorDestination } from '../../adapters/logging/index.js';
import { epochMicros } from '../../domain/values/instant.js';
import type { LogFields, Logger, LogLevel } from '../../ports/outbound/logger.js';
import type { Clock } from '../clock.js';

/** Events of each pod that apply to the whole demonstration. */
const onceReasons: ReadonlySet<string> = new Set(['MissingClusterDNS']);

export class DevLog implements Logger {
  private constructor(
    private readonly show: (line: string) => void,
    private readonly full: Logger | null,
    private readonly seen: Set<string>,
  ) {}

  /** `show` gets the short lines. With `everything`, all lines go to standard error as a daemon writes them. */
  static create(show: (line: string) => void, everything: boolean, clock: Clock): DevLog {
    if (!everything) return new DevLog(show, null, new Set());
    const options = { format: 'text', verbosity: 4, now: () => epochMicros(clock.wall()), pid: process.pid, destination: standardErrorDestination(() => {}) } as const;
    return new DevLog(show, PinoLogger.create(options, 'kubelet'), new Set());
  }

  log(level: LogLevel, message: string, fields: LogFields = {}): void {
    if (this.full !== null) this.full.log(level, message, fields);
    else if ((level === 'error' || level === 'warn') && this.isNews(fields)) this.show(shortLine(level, message, fields));
  }

  private isNews({ reason }: LogFields): boolean {
    if (typeof reason !== 'string' || !onceReasons.has(reason)) return true;
    const isNew = !this.seen.has(reason);
    this.seen.add(reason);
    return isNew;
  }

  shows(level: LogLevel): boolean {
    return this.full !== null || level === 'error' || level === 'warn';
  }

  named(source: string): Logger {
    return new DevLog(this.show, this.full?.named(source) ?? null, this.seen);
  }
}

function shortLine(level: LogLevel, message: string, fields: LogFields): string {
  const text = message === 'Event occurred' ? `${String(fields.object)}: ${String(fields.reason)}: ${String(fields.message)}` : `${level}: ${message}${detail(fields)}`;
  return redactedText(text.replace(/\s+/g, ' '));
}

function detail(fields: LogFields): string {
  const shown = Object.entries(fields).filter(([, value]) => value !== null && value !== undefined && value !== '');
  return shown.map(([key, value]) => (key === 'err' ? `: ${String(value)}` : ` ${key}=${typeof value === 'object' ? JSON.stringify(value) : String(value)}`)).join('');
}
