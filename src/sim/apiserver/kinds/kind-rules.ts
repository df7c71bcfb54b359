// The rules of a kind for writes of its objects: defaults, refusals, and fields that a change may not touch.
import type { Problems } from '../../../domain/pod-sources/validation/field-problem.js';
import type { Micros } from '../../../ports/micros.js';
import type { ApiUser, JsonDraft } from '../api-request.js';
import type { ApiserverSettings } from '../apiserver-settings.js';
import type { ObjectStore, StoredObject } from '../object-store.js';
import type { ResourceType, Subresource } from '../resource-types.js';

export interface WriteContext {
  readonly now: Micros;
  readonly user: ApiUser;
  readonly type: ResourceType;
  readonly subresource: Subresource | null;
  readonly store: ObjectStore;
  readonly settings: ApiserverSettings;
}

/** An object on its way into the store: its owner may still change it. */
export interface ObjectDraft extends JsonDraft {
  apiVersion: string;
  kind: string;
  metadata: MetadataDraft;
}

export interface MetadataDraft extends JsonDraft {
  name: string;
  namespace?: string;
  uid?: string;
  generateName?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string | null;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
}

/** Each function throws an immediate refusal, or adds to the problems that are reported together. */
export interface KindRules {
  /** Sets defaults, in new and in changed objects. */
  readonly complete?: (draft: ObjectDraft, context: WriteContext) => void;
  /** A new object: fields that the server sets or removes, and refusals. */
  readonly begin?: (draft: ObjectDraft, context: WriteContext) => void;
  /** Validates every object of the kind. */
  readonly check?: (problems: Problems, object: ObjectDraft, context: WriteContext) => void;
  /** A change: restores immutable fields. Of the subresource in the context. */
  readonly change?: (draft: ObjectDraft, old: StoredObject, context: WriteContext) => void;
  /** Problems of a change come before problems of the object. */
  readonly checksChangeFirst?: boolean;
  readonly checkChange?: (problems: Problems, object: ObjectDraft, old: StoredObject, context: WriteContext) => void;
  /** How long a deletion waits for another client; null: immediate. `asked` is the client's request. */
  readonly deletionGrace?: (object: StoredObject, asked: number | null) => number | null;
  /** A deletion only marks the object, and a controller removes it: the marked object. Throws if it may not be deleted. */
  readonly beginDeletion?: (object: StoredObject, context: WriteContext) => StoredObject;
}
