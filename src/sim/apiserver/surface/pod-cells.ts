// The columns of `kubectl get pods` between name and age: mainly the status column.
import { isRestartableInit } from '../../../domain/status/restart-rules.js';
import type { Pod } from '../../../ports/model/pod.js';
import type { ContainerStatus } from '../../../ports/model/pod-status.js';
import type { StoredObject } from '../object-store.js';
import { age, type Column } from './table-cell.js';

interface Shown {
  readonly ready: string;
  readonly status: string;
  readonly restarts: number;
  readonly lastRestart: string | null;
}

function shown(object: StoredObject): Shown {
  const pod = object as unknown as Pod;
  const { status = {}, spec, metadata } = pod;
  const statuses = status.containerStatuses ?? [];
  const sidecars = (spec.initContainers ?? []).filter(isRestartableInit).map(({ name }) => name);
  const sidecarStatuses = (status.initContainerStatuses ?? []).filter(({ name }) => sidecars.includes(name));
  const all = [...sidecarStatuses, ...statuses];
  const ready = `${all.filter((one) => one.ready === true && (one.state?.running !== undefined || one.started === true)).length}/${spec.containers.length + sidecars.length}`;
  const initWord = initializingWord(pod);
  const restarted = initWord === null ? all : (status.initContainerStatuses ?? []);
  const restarts = restarted.reduce((sum, one) => sum + (one.restartCount ?? 0), 0);
  const ends = restarted.flatMap(({ lastState }) => (lastState?.terminated?.finishedAt == null ? [] : [lastState.terminated.finishedAt]));
  const lastRestart = ends.sort().at(-1) ?? null;
  if (metadata.deletionTimestamp !== undefined) return { ready, restarts, lastRestart, status: status.reason === 'NodeLost' ? 'Unknown' : 'Terminating' };
  return { ready, restarts, lastRestart, status: initWord ?? runningWord(pod, statuses) };
}

/** null: the pod has no init containers, or all are done. */
function initializingWord({ spec, status = {} }: Pod): string | null {
  const total = (spec.initContainers ?? []).length;
  for (const [i, one] of (status.initContainerStatuses ?? []).entries()) {
    const container = spec.initContainers?.find(({ name }) => name === one.name);
    const { terminated, waiting } = one.state ?? {};
    if (terminated?.exitCode === 0 || (container !== undefined && isRestartableInit(container) && one.started === true)) continue;
    if (terminated !== undefined) return `Init:${terminated.reason ?? exitWord(terminated)}`;
    if (waiting?.reason !== undefined && waiting.reason !== 'PodInitializing') return `Init:${waiting.reason}`;
    return `Init:${i}/${total}`;
  }
  return null;
}

function exitWord({ exitCode = 0, signal = 0 }: { readonly exitCode?: number; readonly signal?: number }): string {
  return signal === 0 ? `ExitCode:${exitCode}` : `Signal:${signal}`;
}

function runningWord(pod: Pod, statuses: readonly ContainerStatus[]): string {
  const { status = {} } = pod;
  let word = status.reason ?? status.phase ?? 'Unknown';
  let hasRunning = false;
  for (const one of [...statuses].reverse()) {
    const { waiting, terminated, running } = one.state ?? {};
    if (waiting?.reason !== undefined && waiting.reason !== '') word = waiting.reason;
    else if (terminated !== undefined) word = terminated.reason ?? exitWord(terminated);
    else if (one.ready === true && running !== undefined) hasRunning = true;
  }
  const isReady = (status.conditions ?? []).some(({ type, status: truth }) => type === 'Ready' && truth === 'True');
  if (word === 'Completed' && hasRunning) return isReady ? 'Running' : 'NotReady';
  const scheduled = (status.conditions ?? []).find(({ type }) => type === 'PodScheduled');
  return scheduled?.reason === 'SchedulingGated' ? 'SchedulingGated' : word;
}

const none = '<none>';

function gates(object: StoredObject): string {
  const pod = object as unknown as Pod;
  const wanted = pod.spec.readinessGates ?? [];
  if (wanted.length === 0) return none;
  const met = wanted.filter(({ conditionType }) => (pod.status?.conditions ?? []).some(({ type, status }) => type === conditionType && status === 'True'));
  return `${met.length}/${wanted.length}`;
}

export const podCells: readonly Column[] = [
  { name: 'Ready', cell: (object) => shown(object).ready },
  { name: 'Status', cell: (object) => shown(object).status },
  {
    name: 'Restarts',
    cell: (object, now) => {
      const { restarts, lastRestart } = shown(object);
      return restarts > 0 && lastRestart !== null ? `${restarts} (${age(lastRestart, now)} ago)` : String(restarts);
    },
  },
];

export const widePodCells: readonly Column[] = [
  { name: 'IP', wide: true, cell: (object) => (object as unknown as Pod).status?.podIP ?? none },
  { name: 'Node', wide: true, cell: (object) => (object as unknown as Pod).spec.nodeName ?? none },
  { name: 'Nominated Node', wide: true, cell: (object) => ((object as unknown as Pod).status as { readonly nominatedNodeName?: string } | undefined)?.nominatedNodeName ?? none },
  { name: 'Readiness Gates', wide: true, cell: gates },
];
