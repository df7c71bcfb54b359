// A file of a log as its reader sees it: lines in order, for every kind of file.

/** The result of a read: lines, the current end of the file, or content that differs from what was read before. */
export type LogLines = readonly Buffer[] | 'end' | 'rewritten';

export interface LogSource {
  /** The whole lines of the next block, each with its newline. */
  nextLines(): Promise<LogLines>;
  /** The incomplete last line; may be empty. */
  takeRest(): Buffer;
  close(): Promise<void>;
}
