// The start of one container in progress, as data.
import type { Micros } from '../../ports/micros.js';
import type { Container } from '../../ports/model/container.js';
import type { RuntimeImage } from '../../ports/outbound/container-runtime.js';
import type { ObjectAnswer } from '../api-data/object-manager.js';
import type { CpuSet } from '../values/cpu-set.js';
import type { LifecycleHook } from './lifecycle-hook-state.js';
import type { PodKill } from './pod-kill-state.js';
import { newSubPathPreparation, type SubPathPreparation } from './sub-path-state.js';

/** The objects that a start has read: `<kind>/<name>` -> the answer. */
export type EnvObjects = ReadonlyMap<string, ObjectAnswer>;

export type ContainerGroup = 'init' | 'regular' | 'ephemeral';

export interface ContainerStart {
  readonly container: Container;
  readonly group: ContainerGroup;
  phase: 'begin' | 'secrets' | 'image' | 'user' | 'count' | 'hosts' | 'files' | 'objects' | 'subPaths' | 'pinning' | 'create' | 'start' | 'postStart' | 'kill' | 'done' | 'failed';
  /** The image manager's run; null: none is waited for. */
  imageRun: number | null;
  imageRef: string;
  imageStatus: RuntimeImage | null;
  restartCount: number;
  terminationFile: string;
  /** The contents of files for variables, by path; null for an unreadable one. Null as a whole: not read yet. */
  envFiles: ReadonlyMap<string, string | null> | null;
  subPaths: SubPathPreparation;
  /** When the first read of the objects for its variables began; null: not yet. */
  envSince: Micros | null;
  /** null: not all are read. */
  envObjects: EnvObjects | null;
  /** Those that it was created with; empty: any. */
  cpus: CpuSet;
  containerId: string;
  /** The current postStart hook. */
  hook: LifecycleHook | null;
  /** Why the hook failed, and the kill that follows from it. */
  hookFailure: string;
  kill: PodKill | null;
}

export function newContainerStart(container: Container, group: ContainerGroup): ContainerStart {
  return {
    container,
    group,
    phase: 'begin',
    imageRun: null,
    imageRef: '',
    imageStatus: null,
    restartCount: 0,
    terminationFile: '',
    envFiles: null,
    subPaths: newSubPathPreparation(),
    envSince: null,
    envObjects: null,
    cpus: [],
    containerId: '',
    hook: null,
    hookFailure: '',
    kill: null,
  };
}
