// Makes a port go wrong by plan: errors before or after the fact, delays, and answers that never come.
// Invariant: a call still ends by its signal and by its own time limit, as any adapter's does.
import type { Micros } from '../../ports/micros.js';
import type { Call } from '../../ports/operation.js';
import type { OutboundPorts } from '../../ports/outbound/outbound-ports.js';
import { PortError } from '../../ports/port-error.js';
import type { FaultAction, FaultMoment, FaultPlan } from '../../sim/index.js';
import { type PortName, wrapped } from './around.js';

/** Wall clock, for the plan's windows. */
const wallClock = (): Micros => Date.now() * 1_000;

export function faultInjecting<Name extends PortName>(name: Name, port: OutboundPorts[Name], plan: FaultPlan, now: () => Micros = wallClock): OutboundPorts[Name] {
  return wrapped(name, port, async (operation, _request, call, next) => {
    const actions = plan.strike(operation, now());
    if (actions.length === 0) return next(call);
    const begun = now();
    await suffer(actions, 'before', operation, call, begun, now);
    const reply = await next(call);
    await suffer(actions, 'after', operation, call, begun, now);
    return reply;
  });
}

async function suffer(actions: readonly FaultAction[], moment: FaultMoment, operation: string, call: Call, begun: Micros, now: () => Micros): Promise<void> {
  for (const action of actions) {
    if (action.moment !== moment) continue;
    const left = call.timeoutMicros === null ? null : Math.max(0, call.timeoutMicros - (now() - begun));
    switch (action.kind) {
      case 'error':
        throw new PortError({ kind: action.error, message: action.message, operation, subject: '' });
      case 'delay':
        await pause(left === null ? action.micros : Math.min(left, action.micros), left, operation, call);
        if (left !== null && left <= action.micros) throw outOfTime(operation);
        break;
      case 'hang':
        await pause(left, left, operation, call);
        throw outOfTime(operation);
    }
  }
}

function outOfTime(operation: string): PortError {
  return new PortError({ kind: 'deadline-exceeded', message: 'context deadline exceeded', operation, subject: '' });
}

/** How much before its time a timer of Node may fire. */
const timerMicros: Micros = 2_000;

/** Waits that long, or forever (null); rejects when the call is aborted, or when its time (`left`) is up. */
function pause(micros: Micros | null, left: Micros | null, operation: string, { signal }: Call): Promise<void> {
  const startedMs = performance.now();
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | null = null;
    const abort = () => {
      if (timer !== null) clearTimeout(timer);
      signal.removeEventListener('abort', abort);
      const late = left !== null && (performance.now() - startedMs) * 1_000 >= left - timerMicros;
      reject(late ? outOfTime(operation) : new PortError({ kind: 'cancelled', message: 'context canceled', operation, subject: '' }));
    };
    if (signal.aborted) {
      abort();
      return;
    }
    signal.addEventListener('abort', abort);
    if (micros === null) return;
    timer = setTimeout(
      () => {
        signal.removeEventListener('abort', abort);
        resolve();
      },
      Math.ceil(micros / 1_000),
    );
  });
}
