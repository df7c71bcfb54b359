// The form in which statuses are compared and sent: whole seconds, short messages, lists in one order.
// Invariant: normalizing twice changes nothing more; the API server stores a normalized status unchanged.
import type { Pod } from '../../ports/model/pod.js';
import type { ContainerState, ContainerStatus, PodCondition, PodStatus } from '../../ports/model/pod-status.js';
import { byCodeUnits } from '../values/text-order.js';
import { formatRfc3339, parseRfc3339 } from '../values/time.js';
import { utf8Decode, utf8Encode } from '../values/utf8.js';

/** Termination messages of all of a pod's containers together. */
const maxPodTerminationMessageBytes = 12 * 1024;

export function normalizedStatus(pod: Pod, status: PodStatus): PodStatus {
  const { spec } = pod;
  const count = spec.containers.length + (spec.initContainers?.length ?? 0) + (spec.ephemeralContainers?.length ?? 0);
  const maxBytes = Math.floor(maxPodTerminationMessageBytes / Math.max(count, 1));
  const each = (statuses: readonly ContainerStatus[]): ContainerStatus[] => statuses.map((container) => normalizedContainer(container, maxBytes));
  const byName = (statuses: readonly ContainerStatus[]): ContainerStatus[] => each(statuses).sort((a, b) => byCodeUnits(a.name, b.name));
  return {
    ...status,
    ...(status.startTime === undefined ? undefined : { startTime: wholeSeconds(status.startTime) }),
    ...(status.conditions === undefined ? undefined : { conditions: status.conditions.map(normalizedCondition) }),
    ...(status.initContainerStatuses === undefined ? undefined : { initContainerStatuses: inSpecOrder(pod, each(status.initContainerStatuses)) }),
    ...(status.containerStatuses === undefined ? undefined : { containerStatuses: byName(status.containerStatuses) }),
    ...(status.ephemeralContainerStatuses === undefined ? undefined : { ephemeralContainerStatuses: byName(status.ephemeralContainerStatuses) }),
  };
}

function normalizedContainer(status: ContainerStatus, maxBytes: number): ContainerStatus {
  const state = status.state === undefined ? undefined : normalizedState(status.state, maxBytes);
  const lastState = status.lastState === undefined ? undefined : normalizedState(status.lastState, maxBytes);
  if (state === status.state && lastState === status.lastState) return status;
  return { ...status, ...(state === undefined ? {} : { state }), ...(lastState === undefined ? {} : { lastState }) };
}

function normalizedState(state: ContainerState, maxBytes: number): ContainerState {
  const { running, terminated } = state;
  if (isNormalRunning(running) && isNormalTerminated(terminated, maxBytes)) return state;
  return {
    ...state,
    ...(running?.startedAt === undefined ? {} : { running: { ...running, startedAt: wholeSeconds(running.startedAt) } }),
    ...(terminated === undefined
      ? {}
      : {
          terminated: {
            ...terminated,
            ...(terminated.message === undefined ? {} : { message: firstBytes(terminated.message, maxBytes) }),
            ...(terminated.startedAt === undefined ? {} : { startedAt: wholeSeconds(terminated.startedAt) }),
            ...(terminated.finishedAt === undefined ? {} : { finishedAt: wholeSeconds(terminated.finishedAt) }),
          },
        }),
  };
}

function isNormalRunning(running: ContainerState['running']): boolean {
  return running?.startedAt === undefined || isWholeSeconds(running.startedAt);
}

function isNormalTerminated(terminated: ContainerState['terminated'], maxBytes: number): boolean {
  if (terminated === undefined) return true;
  const { startedAt, finishedAt, message = '' } = terminated;
  return (startedAt === undefined || isWholeSeconds(startedAt)) && (finishedAt === undefined || isWholeSeconds(finishedAt)) && fitsAnyway(message, maxBytes);
}

function normalizedCondition(condition: PodCondition): PodCondition {
  const { lastProbeTime, lastTransitionTime } = condition;
  if (typeof lastProbeTime !== 'string' && (typeof lastTransitionTime !== 'string' || isWholeSeconds(lastTransitionTime))) return condition;
  return {
    ...condition,
    ...(typeof lastProbeTime === 'string' ? { lastProbeTime: wholeSeconds(lastProbeTime) } : {}),
    ...(typeof lastTransitionTime === 'string' ? { lastTransitionTime: wholeSeconds(lastTransitionTime) } : {}),
  };
}

/** Init statuses in the order of the spec; statuses of names that the spec lacks come last. */
function inSpecOrder(pod: Pod, statuses: ContainerStatus[]): readonly ContainerStatus[] {
  let sorted = 0;
  for (const { name } of pod.spec.initContainers ?? []) {
    const at = statuses.findIndex((status, index) => index >= sorted && status.name === name);
    if (at < 0) continue;
    [statuses[sorted], statuses[at]] = [statuses[at]!, statuses[sorted]!];
    sorted++;
  }
  return statuses;
}

/** `2026-01-01T00:00:00Z`: nothing to cut. */
const wholeSecondsLength = 20;

function isWholeSeconds(text: string): boolean {
  return text.length === wholeSecondsLength && text.endsWith('Z');
}

function wholeSeconds(text: string): string {
  if (isWholeSeconds(text)) return text;
  const time = parseRfc3339(text);
  return time === null ? text : formatRfc3339(time);
}

/** No UTF-16 code unit takes more than three bytes. */
function fitsAnyway(text: string, maxBytes: number): boolean {
  return text.length * 3 <= maxBytes;
}

/** Drops a UTF-8 character that the cut would split. */
function firstBytes(text: string, maxBytes: number): string {
  if (fitsAnyway(text, maxBytes)) return text;
  const bytes = utf8Encode(text);
  if (bytes.length <= maxBytes) return text;
  let end = maxBytes;
  while (end > 0 && (bytes[end]! & 0xc0) === 0x80) end--;
  return utf8Decode(bytes.subarray(0, end));
}
