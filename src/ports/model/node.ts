// core/v1 Node: metadata, spec and status.
import type { ResourceList } from './container.js';
import type { ObjectMeta, Timestamp } from './object-meta.js';

export interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
  readonly timeAdded?: Timestamp;
}
export interface NodeSpec {
  readonly podCIDR?: string;
  readonly podCIDRs?: readonly string[];
  readonly providerID?: string;
  readonly unschedulable?: boolean;
  readonly taints?: readonly Taint[];
}
export interface NodeCondition {
  readonly type: string;
  readonly status: string;
  readonly lastHeartbeatTime?: Timestamp | null;
  readonly lastTransitionTime?: Timestamp | null;
  readonly reason?: string;
  readonly message?: string;
}
export interface NodeAddress {
  readonly type: string;
  readonly address: string;
}
export interface NodeStatus {
  readonly capacity?: ResourceList;
  readonly allocatable?: ResourceList;
  readonly phase?: string;
  readonly conditions?: readonly NodeCondition[];
  readonly addresses?: readonly NodeAddress[];
  readonly daemonEndpoints?: Readonly<Record<string, unknown>>;
  readonly nodeInfo?: Readonly<Record<string, unknown>>;
  readonly images?: readonly { readonly names?: readonly string[]; readonly sizeBytes?: number }[];
  readonly volumesInUse?: readonly string[];
  readonly volumesAttached?: readonly { readonly name: string; readonly devicePath: string }[];
  readonly config?: Readonly<Record<string, unknown>>;
  readonly runtimeHandlers?: readonly Readonly<Record<string, unknown>>[];
  readonly features?: { readonly supplementalGroupsPolicy?: boolean };
  readonly declaredFeatures?: readonly string[];
}
export interface Node {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly spec?: NodeSpec;
  readonly status?: NodeStatus;
}
