// core/v1 PersistentVolume and the storage.k8s.io/v1 objects that a node reads for CSI volumes.
import type { ResourceList } from './container.js';
import type { ObjectMeta, Timestamp } from './object-meta.js';
import type { NodeSelectorTerm } from './pod.js';

export interface SecretReference {
  readonly name?: string;
  readonly namespace?: string;
}
export interface CSIPersistentVolumeSource {
  readonly driver: string;
  readonly volumeHandle: string;
  readonly readOnly?: boolean;
  readonly fsType?: string;
  readonly volumeAttributes?: Readonly<Record<string, string>>;
  readonly nodeStageSecretRef?: SecretReference;
  readonly nodePublishSecretRef?: SecretReference;
  readonly nodeExpandSecretRef?: SecretReference;
}
export interface PersistentVolumeSpec {
  readonly accessModes?: readonly string[];
  readonly claimRef?: { readonly namespace?: string; readonly name?: string; readonly uid?: string };
  readonly capacity?: ResourceList;
  readonly mountOptions?: readonly string[];
  readonly nodeAffinity?: { readonly required?: { readonly nodeSelectorTerms?: readonly NodeSelectorTerm[] } };
  readonly volumeMode?: string;
  readonly csi?: CSIPersistentVolumeSource;
  readonly hostPath?: { readonly path: string; readonly type?: string };
  readonly local?: { readonly path: string; readonly fsType?: string };
  readonly nfs?: { readonly server: string; readonly path: string; readonly readOnly?: boolean };
  /** Other sources as they are on the wire. */
  readonly [source: string]: unknown;
}
export interface PersistentVolume {
  readonly metadata: ObjectMeta;
  readonly spec: PersistentVolumeSpec;
}
export interface PersistentVolumeClaim {
  readonly metadata: ObjectMeta;
  readonly spec?: {
    readonly accessModes?: readonly string[];
    readonly volumeName?: string;
    readonly volumeMode?: string;
    readonly storageClassName?: string;
    readonly resources?: { readonly requests?: ResourceList };
  };
  readonly status?: {
    readonly phase?: string;
    readonly capacity?: ResourceList;
    readonly allocatedResources?: ResourceList;
    readonly allocatedResourceStatuses?: Readonly<Record<string, string>>;
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly message?: string }[];
  };
}
export interface CSIDriver {
  readonly metadata: ObjectMeta;
  readonly spec: {
    readonly attachRequired?: boolean;
    readonly podInfoOnMount?: boolean;
    readonly volumeLifecycleModes?: readonly string[];
    readonly fsGroupPolicy?: string;
    readonly tokenRequests?: readonly { readonly audience: string; readonly expirationSeconds?: number }[];
    readonly serviceAccountTokenInSecrets?: boolean;
    readonly requiresRepublish?: boolean;
    readonly seLinuxMount?: boolean;
    readonly nodeAllocatableUpdatePeriodSeconds?: number;
  };
}
export interface VolumeAttachment {
  readonly metadata: ObjectMeta;
  readonly spec: { readonly attacher: string; readonly nodeName: string; readonly source: { readonly persistentVolumeName?: string } };
  readonly status?: {
    readonly attached: boolean;
    readonly attachmentMetadata?: Readonly<Record<string, string>> | null;
    readonly attachError?: { readonly time?: Timestamp; readonly message?: string; readonly errorCode?: number };
  };
}
