// What a computed status was made from.

import type { Pod } from '../../../ports/model/pod.js';
import type { PodRuntimeStatus } from '../../../ports/model/runtime-status.js';
import type { ResizeConditions } from '../../allocation/resize-conditions.js';
import type { NodeFacts } from '../../containers/node-facts.js';
import type { ActuatedResources } from '../../pod-sync/container-resize.js';
import type { StartFailure } from '../../status/container-statuses.js';
import type { StatusRecord } from '../../status/status-manager.js';

export interface ComputedFrom {
  readonly record: StatusRecord;
  readonly pod: Pod;
  readonly runtime: PodRuntimeStatus;
  readonly failures: ReadonlyMap<string, StartFailure>;
  readonly nodeFacts: NodeFacts;
  readonly runtimeName: string;
  readonly probes: number;
  readonly resize: ResizeConditions;
  readonly actuated: ActuatedResources;
}
