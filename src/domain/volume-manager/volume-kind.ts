// The volume manager's interface to a kind of volume (a volume plugin): procedures that set it up on the node and for one pod, and
// tear it down again. The manager decides when each runs, one at a time per volume, retries failures, and reports them.
//
// | procedure       | runs                                                             | prefix of its failure            |
// |-----------------|------------------------------------------------------------------|----------------------------------|
// | `mountDevice`   | once a node, before the first pod's `setUp`                      | `MountVolume.MountDevice failed` |
// | `setUp`         | for each pod; again at a restart and when `requiresRemount`      | `MountVolume.SetUp failed`       |
// | `tearDown`      | for each pod, when its containers are dead                       | `UnmountVolume.TearDown failed`  |
// | `unmountDevice` | when no pod of the node has the volume any more                  | `UnmountDevice failed`           |
//
// A raw block volume uses the same procedures; it is mapped, not mounted, and its failures say so.
//
// Invariants: a procedure is a machine too: plain data (`Work`), and `decide`, which sends one command at a time through its scene. Each
// may be interrupted after any command and restarted, by another process: it inspects the current state, and not-found is success for a teardown.
import type { Micros } from '../../ports/micros.js';
import type { Node } from '../../ports/model/node.js';
import type { Pod } from '../../ports/model/pod.js';
import type { PersistentVolumeClaim } from '../../ports/model/storage.js';
import type { AgentOperations } from '../../ports/outbound/outbound-ports.js';
import type { Outcome } from '../../ports/port-error.js';
import type { ApiData } from '../api-data/api-data.js';
import type { BlockVolume } from '../containers/block-devices.js';
import type { MountedVolume } from '../containers/mounts.js';
import type { NodeFacts } from '../containers/node-facts.js';
import { assert } from '../kernel/assert.js';
import type { CommandFor, Reply, ReplyFor, Turn } from '../kernel/machine.js';
import type { CsiView } from '../plugins/csi-view.js';
import { isBlockVolume, type VolumeSpec } from '../volumes/volume-spec.js';

/** The interface of a node's volumes to the agent. */
export interface VolumeContext {
  readonly turn: Turn<AgentOperations>;
  readonly nodeFacts: NodeFacts;
  readonly nodeName: string;
  /** The period of reading objects that a node can't watch. */
  readonly syncFrequency: Micros;
  /** The node's own object; null: standalone, or not known yet. */
  readonly node: Node | null;
  /** null: standalone. */
  readonly apiData: ApiData | null;
  readonly csi: CsiView;
  event(pod: Pod, containerName: null, type: 'Normal' | 'Warning', reason: string, message: string): void;
  /** Does something for a pod: what fails in it is laid to that pod. */
  forPod<Result>(uid: string, work: () => Result): Result;
  /** The pod's volumes have changed: waiting runs check again, after this step. */
  volumesChanged(uid: string): void;
  claimEvent(claim: PersistentVolumeClaim, type: 'Normal' | 'Warning', reason: string, message: string): void;
  /** All volumes of the pod with data of the API were processed. @param outdated some could not be updated */
  volumesWorkedOn(uid: string, pod: Pod, outdated: boolean): void;
}

/**
 * The volume's state after a failure.
 * `final`: nothing is mounted. `uncertain`: it may be mounted, or in progress; it must be torn down. `transient`: as before.
 * `usable`: the previous content can stay in use.
 */
export type FailureSeverity = 'final' | 'uncertain' | 'transient' | 'usable';

export interface VolumeFailure {
  readonly message: string;
  readonly severity: FailureSeverity;
  /** `MountVolume.SetUp failed` and its like. */
  readonly prefix: string;
}

/** The progress of a procedure. `prefix` null: that of the procedure. */
export type VolumeStep =
  | { readonly kind: 'asked' }
  /** Waits for a wake-up (`volumeDataArrived`), or that time; null: no time. */
  | { readonly kind: 'waiting'; readonly until: Micros | null }
  | { readonly kind: 'done' }
  | { readonly kind: 'failed'; readonly message: string; readonly severity: FailureSeverity; readonly prefix: string | null };

/** The input of a procedure. */
export interface VolumeScene {
  readonly volumeName: string;
  readonly spec: VolumeSpec;
  readonly uid: string;
  /** The pod's newest object; null for an unmount. */
  readonly pod: Pod | null;
  /** It is set up, and will be updated. */
  readonly isRemount: boolean;
  /** It was found on the node by this agent, not made by it. */
  readonly reconstructed: boolean;
  /** The device's path from the Node; '' without one. */
  readonly devicePath: string;
  /** The SELinux label that the volume is to be mounted with; '': none. */
  readonly seLinuxLabel: string;
  /** Pods other than this one that have the volume mounted, or may have. */
  readonly otherPods: readonly string[];
  /** Of the procedure's pod; null: the volume has none, or an unmount. */
  readonly claim: PersistentVolumeClaim | null;
  /** The claim as the API has it now. */
  claimSeen(claim: PersistentVolumeClaim): void;
  /** Whether mounted files have their own SELinux labels, which the runtime may change. */
  labelled(hasLabels: boolean): void;
  /** How large the volume is on this node from now on. */
  resized(size: number | 'refused' | null): void;
  readonly context: VolumeContext;
  /** Calls `late` at that time if the current command is not answered by then. */
  remindAt(at: Micros): void;
  /** Sends a second command beside the current one; its answer goes to `seen`, unless the current one is answered first. One at a time. */
  look<Name extends keyof AgentOperations>(op: Name, request: CommandFor<AgentOperations, Name>['request']): void;
  /** Sends a command; its answer goes to the procedure's handler of its operation. */
  ask<Name extends keyof AgentOperations>(op: Name, request: CommandFor<AgentOperations, Name>['request'], timeout?: Micros | null): VolumeStep;
}

type OutcomeOf<Op extends keyof AgentOperations> = ReplyFor<AgentOperations, Op>['outcome'];

/** Handlers of answers, by operation. A step: the procedure ends with it; null: `decide` continues. */
export type VolumeReplies<Work, Result = VolumeStep | null> = {
  readonly [Op in keyof AgentOperations]?: (work: Work, outcome: OutcomeOf<Op>, scene: VolumeScene) => Result;
};

/** A procedure as its kind declares it. The answer to an operation without a handler is a failed assertion. */
export interface ProcedureTable<Work> {
  readonly begin: (scene: VolumeScene) => Work;
  readonly decide: (work: Work, scene: VolumeScene) => VolumeStep;
  /** The time of `remindAt` has come, and the command is not answered yet. */
  readonly late?: (work: Work, scene: VolumeScene) => void;
  /** Handlers of the answers to `look`. */
  readonly looks?: VolumeReplies<Work, void>;
  readonly replies: VolumeReplies<Work>;
}

/** A procedure as the manager runs it. */
export interface VolumeProcedure<Work = never> {
  readonly begin: (scene: VolumeScene) => Work;
  readonly decide: (work: Work, scene: VolumeScene) => VolumeStep;
  /** The time of `remindAt` has come, and the command is not answered yet. */
  readonly late?: (work: Work, scene: VolumeScene) => void;
  /** Handles the answer of the inspection. */
  readonly seen?: (work: Work, reply: Reply<AgentOperations>, scene: VolumeScene) => void;
  /** Handles an answer. A step: the procedure ends with it; null: `decide` continues. */
  readonly replied: (work: Work, reply: Reply<AgentOperations>, scene: VolumeScene) => VolumeStep | null;
}

/** A directory `volumes/<plugin>/<name>` that was found in a pod's directory. */
export interface FoundVolume {
  readonly uid: string;
  /** Unescaped: `kubernetes.io/empty-dir`. */
  readonly plugin: string;
  readonly name: string;
  /** It was found as a link to a raw device. */
  readonly isDevice: boolean;
  /** A CSI volume's `vol_data.json`; null if absent. */
  readonly data: string | null;
}

export interface VolumeKind {
  /** `kubernetes.io/empty-dir`; one of `volumePlugins`. */
  readonly plugin: string;
  /** Why this kubelet can't have such a volume; null: it can. */
  readonly refusal?: (spec: VolumeSpec) => string | null;
  /** Has to be attached to the node by others first. */
  readonly isAttachable?: (spec: VolumeSpec, context: VolumeContext) => boolean;
  /** Whether it is set up again periodically, in addition to its plugin's own rule. */
  readonly requiresRemount?: (spec: VolumeSpec, context: VolumeContext) => boolean;
  readonly mountDevice: VolumeProcedure<never> | null;
  /** null: no work on the host is needed. */
  readonly setUp: VolumeProcedure<never> | null;
  /** Expands it on this node to the size of its persistent volume. */
  readonly expand?: VolumeProcedure<never>;
  readonly tearDown: VolumeProcedure<never> | null;
  readonly unmountDevice: VolumeProcedure<never> | null;
  /** What containers see; null: it isn't for containers in this way. */
  readonly view: (spec: VolumeSpec, uid: string, rootDirectory: string) => MountedVolume | null;
  /** A raw block volume's device for containers; if omitted, the kind has none. */
  readonly device?: (spec: VolumeSpec, uid: string, rootDirectory: string) => BlockVolume | null;
  /** The spec of a directory from an earlier agent, without the API. null: unknown. */
  readonly reconstruct: (found: FoundVolume) => VolumeSpec | null;
  /** The same for a link left in `volumeDevices`. */
  readonly reconstructDevice?: (found: FoundVolume) => VolumeSpec | null;
  /** The SELinux label of the mount found on disk; if absent: '', none. */
  readonly reconstructLabel?: (found: FoundVolume) => string;
}

export const asked: VolumeStep = { kind: 'asked' };
export const done: VolumeStep = { kind: 'done' };

export function failed(message: string, severity: FailureSeverity = 'final', prefix: string | null = null): VolumeStep {
  return { kind: 'failed', message, severity, prefix };
}

/** A procedure of one command. @param ask sends it, or fails at once */
export function singleCommand(op: keyof AgentOperations, ask: (scene: VolumeScene) => VolumeStep, severity: FailureSeverity = 'final'): VolumeProcedure<never> {
  const ended = (_work: object, outcome: Outcome<unknown>): VolumeStep => (outcome.ok ? done : failed(outcome.error.message, severity));
  return procedure<object>({ begin: () => ({}), decide: (_work, scene) => ask(scene), replies: { [op]: ended } });
}

/** One procedure for file systems, another for raw block volumes. */
export function byVolumeMode(fileSystem: VolumeProcedure<never>, block: VolumeProcedure<never>): VolumeProcedure<never> {
  const of = ({ spec }: VolumeScene) => (isBlockVolume(spec) ? block : fileSystem);
  return {
    begin: (scene) => of(scene).begin(scene),
    decide: (work, scene) => of(scene).decide(work, scene),
    late: (work, scene) => of(scene).late?.(work, scene),
    seen: (work, reply, scene) => of(scene).seen?.(work, reply, scene),
    replied: (work, reply, scene) => of(scene).replied(work, reply, scene),
  };
}

type AnyReply<Work, Result> = (work: Work, outcome: Outcome<unknown>, scene: VolumeScene) => Result;

/** Erases the type of a procedure's work, which only the procedure itself reads. */
export function procedure<Work extends object>({ begin, decide, late, looks = {}, replies }: ProcedureTable<Work>): VolumeProcedure<never> {
  const erased: VolumeProcedure<Work> = {
    begin,
    decide,
    ...(late === undefined ? {} : { late }),
    seen: (work, { op, outcome }, scene) => handlerOf<Work, void>(looks, op)(work, outcome, scene),
    replied: (work, { op, outcome }, scene) => handlerOf<Work, VolumeStep | null>(replies, op)(work, outcome, scene),
  };
  return erased as unknown as VolumeProcedure<never>;
}

function handlerOf<Work, Result>(handlers: VolumeReplies<Work, Result>, op: keyof AgentOperations): AnyReply<Work, Result> {
  const handler = handlers[op] as AnyReply<Work, Result> | undefined;
  assert(handler !== undefined, 'a volume got an answer that its procedure has no handler for', op);
  return handler;
}
