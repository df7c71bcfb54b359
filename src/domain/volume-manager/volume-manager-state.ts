// The desired state of a node's volumes, their actual state, and the operations on them, as data.
//
// | part       | contains                                                   | written by                            |
// |------------|------------------------------------------------------------|---------------------------------------|
// | pods       | pods that want volumes, and the progress of their look-up  | `want`, answers about claims          |
// | desired    | volumes to mount, and for which pods                       | the look-up of a pod's volumes        |
// | actual     | volumes that are mounted, or may be                        | the ends of operations, found volumes |
// | operations | operations in progress, one a volume                       | the reconciler                        |
// | backoffs   | failures, and when each may be retried                     | the ends of operations                |
// | releases   | pods that have ended, whose volumes are torn down          | `release`                             |
//
// Invariants: a volume has one operation at most; it is unmounted only for a pod in `releases`; `actual` forgets a volume only after its
// teardown succeeded.
import type { Micros } from '../../ports/micros.js';
import type { Pod } from '../../ports/model/pod.js';
import type { PersistentVolumeClaim } from '../../ports/model/storage.js';
import type { Volume } from '../../ports/model/volume.js';
import type { SubPathStep } from '../../ports/outbound/pod-volumes.js';
import { newRetryPauses, type RetryPauses } from '../backoff/retry-pauses.js';
import { microsPerSecond } from '../values/time.js';
import type { VolumeSpec } from '../volumes/volume-spec.js';

export interface PodVolumes {
  readonly uid: string;
  pod: Pod;
  /** Volumes of the spec that wait for the lookup of their claim, by name. */
  readonly resolving: Map<string, ClaimLookup>;
  /** By the volume's name in the pod: its name on the node. */
  readonly names: Map<string, string>;
  /** By the volume's name in the pod: why it can't be processed. */
  readonly errors: Map<string, string>;
}

export interface ClaimLookup {
  readonly volume: Volume;
  readonly claimName: string;
  readonly isEphemeral: boolean;
  phase: 'claim' | 'volume';
  claimUid: string;
  /** The claim; null before it was read. */
  claim: PersistentVolumeClaim | null;
  /** The persistent volume that the claim is bound to; '' before it is known. */
  volumeName: string;
}

export interface DesiredVolume {
  readonly name: string;
  readonly plugin: string;
  attachable: boolean;
  /** null: unknown until the API has reported the driver's capabilities. */
  label: VolumeLabel | null;
  readonly pods: Map<string, DesiredMount>;
}

/** SELinux labels; '': none. */
export interface VolumeLabel {
  /** From the pod's containers. */
  readonly asked: string;
  /** The label of the mount. */
  readonly mounted: string;
  /** The driver can mount with a label. */
  readonly isSupported: boolean;
}

type Severe<Name extends string> = `${Name}_errors` | `${Name}_warnings`;
/** Names of metrics, without `volume_manager_selinux_` and `_total`. */
export type LabelMetric =
  | { readonly metric: Severe<'container'> | Severe<'pod_context_mismatch'>; readonly plugin: null }
  | { readonly metric: Severe<'volume_context_mismatch'> | 'volumes_admitted'; readonly plugin: string };

export type LabelCount = LabelMetric & { readonly accessMode: string; readonly count: number };

export interface DesiredMount {
  readonly uid: string;
  readonly spec: VolumeSpec;
  /** The last version read; null: the volume has none. */
  readonly claim: PersistentVolumeClaim | null;
}

export interface ActualVolume {
  readonly name: string;
  readonly plugin: string;
  spec: VolumeSpec;
  attachable: boolean;
  /** `uncertain`: found on the node, and not confirmed yet. */
  attached: 'yes' | 'no' | 'uncertain';
  devicePath: string;
  device: 'none' | 'uncertain' | 'mounted';
  /** The SELinux label of the mount or of its attempt; '': none. null: no mount was begun. */
  label: string | null;
  /** Its size on this node, in bytes; null: unknown. `refused`: its driver can't expand it while it is in use. */
  size: number | 'refused' | null;
  readonly pods: Map<string, ActualMount>;
}

export interface ActualMount {
  readonly uid: string;
  readonly spec: VolumeSpec;
  /** `uncertain` is not mounted for containers, and mounted for cleaning up. */
  state: 'mounted' | 'uncertain';
  remountRequired: boolean;
  readonly reconstructed: boolean;
  /** Whether its files have SELinux labels of their own, if checked; null: by its plugin's default. */
  readonly hasLabels: boolean | null;
}

export type VolumeOperationKind = 'mount' | 'expand' | 'unmount' | 'unmountDevice';
/**
 * `expand` follows `setUp` where the volume has grown, or is alone while it is in use. `subPaths` and `tearDown` are an unmount's, in this order;
 * the others are procedures of the kind.
 */
export type VolumeStage = 'mountDevice' | 'setUp' | 'expand' | 'subPaths' | 'tearDown' | 'unmountDevice';

export interface VolumeOperation {
  readonly kind: VolumeOperationKind;
  readonly volumeName: string;
  /** '' for an operation on the device. */
  readonly uid: string;
  /** Of a mount: the pod at the start. */
  readonly pod: Pod | null;
  readonly spec: VolumeSpec;
  readonly isRemount: boolean;
  readonly stages: VolumeStage[];
  /** The data of the current stage; null: not begun. */
  work: object | null;
  /** It has no command in flight, and waits for a wake-up. */
  waiting: boolean;
  /** A change since its start: it must run again. */
  again: boolean;
  /** See `ActualMount`. */
  hasLabels: boolean | null;
  /** A command for the progress of the current one is in flight. */
  isLooking: boolean;
}

export interface VolumeBackoff {
  readonly kind: VolumeOperationKind;
  retryAt: Micros;
  delay: Micros;
  /** What the last try failed with. */
  readonly err: string;
}

export interface VolumeRelease {
  readonly uid: string;
  phase: 'look' | 'unmounting' | 'over';
  /** Its volumes' names in the pod, by their names on the node, as far as known. */
  readonly names: ReadonlyMap<string, string>;
  /** Bind mounts from a volume, by the name of its directory: unmounted before the volume. */
  readonly subPaths: Map<string, readonly SubPathStep[]>;
  /** Volumes that can't be unmounted. */
  readonly failures: string[];
}

/** Whether volumes of a pod can't be attached since the node is full. */
export interface LimitLook {
  phase: 'attachments' | 'updating' | 'over';
  /** Attachments that are being read, with their drivers. */
  readonly waiting: Map<string, string>;
  /** The one that is full; null: none is. */
  driver: string | null;
}

export interface VolumeManager {
  readonly pods: Map<string, PodVolumes>;
  readonly desired: Map<string, DesiredVolume>;
  readonly actual: Map<string, ActualVolume>;
  readonly operations: Map<string, VolumeOperation>;
  /** By volume; for an unmount by volume and pod. */
  readonly backoffs: Map<string, VolumeBackoff>;
  readonly releases: Map<string, VolumeRelease>;
  /** By pod. */
  readonly limitLooks: Map<string, LimitLook>;
  /** By pod: the volumes that it has or may have, and those whose mount is in progress. */
  readonly held: Map<string, Set<string>>;
  /** Whether what earlier agents left is known. */
  survey: 'none' | 'asked' | 'over';
  readonly surveyPauses: RetryPauses;
  /** Counts of SELinux label warnings and errors since the start, by metric, access mode and plugin. */
  readonly labelCounts: Map<string, LabelCount>;
  /** Volumes that must be reconciled again. */
  readonly dirty: Set<string>;
}

export function newVolumeManager(): VolumeManager {
  const maps = { pods: new Map(), desired: new Map(), actual: new Map(), operations: new Map(), backoffs: new Map(), releases: new Map(), held: new Map() };
  return { ...maps, limitLooks: new Map(), labelCounts: new Map(), survey: 'none', surveyPauses: newRetryPauses(microsPerSecond, 60 * microsPerSecond), dirty: new Set() };
}

/** The pod has the volume from here on, or may have it. */
export function holdVolume({ held }: VolumeManager, uid: string, volumeName: string): void {
  const names = held.get(uid);
  if (names === undefined) held.set(uid, new Set([volumeName]));
  else names.add(volumeName);
}

/** The pod no longer has the volume. */
export function releaseVolume({ held }: VolumeManager, uid: string, volumeName: string): void {
  const names = held.get(uid);
  names?.delete(volumeName);
  if (names?.size === 0) held.delete(uid);
}

export const volumeMachine = 'volume';
export const claimMachine = 'volume-claim';
export const releaseMachine = 'volume-release';
export const limitMachine = 'volume-limit';
export const surveyMachine = 'volume-survey';

export function volumeAddressOf(volumeName: string): { readonly machine: string; readonly key: string } {
  return { machine: volumeMachine, key: volumeName };
}
