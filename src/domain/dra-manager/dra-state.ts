// The claims on this node: which are prepared (or may be), for which pods, and the tasks on them.
//
// Invariants: a claim is in `claims`, with the pod, and on disk, before a driver is asked to prepare it, and is removed only after all its drivers have
// unprepared it; one task at a time works on a claim.
import type { Pod } from '../../ports/model/pod.js';
import type { ResourceClaim } from '../../ports/model/resource-claim.js';
import type { AgentOperations } from '../../ports/outbound/outbound-ports.js';
import { type ClaimDevice, type ClaimState, draCheckpointName, readDraCheckpoint, writeDraCheckpoint } from '../checkpoints/dra-checkpoint.js';
import { newStateFileWriter, type StateFileWriter } from '../checkpoints/state-file-writer.js';
import type { Turn } from '../kernel/machine.js';
import type { View } from '../kernel/view.js';
import { byCodeUnits } from '../values/text-order.js';
import type { UsedClaim } from './pod-claims.js';

export interface ClaimRecord {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  readonly podUids: Set<string>;
  /** Driver -> its prepared devices. */
  readonly drivers: Map<string, readonly ClaimDevice[]>;
  /** By this agent. Claims prepared by an earlier one are prepared again when a sandbox is created. */
  prepared: boolean;
  /** The pod whose task works on it; null: none. */
  lockedBy: string | null;
}

/** One pod's claims being prepared or unprepared. */
export interface DraTask {
  readonly kind: 'prepare' | 'unprepare';
  readonly podUid: string;
  readonly namespace: string;
  /** null: only its uid is known. */
  readonly pod: Pod | null;
  phase: 'read' | 'lock' | 'save' | 'call' | 'saveEnd' | 'done';
  readonly wanted: readonly UsedClaim[];
  /** The claims read so far, in the order of `wanted`; null: not yet. */
  readonly found: (ResourceClaim | { readonly problem: string } | null)[];
  /** Keys of the claims it holds. */
  locked: readonly string[];
  /** Driver -> the claims of its call, and its answer. */
  readonly calls: Map<string, DraTaskCall>;
  /** The file revision that must be on disk before it continues. */
  revision: number;
  error: string | null;
}

export interface DraTaskCall {
  readonly claims: readonly ClaimRecord[];
  answered: boolean;
  error: string | null;
}

export interface DraManager {
  /** By `<namespace>/<name>`. */
  readonly claims: Map<string, ClaimRecord>;
  /** By pod uid. */
  readonly tasks: Map<string, DraTask>;
  /** Pods whose claims could not be prepared when it was tried last. */
  readonly failedPods: Set<string>;
  /** Of the claims; raised by each change that must be on disk. */
  revision: number;
  /** By the revision. */
  readonly file: StateFileWriter<number>;
}

/** The interface of the work on claims to its surroundings. */
export interface DraContext {
  readonly turn: Turn<AgentOperations>;
  readonly hasApi: boolean;
  /** The driver's endpoint; null: it isn't registered. */
  driverEndpoint(driver: string): string | null;
  /** A pod's task has ended. */
  taskEnded(task: DraTask): void;
}

export const draTaskMachine = 'dra-task';
export const draFileAddress = { machine: 'dra-file', key: '' } as const;

/** @param text the previous agent's state file; null if absent */
export function startDraManager(text: string | null): { readonly ok: true; readonly manager: DraManager } | { readonly ok: false; readonly error: string } {
  // A missing file is written at once.
  const file = newStateFileWriter(draCheckpointName, draFileAddress, 0, { isRequired: true });
  const manager: DraManager = { claims: new Map(), tasks: new Map(), failedPods: new Set(), revision: text === null ? 1 : 0, file };
  if (text === null) return { ok: true, manager };
  const read = readDraCheckpoint(text);
  if (!read.ok)
    return { ok: false, error: `failed to create claimInfo cache: error calling GetOrCreate() on checkpoint state: failed to get checkpoint ${draCheckpointName}: ${read.error}` };
  for (const { claimUid, claimName, namespace, podUids, drivers } of read.value) {
    manager.claims.set(claimKey(namespace, claimName), {
      uid: claimUid,
      name: claimName,
      namespace,
      podUids: new Set(podUids),
      drivers: new Map([...drivers].map(([driver, devices]) => [driver, devices ?? []])),
      prepared: false,
      lockedBy: null,
    });
  }
  return { ok: true, manager };
}

export function claimKey(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}

/** Keys of the claims kept for the pod. */
export function claimsKeptFor({ claims }: View<DraManager>, podUid: string): readonly string[] {
  return [...claims].flatMap(([key, { podUids }]) => (podUids.has(podUid) ? [key] : []));
}

/** The content for the state file. */
export function draFileText({ claims }: DraManager): string {
  const sorted = [...claims.keys()].sort(byCodeUnits).map((key): ClaimState => {
    const { uid, name, namespace, podUids, drivers } = claims.get(key) as ClaimRecord;
    return { claimUid: uid, claimName: name, namespace, podUids: [...podUids], drivers };
  });
  return writeDraCheckpoint(sorted).content;
}
