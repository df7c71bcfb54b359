// The output of the agent's log. The adapter formats and filters lines.
// Invariant: a logger never throws and never blocks its caller.

/** `debug` is for troubleshooting; all others are always shown. */
export type LogLevel = 'error' | 'warn' | 'info' | 'debug';

/** Kubernetes' own keys: `pod`, `podUID`, `containerName`, `err`. Values may be any plain data; likely secrets are omitted. */
export type LogFields = Readonly<Record<string, unknown>>;

export interface Logger {
  log(level: LogLevel, message: string, fields?: LogFields): void;
  /** Whether such a line would be shown: for callers whose fields cost something to make. */
  shows(level: LogLevel): boolean;
  /** The same logger for another part of the program, named like its file. */
  named(source: string): Logger;
}
