// Where the agent's own words go. What a line looks like and which are shown is the adapter's matter.
// Invariant: a logger never throws and never makes its caller wait.

/** `debug` is for those who look for a mistake; all others are always shown. */
export type LogLevel = 'error' | 'warn' | 'info' | 'debug';

/** Kubernetes' own keys: `pod`, `podUID`, `containerName`, `err`. Values may be any plain data; what looks like a secret is left out. */
export type LogFields = Readonly<Record<string, unknown>>;

export interface Logger {
  log(level: LogLevel, message: string, fields?: LogFields): void;
  /** Whether such a line would be shown: for callers whose fields cost something to make. */
  shows(level: LogLevel): boolean;
  /** The same logger for another part of the program, named like its file. */
  named(source: string): Logger;
}
