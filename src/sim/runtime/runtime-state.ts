// The state of a simulated runtime, as plain data: it can be cloned, hashed and serialized. Everything else is derived from it.

import { instantOf } from '../../domain/values/instant.js';
import type { Instant } from '../../ports/instant.js';
import type { Micros } from '../../ports/micros.js';
import type { ContainerConfig } from '../../ports/model/container-config.js';
import type { ContainerRuntimeState, SandboxState } from '../../ports/model/runtime-status.js';
import type { LinuxContainerResources, SandboxConfig } from '../../ports/model/sandbox-config.js';
import type { RuntimeCondition, RuntimeImage } from '../../ports/outbound/container-runtime.js';
import type { SimRunningPod } from '../host/sim-node-stats.js';
import type { ContainerScript } from './container-script.js';

export interface SimSandbox {
  readonly id: string;
  /** Its reserved name in `names`. */
  readonly name: string;
  readonly config: SandboxConfig;
  readonly runtimeHandler: string;
  readonly createdAt: Micros;
  /** The same by the wall clock of the moment. */
  readonly stamp: Instant;
  /** '' on the host's network. */
  readonly ip: string;
  state: SandboxState;
  /** Resources set by an update after creation. */
  updated: { readonly resources: LinuxContainerResources; readonly overhead: LinuxContainerResources } | null;
}

/** How a container's process ends. */
export interface Ending {
  readonly exitCode: number;
  readonly reason: string;
  readonly message: string;
}

export interface SimContainer {
  readonly id: string;
  /** Its reserved name in `names`. */
  readonly name: string;
  readonly sandboxId: string;
  readonly podUid: string;
  readonly config: ContainerConfig;
  readonly script: ContainerScript;
  readonly imageId: string;
  /** A digest where the image has one. */
  readonly imageRef: string;
  readonly createdAt: Micros;
  /** The three times by the wall clock, as the runtime reports them. */
  readonly stamps: { readonly createdAt: Instant; startedAt: Instant | null; finishedAt: Instant | null };
  /** Those of the creation or the last update. */
  resources: LinuxContainerResources | null;
  state: ContainerRuntimeState;
  startedAt: Micros | null;
  finishedAt: Micros | null;
  /** While it runs: when it ends, if nothing else comes before. null: not by itself. */
  endsAt: Micros | null;
  /** How it will end, or has ended. */
  ending: Ending | null;
}

export interface SimPull {
  /** The whole reference. */
  readonly reference: string;
  readonly readyAt: Micros;
  readonly image: RuntimeImage;
}

export interface SimRuntimeState {
  readonly sandboxes: Map<string, SimSandbox>;
  readonly containers: Map<string, SimContainer>;
  /** By id. */
  readonly images: Map<string, RuntimeImage>;
  /** In progress, by reference. */
  readonly pulls: Map<string, SimPull>;
  /** Name of a sandbox or container -> the id that has it. */
  readonly names: Map<string, string>;
  /** Pods that changed by themselves since the last `advance`. */
  readonly changedPods: Set<string>;
  /** Conditions that a scenario set otherwise than true. */
  runtimeReady: RuntimeCondition;
  networkReady: RuntimeCondition;
  /** The node's range of pod addresses from the last update; '': none yet. */
  podCidr: string;
  /** Addresses given out so far. */
  addresses: number;
  lastNow: Micros;
  /** The offset of the node's wall clock from the model's time. */
  wallOffset: Micros;
}

/** A change of a sandbox or container, for observers of the runtime. A sandbox's event has its own id as containerId. */
export interface SimRuntimeEvent {
  readonly kind: 'created' | 'started' | 'stopped' | 'deleted' | 'logReopened';
  readonly at: Micros;
  readonly podUid: string;
  readonly sandboxId: string;
  readonly containerId: string;
}

/** The node's wall clock at a moment of the model. */
export function stampOf({ wallOffset }: SimRuntimeState, at: Micros): Instant {
  return instantOf(at + wallOffset);
}

const ready: RuntimeCondition = { status: true, reason: '', message: '' };

export function emptyRuntimeState(): SimRuntimeState {
  return {
    sandboxes: new Map(),
    containers: new Map(),
    images: new Map(),
    pulls: new Map(),
    names: new Map(),
    changedPods: new Set(),
    runtimeReady: ready,
    networkReady: ready,
    podCidr: '',
    addresses: 0,
    lastNow: 0,
    wallOffset: 0,
  };
}

/** Pods of which containers run, with these containers' names, in the order in which their sandboxes were made. */
export function runningPods({ sandboxes, containers }: SimRuntimeState): readonly SimRunningPod[] {
  const running = new Map<string, string[]>();
  for (const { podUid, config, state } of containers.values()) {
    if (state !== 'running') continue;
    const names = running.get(podUid);
    if (names === undefined) running.set(podUid, [config.metadata?.name ?? '']);
    else names.push(config.metadata?.name ?? '');
  }
  const pods = new Map<string, SimRunningPod>();
  for (const { config } of sandboxes.values()) {
    const { uid = '', name = '', namespace = '' } = config.metadata ?? {};
    const names = running.get(uid);
    if (names !== undefined) pods.set(uid, { uid, name, namespace, containers: names });
  }
  return [...pods.values()];
}
