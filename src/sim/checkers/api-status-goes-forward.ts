// A pod's status in the API never loses its end, its start time, or a restart. A mirror pod starts over with its static pod.
import { isTerminalPhase } from '../../domain/status/phase.js';
import { isMirrorPod } from '../../domain/values/pod-kind.js';
import type { PodStatus } from '../../ports/model/pod-status.js';
import { type Checker, podWrite } from './checker.js';

export const apiStatusGoesForward: Checker<null> = {
  name: 'api-status-goes-forward',
  fresh: () => null,
  look(_memory, what, node, report) {
    const write = podWrite(what, node);
    if (write === null || write.shown === null || write.command.op !== 'apiWriter.patch' || isMirrorPod(write.shown)) return;
    const { metadata, status: next } = write.command.request.body as { readonly metadata?: { readonly uid?: string }; readonly status?: Partial<PodStatus> };
    const { name, uid } = write.shown.metadata;
    // Another pod by now: the server refuses it.
    if (next === undefined || metadata?.uid !== uid) return;
    const { phase, startTime, containerStatuses = [] } = write.shown.status ?? {};
    if (isTerminalPhase(phase) && next.phase !== undefined && next.phase !== phase) report(`pod ${name} is ${phase} in the API, and is written to be ${next.phase}`);
    if (startTime !== undefined && next.startTime !== undefined && next.startTime !== startTime)
      report(`pod ${name} began at ${startTime}, and is written to have begun at ${next.startTime}`);
    for (const { name: container, restartCount } of next.containerStatuses ?? []) {
      const before = containerStatuses.find((status) => status.name === container)?.restartCount ?? 0;
      if (restartCount < before) report(`container ${container} of pod ${name} had ${before} restarts, and is written to have ${restartCount}`);
    }
  },
};
