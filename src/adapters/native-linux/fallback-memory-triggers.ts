// MemoryTriggers without the addon: reads the same files at intervals and compares them.
// Invariant: one timer a subscription, which doesn't keep the process alive; it is removed after `ended` and after close.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { MemoryTriggers, PressureTrigger, TriggerEvent, TriggerSubscription } from '../../ports/outbound/memory-triggers.js';
import { PortError } from '../../ports/port-error.js';
import { portErrorFrom } from './errno.js';

const usageIntervalMs = 1000;
const windowMicrosMin = 500_000;
const windowMicrosMax = 10_000_000;

export class FallbackMemoryTriggers implements MemoryTriggers {
  onPressure(trigger: PressureTrigger, listener: (event: TriggerEvent) => void): TriggerSubscription {
    const { path, kind, stallMicros, windowMicros } = trigger;
    if (windowMicros < windowMicrosMin || windowMicros > windowMicrosMax || stallMicros <= 0 || stallMicros > windowMicros) {
      const operation = 'MemoryTriggers.onPressure';
      throw new PortError({ kind: 'invalid-argument', message: `${operation} ${path}: stall ${stallMicros} in a window of ${windowMicros}`, operation, subject: path });
    }
    const total = (): number => pressureTotalOf(readFileSync(path, 'utf8'), kind);
    return poll(total, (before, now) => now - before >= stallMicros, windowMicros / 1000, path, listener);
  }

  onMemoryUsage(directory: string, bytes: bigint, listener: (event: TriggerEvent) => void): TriggerSubscription {
    const path = join(directory, 'memory.usage_in_bytes');
    const above = (): number => (BigInt(readFileSync(path, 'utf8').trim()) >= bytes ? 1 : 0);
    return poll(above, (before, now) => before !== now, usageIntervalMs, path, listener);
  }
}

/** Microseconds stalled since boot. */
export function pressureTotalOf(text: string, kind: 'some' | 'full'): number {
  const found = new RegExp(`^${kind} .*total=([0-9]+)`, 'm').exec(text);
  // The cpu file of older kernels has no `full` line.
  return found === null ? 0 : Number(found[1]);
}

function poll(
  read: () => number,
  fires: (before: number, now: number) => boolean,
  intervalMs: number,
  subject: string,
  listener: (event: TriggerEvent) => void,
): TriggerSubscription {
  let before: number;
  try {
    before = read();
  } catch (error) {
    throw portErrorFrom(error, 'MemoryTriggers', subject);
  }
  const timer = setInterval(() => {
    let now: number;
    try {
      now = read();
    } catch {
      clearInterval(timer);
      listener('ended');
      return;
    }
    const fired = fires(before, now);
    before = now;
    if (fired) listener('fired');
  }, intervalMs);
  timer.unref();
  return { close: () => clearInterval(timer) };
}
