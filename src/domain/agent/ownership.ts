// Who owns which slice of the agent's state. A slice is written by its owner alone; all others have a view of it. The compiler holds this.
//
// A part writes through the context of its folder's `slice.ts`, which no other folder imports (the tidy test holds this). To change what another part
// owns, a part calls one of that part's functions, which says what has happened or what is requested.
import type { ImageContext } from '../images/image-context.js';
import type { SyncContext } from '../pod-sync/sync-context.js';
import type { AgentContext } from './agent-context.js';
import type { AgentState } from './agent-state.js';
import type { AgentView } from './agent-view.js';
import type { ApiState } from './reflectors/api-state.js';

/** The owner of each slice. `agent`: what each step records. */
export interface SliceOwners {
  settings: never;
  subject: 'agent';
  wallOffset: 'agent';
  nodeFacts: 'nodeFacts';
  startedAt: 'nodeFacts';
  config: 'podConfig';
  adoption: 'podConfig';
  inherited: 'podConfig';
  withdrawn: 'podConfig';
  pods: 'podManager';
  workers: 'podWorkers';
  runs: 'podWorkers';
  awaitingStatus: 'podWorkers';
  startFailures: 'podWorkers';
  crashLoop: 'podWorkers';
  reportedMissingFeatures: 'podWorkers';
  pleg: 'pleg';
  cache: 'pleg';
  relist: 'pleg';
  prepared: 'cgroups';
  housekeeping: 'housekeeping';
  orphans: 'housekeeping';
  nodeCgroups: 'cgroups';
  readiness: 'runtimeState';
  statuses: 'statusManager';
  podStarts: 'statusManager';
  computed: 'statusManager';
  observed: 'observedTimes';
  probes: 'probeManager';
  /** Its slices have owners of their own. */
  api: never;
  admission: 'podAdmission';
  allocation: 'allocationManager';
  images: 'imageManager';
  pullSecrets: 'imageManager';
  backlog: 'syncLoop';
  loopEnteredAt: 'syncLoop';
  volumes: 'volumeManager';
  plugins: 'pluginManager';
  userNamespaces: 'userNamespaceManager';
  collection: 'containerGC';
  deleting: 'containerGC';
  imageCollection: 'imageGC';
  eviction: 'evictionManager';
  shutdown: 'nodeShutdownManager';
  logRotation: 'containerLogManager';
  alignment: 'resourceManagers';
  dra: 'draManager';
  setAside: 'setAside';
  nodeStatus: 'nodeStatus';
  nodeLease: 'nodeLease';
  eventRecorder: 'eventRecorder';
  fileSource: 'fileSource';
  urlSource: 'urlSource';
}

/** The owner of each slice of the API's state. */
export interface ApiSliceOwners {
  nodeName: never;
  reflectors: 'reflectors';
  statusWrites: 'statusManager';
  connected: 'statusManager';
  mirrors: 'mirrorClient';
  withdrawn: 'podConfig';
  objects: 'objectManager';
  tokens: 'objectManager';
  pluginTokens: 'objectManager';
  serviceAccounts: 'objectManager';
  outdated: 'objectManager';
  idleLookPlanned: 'objectManager';
  podCertificates: 'podCertificateManager';
}

declare const owner: unique symbol;

export type Owner = SliceOwners[keyof SliceOwners] | ApiSliceOwners[keyof ApiSliceOwners];

type SlicesOf<Name extends Owner> = { [Slice in keyof AgentState]: SliceOwners[Slice] extends never ? never : SliceOwners[Slice] extends Name ? Slice : never }[keyof AgentState];
type ApiSlicesOf<Name extends Owner> = {
  [Slice in keyof ApiState]: ApiSliceOwners[Slice] extends never ? never : ApiSliceOwners[Slice] extends Name ? Slice : never;
}[keyof ApiState];

/** What an owner may write. */
type OwnState<Name extends Owner> = Pick<AgentState, SlicesOf<Name>> & { readonly api: Pick<ApiState, ApiSlicesOf<Name>> | null };

/** The state of the agent as an owner has it. */
export type StateOf<Name extends Owner> = OwnState<Name> & AgentView;

/** What the leaves of an owner write through their context. */
type LeavesOf<Name extends Owner> = ('podWorkers' extends Name ? Pick<SyncContext, 'crashLoop'> : unknown) & ('imageManager' extends Name ? Pick<ImageContext, 'images'> : unknown);

/** The context of a step as an owner has it: its slices are writable, those of others are views. */
export type ContextOf<Name extends Owner> = { readonly state: StateOf<Name>; readonly [owner]: (name: Name) => void } & LeavesOf<Name> & AgentContext;

/** For `slice.ts` of the owner's folder. */
export function contextOf<Name extends Owner>(): (context: AgentContext) => ContextOf<Name> {
  return (context) => context as ContextOf<Name>;
}

/** For `slice.ts` of the owner's folder. */
export function stateOf<Name extends Owner>(): (state: AgentView) => StateOf<Name> {
  return (state) => state as StateOf<Name>;
}
