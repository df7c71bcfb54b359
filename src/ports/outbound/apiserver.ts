// The kube-apiserver as the agent uses it: reads, watches, writes. Requests and answers are the API's own JSON.
//
// The adapter maps an apiserver's answer to a PortFailure: 400 and 422 invalid-argument, 401 unauthenticated, 403 permission-denied,
// 404 not-found, 409 aborted (AlreadyExists: already-exists), 410 out-of-range, 429 resource-exhausted, 5xx and no connection unavailable, 504
// and a passed deadline deadline-exceeded. `message` is the Status' message; `retryAfterMicros` is its Retry-After or retryAfterSeconds.
//
// The adapter reads objects by the schema of the API (domain/values/api-schema): null is absent, required fields are present, and each known
// field has its type. Any other object is unusable: a list or watch reports it beside the others, and a request for it alone fails
// with data-loss, whose message names the field.

import type { Micros } from '../micros.js';
import type { ApiName, ApiObject, ApiSelection, PatchKind, UnusableObject } from '../model/api-object.js';
import type { Operation } from '../operation.js';

/** The kubelet's clients: each has its own connection and its own limit of requests (spec/config-and-api.md, 7). */
export type ApiClient = 'main' | 'heartbeat' | 'events';

export interface ApiList {
  readonly items: readonly ApiObject[];
  /** Existing but unusable objects. */
  readonly unusable: readonly UnusableObject[];
  readonly resourceVersion: string;
  /** The beginning of the next page; null: this was the last. */
  readonly continueToken: string | null;
}

export interface ApiWatchRequest extends ApiSelection {
  /** Names the watch in the events that it delivers; unique among the watches that are open. */
  readonly watch: string;
  readonly resourceVersion: string;
  /** The server ends the watch after this time. */
  readonly timeoutSeconds: number;
}

export interface ApiReaderOperations {
  /**
   * One page. `resourceVersion` '0' lets the server answer from its cache; null: the newest. Items carry apiVersion and kind.
   * Errors: out-of-range when the continue token is too old.
   */
  readonly list: Operation<ApiSelection & { readonly resourceVersion: string | null; readonly limit: number | null; readonly continueToken: string | null }, ApiList>;
  /** `resourceVersion` as for a list. */
  readonly get: Operation<ApiName & { readonly client: ApiClient; readonly resourceVersion: string | null }, ApiObject>;
  /**
   * Answers when the watch has ended, by the server, by a broken connection (both as success: a watch is expected to end) or by cancellation.
   * Its events arrive before that as `ApiWatchEvents`, in order, bookmarks included. Errors: the server's refusal, also
   * after the watch began (an ERROR event); out-of-range when the version is too old.
   */
  readonly watch: Operation<ApiWatchRequest, null>;
}

export interface ApiWriterOperations {
  /** `name` is used with a subresource (`token`, `eviction`, `binding`) only. Returns the stored object. */
  readonly create: Operation<
    Omit<ApiName, 'name'> & { readonly client: ApiClient; readonly name: string | null; readonly subresource: string | null; readonly object: ApiObject },
    ApiObject
  >;
  /** Replaces; `metadata.resourceVersion` is a precondition. Errors: aborted when it has changed. */
  readonly update: Operation<ApiName & { readonly client: ApiClient; readonly subresource: string | null; readonly object: ApiObject }, ApiObject>;
  readonly patch: Operation<ApiName & { readonly client: ApiClient; readonly subresource: string | null; readonly patch: PatchKind; readonly body: unknown }, ApiObject>;
  /** Absent is an error here (not-found), and so is another uid than the precondition's (aborted). */
  readonly delete: Operation<ApiName & { readonly client: ApiClient; readonly gracePeriodSeconds: number | null; readonly uid: string | null }, null>;
}

export type ApiWatchEvent =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: ApiObject }
  /** An event of an unusable object. `isDeleted`: the object is gone, whether usable or not. */
  | { readonly type: 'UNUSABLE'; readonly isDeleted: boolean; readonly object: UnusableObject }
  /** Nothing happened up to this version. */
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string };

/** Events of a watch, as an event of the agent; one batch for those that arrived together. */
export interface ApiWatchEvents {
  readonly type: 'api-watch';
  readonly watch: string;
  /** When the adapter received them. */
  readonly at: Micros;
  readonly events: readonly ApiWatchEvent[];
}
