// The sources of the configuration: the file named by --config and the drop-in directory, read and parsed but not interpreted.
// Used once, before the agent and its loop exist, so the operations are synchronous; the daemon has no other work until they answer.

/** A parsed document: plain data. Integers beyond 2^53 are bigint. */
export type ParsedValue = null | boolean | number | bigint | string | readonly ParsedValue[] | { readonly [key: string]: ParsedValue };

export interface RepeatedKey {
  readonly key: string;
  /** With the keys and positions above it: `a.b[0].key`. */
  readonly path: string;
  /** 1-based, of the later value. */
  readonly line: number;
}

export type ParsedText =
  | { readonly ok: true; readonly format: 'json' | 'yaml'; readonly value: ParsedValue; readonly duplicateKeys: readonly RepeatedKey[] }
  | { readonly ok: false; readonly message: string; readonly line: number; readonly column: number };

export type ConfigurationFile =
  | { readonly ok: true; readonly path: string; readonly text: string; readonly parsed: ParsedText }
  /** `error` is the operating system's words, e.g. `open /x: no such file or directory`. */
  | { readonly ok: false; readonly path: string; readonly error: string };

export interface DropInListing {
  /** In the order of a depth-first walk, names in byte order at each level; paths begin with the directory as it was named. */
  readonly files: readonly ConfigurationFile[];
  /** Regular files whose name does not end in `.conf`. */
  readonly skipped: readonly string[];
  /** What ended the walk early, e.g. `lstat /d: no such file or directory`; null when it went to the end. */
  readonly error: string | null;
}

export interface ConfigurationSource {
  /** Idempotent. A relative name counts from the working directory; `path` of the answer is absolute. */
  readFile(name: string): ConfigurationFile;
  /** Idempotent; the `.conf` files below a directory. */
  readDropIns(directory: string): DropInListing;
}
