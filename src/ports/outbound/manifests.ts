// The sources of static pods: a directory (or one file) of manifests, and a URL. The adapter parses texts, the domain decides.
import type { Flattened, Operation } from '../operation.js';
import type { FileWatchEvent } from './file-watch.js';

/** The content of one file or body. */
export type ManifestContent =
  /** Plain values as written (YAML 1.1 or JSON); 64-bit integers that a double can't hold are bigints. `notes` describe oddities of the text. */
  | { readonly kind: 'document'; readonly value: unknown; readonly notes: readonly string[] }
  /** Not parseable: the message has the error and its place. */
  | { readonly kind: 'unreadable'; readonly message: string }
  /** Nothing to read by its nature: a directory, a socket, a device. */
  | { readonly kind: 'skipped'; readonly message: string }
  /** It isn't there (any more). */
  | { readonly kind: 'absent' };

export interface ManifestFile {
  /** Absolute, as it was reached; a symbolic link's own path. */
  readonly path: string;
  /** The same object for a file that hasn't changed, so that its pod needn't be made again. */
  readonly content: ManifestContent;
}

export type ManifestListing =
  | { readonly kind: 'absent' }
  /** All entries but those whose names begin with a dot, in order of path. */
  | { readonly kind: 'directory'; readonly files: readonly ManifestFile[] }
  | { readonly kind: 'file'; readonly file: ManifestFile }
  /** Neither a directory nor a regular file. */
  | { readonly kind: 'other' };

export interface ManifestDirectoryOperations {
  /** Everything at the path. An error of one file is in its entry. An absent path is a value; `permission-denied` and similar errors are for the path itself. */
  readonly list: Operation<{ readonly path: string }, ManifestListing>;
  /** One file. Errors of the file are values. */
  readonly readFile: Operation<{ readonly path: string }, ManifestFile>;
  /**
   * Watches the path from now on; changes arrive as `ManifestsChanged` events. Idempotent; needed again after `gone` and `failed`.
   * Errors: not-found, permission-denied, resource-exhausted (the system has no watch left).
   */
  readonly watch: Operation<{ readonly path: string }, null>;
}

export interface ManifestsChanged {
  readonly type: 'manifests-changed';
  readonly events: readonly FileWatchEvent[];
}

export interface ManifestResponse {
  /** e.g. `200 OK`. */
  readonly status: string;
  readonly statusCode: number;
  readonly bodyBytes: number;
  /** Equal for equal bodies. */
  readonly digest: string;
  /** The beginning of the body, for messages. */
  readonly excerpt: string;
  readonly content: ManifestContent;
}

export interface ManifestUrlOperations {
  /** One GET, without proxies or caches. Any status is an answer; no answer at all, or one that is too large, is a failure. */
  readonly fetch: Operation<{ readonly url: string; readonly headers: Readonly<Record<string, readonly string[]>> }, ManifestResponse>;
}

export type ManifestOperations = Flattened<{ readonly manifestDirectory: ManifestDirectoryOperations; readonly manifestUrl: ManifestUrlOperations }>;
