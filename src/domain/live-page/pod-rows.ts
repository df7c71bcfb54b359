// Pods and their containers as rows of text, for tables and for lines. A pure function of the pods and the time.

import type { Instant } from '../../ports/instant.js';
import type { Pod } from '../../ports/model/pod.js';
import type { ContainerStatus } from '../../ports/model/pod-status.js';
import { setAsideAnnotation } from '../agent/set-aside/set-aside-state.js';
import { microsBetween } from '../values/instant.js';
import { microsPerSecond, parseRfc3339 } from '../values/time.js';

export interface PodRow {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  readonly phase: string;
  /** Ready containers of those that are to be ready: `1/2`. */
  readonly ready: string;
  readonly restarts: number;
  readonly age: string;
  readonly message: string;
  /** Why the kubelet leaves the pod alone; null: it doesn't. */
  readonly setAside: string | null;
}

export interface ContainerRow {
  readonly pod: string;
  readonly name: string;
  readonly state: string;
  readonly restarts: number;
  readonly image: string;
  readonly id: string;
}

export function podRows(pods: readonly Pod[], wall: Instant): PodRow[] {
  return pods.map((pod) => podRow(pod, wall)).sort((a, b) => (`${a.namespace}/${a.name}` < `${b.namespace}/${b.name}` ? -1 : 1));
}

function podRow(pod: Pod, wall: Instant): PodRow {
  const { metadata, spec, status } = pod;
  const setAside = metadata.annotations?.[setAsideAnnotation];
  const containers = status?.containerStatuses ?? [];
  const all = [...(status?.initContainerStatuses ?? []), ...containers];
  return {
    uid: metadata.uid ?? '',
    name: metadata.name,
    namespace: metadata.namespace ?? '',
    phase: status?.phase ?? 'Pending',
    ready: `${containers.filter(({ ready }) => ready).length}/${spec.containers.length}`,
    restarts: all.reduce((sum, { restartCount }) => sum + restartCount, 0),
    age: ageText(status?.startTime, wall),
    message:
      setAside !== undefined
        ? oneLine(`set aside: ${setAside}`)
        : status?.reason
          ? oneLine(`${status.reason}: ${status.message ?? ''}`)
          : (all.map(trouble).find((text) => text !== null) ?? ''),
    setAside: setAside === undefined ? null : oneLine(setAside),
  };
}

/** Rows of every container of the pods, in the order in which they start. */
export function containerRows(pods: readonly Pod[]): ContainerRow[] {
  return pods.flatMap(({ metadata, status }) =>
    [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].map((container) => ({
      pod: `${metadata.namespace ?? ''}/${metadata.name}`,
      name: container.name,
      state: stateText(container),
      restarts: container.restartCount,
      image: container.image,
      id: (container.containerID ?? '').replace(/^\w+:\/\//, '').slice(0, 12),
    })),
  );
}

/** Why a container does not work as it should; null if it does. */
function trouble(container: ContainerStatus): string | null {
  const { waiting, terminated } = container.state ?? {};
  if (waiting?.reason && !['ContainerCreating', 'PodInitializing'].includes(waiting.reason)) {
    return oneLine(`${container.name}: ${waiting.reason}${waiting.message ? `: ${waiting.message}` : ''}`);
  }
  if (terminated !== undefined && terminated.exitCode !== 0) return `${container.name}: ${terminated.reason ?? 'Error'} (exit code ${terminated.exitCode})`;
  return null;
}

function stateText({ state }: ContainerStatus): string {
  if (state?.running !== undefined) return 'running';
  if (state?.terminated !== undefined) return `${state.terminated.reason ?? 'terminated'} (${state.terminated.exitCode})`;
  return state?.waiting?.reason ?? 'waiting';
}

function ageText(startTime: string | null | undefined, wall: Instant): string {
  const start = typeof startTime === 'string' ? parseRfc3339(startTime) : null;
  if (start === null) return '-';
  const seconds = Math.max(0, Math.floor(microsBetween(start, wall) / microsPerSecond));
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)}m`;
  return `${Math.floor(seconds / 3600)}h`;
}

/** Text from outside, without what would move a terminal's cursor. */
function oneLine(text: string): string {
  return text
    .replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ')
    .trim()
    .slice(0, 500);
}

/** Columns as wide as their widest cell; the last is cut at `width`. */
export function tableText(header: readonly string[], rows: readonly (readonly string[])[], width: number): string[] {
  const widths = header.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  return [header, ...rows].map((row) => {
    const line = row.map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0))).join('  ');
    return line.length > width ? `${line.slice(0, Math.max(0, width - 1))}…` : line.trimEnd();
  });
}

export const podHeader: readonly string[] = ['NAME', 'NAMESPACE', 'PHASE', 'READY', 'RESTARTS', 'AGE', 'MESSAGE'];

export function podCells({ name, namespace, phase, ready, restarts, age, message }: PodRow): string[] {
  return [name, namespace, phase, ready, String(restarts), age, message];
}
