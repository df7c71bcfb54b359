// Any Kubernetes object, and its collections. Objects have their wire form, with null for absent; unknown fields are kept.
import type { ObjectMeta } from './object-meta.js';

export interface ApiObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
}

/** An object that was answered and can't be used: a field has another type than the API gives it. What identifies it is null where it can't be read. */
export interface UnusableObject {
  readonly apiVersion: string | null;
  readonly kind: string | null;
  readonly namespace: string | null;
  readonly name: string | null;
  readonly uid: string | null;
  readonly resourceVersion: string | null;
  /** Names the field, the expectation and the actual type; never the field's content. */
  readonly problem: string;
}

/** A collection of the API: `{ group: 'coordination.k8s.io', version: 'v1', plural: 'leases' }`; the core group is ''. */
export interface ApiResource {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
}

/** Which objects of a collection. */
export interface ApiSelection {
  readonly resource: ApiResource;
  /** null: of all namespaces, or of none. */
  readonly namespace: string | null;
  /** e.g. `spec.nodeName=node-1`; null: all. */
  readonly fieldSelector: string | null;
  readonly labelSelector: string | null;
}

/** One object of a collection. */
export interface ApiName {
  readonly resource: ApiResource;
  readonly namespace: string | null;
  readonly name: string;
}

/** The media types of a patch (`application/<kind>+json`); `apply` is server-side apply as YAML. */
export type PatchKind = 'json-patch' | 'merge-patch' | 'strategic-merge-patch' | 'apply-patch';
