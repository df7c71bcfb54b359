// Grace periods of workers, and one container's kill on a clock that the case sets.

import { beginContainerKill, containerKillDeadline, containerKillTimedOut, preStopEnded, stopAnswered, stopTimeoutSeconds } from '../../../src/domain/pod-sync/container-kill.js';
import type { KillReason } from '../../../src/domain/pod-sync/kill-grace.js';
import { restorePod } from '../../../src/domain/pod-sync/restored-pod.js';
import { effectiveGracePeriod } from '../../../src/domain/pod-workers/grace-period.js';
import type { Pod } from '../../../src/ports/model/pod.js';
import type { PortFailure } from '../../../src/ports/port-error.js';
import type { VectorDriver } from '../driver.js';

interface ContainerInput {
  readonly kind: 'container';
  readonly pod?: Pod;
  readonly container: string;
  readonly containerLabels?: Readonly<Record<string, string>>;
  readonly containerAnnotations?: Readonly<Record<string, string>>;
  readonly reason?: KillReason;
  readonly message?: string;
  readonly gracePeriodOverride?: number;
  readonly preStopTakesSeconds?: number;
  readonly preStopFails?: boolean;
  readonly stopContainerResult?: 'notFound' | 'error';
}
interface WorkerInput {
  readonly kind: 'worker';
  readonly pod: Pod;
  readonly gracePeriodOverride?: number;
  readonly recordedGracePeriod?: number;
}

const start = 1_000_000_000_000;
const stopFailures: Readonly<Record<string, PortFailure>> = {
  notFound: { kind: 'not-found', message: 'rpc error: code = NotFound desc = gone', operation: '', subject: '', retryAfterMicros: null },
  error: { kind: 'unknown', message: 'rpc error: code = Unknown desc = stop failed', operation: '', subject: '', retryAfterMicros: null },
};

function runContainer(input: ContainerInput): unknown {
  const begun = beginContainerKill(
    {
      pod: input.pod ?? restorePod(input.containerLabels ?? {}, input.containerAnnotations ?? {}),
      containerName: input.container,
      containerId: 'containerd://cid',
      reason: input.reason ?? '',
      message: input.message ?? null,
      gracePeriodOverrideSeconds: input.gracePeriodOverride ?? null,
      inOrder: false,
    },
    start,
  );
  if (begun.kind === 'refused') return { error: begun.message, events: [], preStopRan: false };
  const { kill } = begun;
  const events = [begun.event];
  const preStopRan = kill.phase === 'preStop';
  if (preStopRan) {
    const hookEnd = start + Math.round((input.preStopTakesSeconds ?? 0) * 1_000_000);
    const deadline = containerKillDeadline(kill) as number;
    if (deadline < hookEnd) containerKillTimedOut(kill, deadline);
    const event = preStopEnded(kill, input.preStopFails === true, hookEnd);
    if (event !== null) events.push(event);
  }
  const timeout = stopTimeoutSeconds(kill);
  stopAnswered(kill, stopFailures[input.stopContainerResult ?? ''] ?? null);
  return {
    events: events.map((event) => `${event.type} ${event.reason} ${event.message}`),
    preStopRan,
    stopTimeoutSeconds: timeout,
    ...(kill.error === null ? {} : { error: kill.error }),
  };
}

export const driver: VectorDriver = {
  run(input: ContainerInput | WorkerInput) {
    if (input.kind === 'container') return runContainer(input);
    const { seconds, shortened } = effectiveGracePeriod(input.recordedGracePeriod ?? 0, input.pod, input.gracePeriodOverride ?? null);
    return { gracePeriodSeconds: seconds, shortened };
  },
};
