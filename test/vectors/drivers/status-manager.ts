// status-manager: the status cache of one pod, step by step, and the merge with the API's status.

import { applyStatusChange, type StatusChange, type StatusRecord } from '../../../src/domain/status/status-manager.js';
import { mergedStatus } from '../../../src/domain/status/status-merge.js';
import { instantOf } from '../../../src/domain/values/instant.js';
import { formatRfc3339, parseRfc3339 } from '../../../src/domain/values/time.js';
import type { Pod } from '../../../src/ports/model/pod.js';
import type { PodStatus } from '../../../src/ports/model/pod-status.js';
import type { VectorDriver } from '../driver.js';

interface Step {
  readonly do: 'setPodStatus' | 'terminatePod' | 'setContainerReadiness' | 'setContainerStartup' | 'markDeleted';
  readonly status?: PodStatus;
  readonly containerId?: string;
  readonly value?: boolean;
}

type Input =
  | { readonly kind: 'sequence'; readonly pod: Pod; readonly mirrorPodStatus?: PodStatus; readonly steps: readonly Step[] }
  | { readonly kind: 'merge'; readonly pod: Pod; readonly newStatus: PodStatus; readonly couldHaveRunningContainers?: boolean };

/** No time of a case is as late as this; what equals it was set by our code. */
const nowText = '2031-02-03T04:05:06Z';
const now = parseRfc3339(nowText) ?? instantOf(0);

export const driver: VectorDriver = {
  run(input: Input) {
    if (input.kind === 'merge') {
      const { pod, newStatus, couldHaveRunningContainers } = input;
      return { status: withNow(mergedStatus({ apiPod: pod, status: newStatus, couldHaveRunningContainers: couldHaveRunningContainers === true, wall: now })) };
    }
    let pod = input.pod;
    let record: StatusRecord | null = null;
    const steps: unknown[] = [];
    for (const step of input.steps) {
      if (step.do === 'markDeleted') pod = { ...pod, metadata: { ...pod.metadata, deletionTimestamp: formatRfc3339(now) } };
      const change = changeOf(step);
      const before: StatusRecord | null = record;
      if (change !== null) record = applyStatusChange(record, change, { pod, mirrorStatus: input.mirrorPodStatus ?? null, now: 0, wall: now });
      steps.push({
        accepted: record !== before,
        version: record?.version ?? 0,
        ...(record === null ? {} : { finished: record.finished, cached: withNow(record.status) }),
      });
    }
    return { steps };
  },
};

function changeOf(step: Step): StatusChange | null {
  switch (step.do) {
    case 'setPodStatus':
      return { kind: 'set', status: step.status ?? {} };
    case 'terminatePod':
      return { kind: 'terminate' };
    case 'setContainerReadiness':
      return { kind: 'readiness', containerID: step.containerId ?? '', ready: step.value === true };
    case 'setContainerStartup':
      return { kind: 'startup', containerID: step.containerId ?? '', started: step.value === true };
    case 'markDeleted':
      return null;
  }
}

function withNow(status: PodStatus): unknown {
  return JSON.parse(JSON.stringify(status).replaceAll(`"${nowText}"`, '"<now>"'));
}
