// Requests to the simulated apiserver and its answers: the path, the query and the body of HTTP as data, without HTTP.
import type { Micros } from '../../ports/micros.js';
import type { ApiResource, PatchKind } from '../../ports/model/api-object.js';

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [name: string]: Json;
}
/** A fresh object that its owner may still change. */
export type JsonDraft = Record<string, unknown>;

export interface ApiUser {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export type ApiVerb = 'get' | 'list' | 'create' | 'update' | 'patch' | 'delete' | 'deletecollection';

export interface ApiTarget {
  readonly resource: ApiResource;
  readonly namespace: string | null;
  readonly name: string | null;
  readonly subresource: string | null;
}

export interface ListOptions {
  readonly fieldSelector: string | null;
  readonly labelSelector: string | null;
  readonly resourceVersion: string | null;
  readonly resourceVersionMatch: string | null;
  readonly limit: number | null;
  readonly continueToken: string | null;
}

export const wholeList: ListOptions = { fieldSelector: null, labelSelector: null, resourceVersion: null, resourceVersionMatch: null, limit: null, continueToken: null };

export type FieldValidation = 'Strict' | 'Warn' | 'Ignore';

export interface ApiRequest extends ApiTarget {
  readonly user: ApiUser;
  readonly verb: ApiVerb;
  /** Of get, list and deletecollection. */
  readonly options?: ListOptions;
  /** The object, the patch or the DeleteOptions; undefined: none. */
  readonly body?: unknown;
  readonly patch?: PatchKind;
  readonly dryRun?: boolean;
  /** null: the server's own choice. */
  readonly fieldValidation?: FieldValidation | null;
  readonly fieldManager?: string | null;
  /** Server-side apply takes fields from other managers. */
  readonly force?: boolean;
  /** The client's user agent, the default name of its field manager. */
  readonly userAgent?: string;
}

export interface ApiResponse {
  readonly code: number;
  readonly body: JsonObject;
  /** Warnings for the client, as in `Warning` headers. */
  readonly warnings: readonly string[];
  /** Faults: the answer takes that much longer; it is never given, since the connection broke. */
  readonly latencyMicros: Micros;
  readonly lost: boolean;
}

export interface WatchRequest {
  readonly user: ApiUser;
  readonly target: ApiTarget;
  readonly fieldSelector: string | null;
  readonly labelSelector: string | null;
  /** null or '0': begins with the current objects. */
  readonly resourceVersion: string | null;
  readonly bookmarks: boolean;
  /** The current objects first, then a bookmark that marks their end, as in a streaming list. */
  readonly sendInitialEvents: boolean;
  readonly timeoutSeconds: number | null;
}

export type WatchEventType = 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
export interface WatchEvent {
  readonly type: WatchEventType;
  readonly object: JsonObject;
}
