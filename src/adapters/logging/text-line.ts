// A log line in klog's format, which users and log collectors know:
// `I1127 23:39:53.123456   12345 pod-workers.ts:1] "Pod started" pod="default/web" attempt=2`
// Invariant: one line per message. Texts are quoted as Go quotes them, other values are JSON, as in klog.
import { goQuote } from '../../domain/values/go-text.js';
import { microsPerMillisecond } from '../../domain/values/time.js';
import type { Micros } from '../../ports/micros.js';
import type { LogLevel } from '../../ports/outbound/logger.js';

const letters: Readonly<Record<LogLevel, string>> = { error: 'E', warn: 'W', info: 'I', debug: 'I' };
/** klog's column. */
const pidWidth = 7;

export interface LineHead {
  readonly level: LogLevel;
  /** Shown in the host's time zone. */
  readonly time: Micros;
  readonly pid: number;
  readonly source: string;
}

/** Fields are shown in their order; they have been redacted. */
export function textLine(head: LineHead, message: string, fields: Readonly<Record<string, unknown>>): string {
  let line = `${letters[head.level]}${klogTime(head.time)} ${String(head.pid).padStart(pidWidth)} ${callerOf(head.source)}] ${goQuote(message)}`;
  for (const [key, value] of Object.entries(fields))
    line += ` ${/^[\w./-]+$/.test(key) ? key : goQuote(key)}=${typeof value === 'string' ? goQuote(value) : JSON.stringify(value)}`;
  // JSON leaves these two alone, and some readers of logs take them for ends of lines.
  return `${line.replace(/[\u2028\u2029]/g, (character) => `\\u${character.charCodeAt(0).toString(16)}`)}\n`;
}

/** The caller in klog's form. The line number is klog's own for an unknown one: finding it would cost more than the line itself. */
export function callerOf(source: string): string {
  return `${source.endsWith('.ts') ? source : `${source}.ts`}:1`;
}

function klogTime(time: Micros): string {
  const date = new Date(Math.floor(time / microsPerMillisecond));
  const two = (value: number): string => String(value).padStart(2, '0');
  const micros = String((((time % 1_000_000) + 1_000_000) % 1_000_000) | 0).padStart(6, '0');
  return `${two(date.getMonth() + 1)}${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${micros}`;
}
