// One garbage collection: the containers, then the sandboxes as they are without them, then the log directories.

import { type ContainerGcContext, containersToCollect, logDirectoriesToCollect, type PodGcState, sandboxesToCollect } from '../../../src/domain/gc/container-gc.js';
import { parseGoDuration } from '../../../src/domain/values/go-duration.js';
import { epochMicros, instantOf } from '../../../src/domain/values/instant.js';
import type { ListedPod } from '../../../src/ports/model/runtime-listing.js';
import type { ContainerRuntimeState } from '../../../src/ports/model/runtime-status.js';
import type { VectorDriver } from '../driver.js';

interface Input {
  readonly policy: { readonly minAge: string; readonly maxPerPodContainer: number; readonly maxContainers: number };
  readonly allSourcesReady: boolean;
  readonly removeForTerminatedPods: boolean;
  readonly pods?: readonly { readonly uid: string; readonly state: PodGcState }[];
  readonly containers?: readonly {
    readonly id: string;
    readonly podUid: string;
    readonly sandboxId: string;
    readonly name: string;
    readonly state: ContainerRuntimeState;
    readonly age: string;
  }[];
  readonly sandboxes?: readonly { readonly id: string; readonly podUid: string; readonly state: 'ready' | 'notready'; readonly age: string }[];
  readonly podLogDirectories?: readonly string[];
}

const now = 2_000_000_000_000_000;
const micros = (text: string): number => parseGoDuration(text) as number;

function listing({ containers = [], sandboxes = [] }: Input): ListedPod[] {
  const uids = [...new Set([...sandboxes, ...containers].map(({ podUid }) => podUid))].sort();
  return uids.map((uid) => ({
    uid,
    name: '',
    namespace: '',
    sandboxes: sandboxes
      .filter(({ podUid }) => podUid === uid)
      .map(({ id, state, age }) => ({ id, state: state === 'ready' ? 'ready' : 'notReady', attempt: 0, createdAt: instantOf(now - micros(age)) })),
    containers: containers
      .filter(({ podUid }) => podUid === uid)
      .map(({ id, name, state, sandboxId, age }) => ({ id, name, state, sandboxId, attempt: 0, createdAt: instantOf(now - micros(age)) })),
  }));
}

export const driver: VectorDriver = {
  run(input: Input) {
    const states = new Map(input.pods?.map(({ uid, state }) => [uid, state]));
    const context: ContainerGcContext = {
      podState: (uid) => states.get(uid) ?? 'running',
      allSourcesReady: input.allSourcesReady,
      removeForTerminatedPods: input.removeForTerminatedPods,
      ageOf: (_uid, { createdAt }) => now - epochMicros(createdAt),
    };
    const pods = listing(input);
    const collected = containersToCollect(pods, { ...input.policy, minAge: micros(input.policy.minAge) }, context);
    const removed = new Set(collected.map(({ id }) => id));
    const left = pods.map((pod) => ({ ...pod, containers: pod.containers.filter(({ id }) => !removed.has(id)) }));
    return {
      removedContainers: [...removed],
      stoppedContainers: collected.filter(({ stopFirst }) => stopFirst).map(({ id }) => id),
      removedSandboxes: sandboxesToCollect(left, context),
      removedLogDirectories: logDirectoriesToCollect(input.podLogDirectories ?? [], context),
    };
  },
};
