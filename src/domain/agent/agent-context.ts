// What the parts of the agent have of a step: the state as they see it, the turn, and each other.
import type { Pod } from '../../ports/model/pod.js';
import type { AgentOperations } from '../../ports/outbound/outbound-ports.js';
import type { ObjectChange, ReflectorState } from '../api-cache/reflector.js';
import type { ImageContext } from '../images/image-context.js';
import type { Turn } from '../kernel/machine.js';
import type { CsiView } from '../plugins/csi-view.js';
import type { SyncContext, VolumesOfPods } from '../pod-sync/sync-context.js';
import type { VolumeContext } from '../volume-manager/volume-kind.js';
import type { AgentView } from './agent-view.js';

/** The interface of the API parts to all others. Passed in, since these parts depend on the others. */
export interface ApiParts {
  /** The API data for pods; null: standalone. */
  apiData(context: AgentContext): SyncContext['apiData'];
  /** A pod must run: reads the objects that it refers to. */
  podWanted(context: AgentContext, uid: string, pod: Pod): void;
  /** The pod is completely removed. */
  podReleased(context: AgentContext, uid: string): void;
  volumesWorkedOn(context: AgentContext, uid: string, pod: Pod, outdated: boolean): void;
  volumes(context: AgentContext): VolumesOfPods;
  csi(context: AgentContext): CsiView;
  /** Notifies the parts concerned by a changed copy. @param replaced the change follows from a complete list */
  changed(context: AgentContext, reflector: ReflectorState, changes: readonly ObjectChange[], replaced: boolean): void;
}

export interface AgentContext extends Omit<SyncContext, 'crashLoop'>, Omit<ImageContext, 'images'>, VolumeContext {
  readonly state: AgentView;
  readonly apiParts: ApiParts;
  /** The turn of the step that runs. */
  readonly turn: Turn<AgentOperations>;
  /** Pods processed in this step; counted by `takePodTurn`. */
  podsWorkedOn: number;
  /** Pods whose runs have found that they can't run here; they are ended after this step. */
  readonly refusals: Map<string, { readonly pod: Pod; readonly reason: string; readonly message: string }>;
  /** Pods whose volumes have changed; handled at the end of the step. */
  readonly podsWithVolumes: Set<string>;
  begin(turn: Turn<AgentOperations>): void;
  /** Does something whose outputs go elsewhere. */
  during(turn: Turn<AgentOperations>, work: () => void): void;
  /** Does something for a pod. A programmer error in it leaves the pod's UID in the state: the end of the process is attributed to it. */
  forPod<Result>(uid: string, work: () => Result): Result;
  /** @param annotations of the event; empty ones are none */
  event(pod: Pod, containerName: string | null, type: 'Normal' | 'Warning', reason: string, message: string, annotations?: Readonly<Record<string, string>>): void;
  nodeEvent(type: 'Normal' | 'Warning', reason: string, message: string): void;
}
