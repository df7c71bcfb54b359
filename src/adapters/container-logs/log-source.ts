// A file of a log as its reader sees it: lines in order, whatever the file is made of.

/** How a look at the file ends: its lines, its end as it is now, or that its content is another than what was read of it. */
export type LogLines = readonly Buffer[] | 'end' | 'rewritten';

export interface LogSource {
  /** The whole lines of the next block, each with its newline. */
  nextLines(): Promise<LogLines>;
  /** What is there of a line without its end; empty when there is none. */
  takeRest(): Buffer;
  close(): Promise<void>;
}
