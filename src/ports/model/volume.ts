// core/v1 Volume: one source is set. Sources without a type of their own here are kept as plain JSON.
import type { ObjectFieldSelector, ResourceFieldSelector } from './field-selector.js';
import type { LocalObjectReference, Quantity } from './object-meta.js';

export interface KeyToPath {
  readonly key: string;
  readonly path: string;
  readonly mode?: number;
}
export interface DownwardAPIVolumeFile {
  readonly path: string;
  readonly fieldRef?: ObjectFieldSelector;
  readonly resourceFieldRef?: ResourceFieldSelector;
  readonly mode?: number;
}
export interface VolumeProjection {
  readonly secret?: LocalObjectReference & { readonly items?: readonly KeyToPath[]; readonly optional?: boolean };
  readonly configMap?: LocalObjectReference & { readonly items?: readonly KeyToPath[]; readonly optional?: boolean };
  readonly downwardAPI?: { readonly items?: readonly DownwardAPIVolumeFile[] };
  readonly serviceAccountToken?: { readonly audience?: string; readonly expirationSeconds?: number; readonly path: string };
  readonly clusterTrustBundle?: Readonly<Record<string, unknown>>;
  readonly podCertificate?: Readonly<Record<string, unknown>>;
}
export interface VolumeSource {
  readonly hostPath?: { readonly path: string; readonly type?: string };
  readonly emptyDir?: { readonly medium?: string; readonly sizeLimit?: Quantity };
  readonly secret?: { readonly secretName?: string; readonly items?: readonly KeyToPath[]; readonly defaultMode?: number; readonly optional?: boolean };
  readonly configMap?: LocalObjectReference & { readonly items?: readonly KeyToPath[]; readonly defaultMode?: number; readonly optional?: boolean };
  readonly downwardAPI?: { readonly items?: readonly DownwardAPIVolumeFile[]; readonly defaultMode?: number };
  readonly projected?: { readonly sources?: readonly VolumeProjection[]; readonly defaultMode?: number };
  readonly persistentVolumeClaim?: { readonly claimName: string; readonly readOnly?: boolean };
  readonly ephemeral?: { readonly volumeClaimTemplate?: Readonly<Record<string, unknown>> };
  readonly csi?: {
    readonly driver: string;
    readonly readOnly?: boolean;
    readonly fsType?: string;
    readonly volumeAttributes?: Readonly<Record<string, string>>;
    readonly nodePublishSecretRef?: LocalObjectReference;
  };
  readonly image?: { readonly reference?: string; readonly pullPolicy?: string };
  readonly nfs?: { readonly server: string; readonly path: string; readonly readOnly?: boolean };
}
export interface Volume extends VolumeSource {
  readonly name: string;
  /** Other sources (iscsi, rbd, fc ...) as they are on the wire. */
  readonly [source: string]: unknown;
}
export interface VolumeMount {
  readonly name: string;
  readonly mountPath: string;
  readonly readOnly?: boolean;
  readonly recursiveReadOnly?: string;
  readonly subPath?: string;
  readonly subPathExpr?: string;
  readonly mountPropagation?: string;
}
export interface VolumeDevice {
  readonly name: string;
  readonly devicePath: string;
}
