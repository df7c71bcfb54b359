// Streaming sessions with containers: the runtime opens a session and returns its URL; the bytes pass the agent unread.
import type { Operation } from '../operation.js';

export interface StreamingSession {
  /** Grants access to its holder, once, for about a minute: never log it. */
  readonly url: string;
}

interface Streams {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

/** Each call opens a session of its own. Errors: not-found, resource-exhausted (too many sessions), unimplemented, and connection errors. */
export interface RuntimeStreamingOperations {
  readonly exec: Operation<Streams & { readonly containerId: string; readonly command: readonly string[] }, StreamingSession>;
  readonly attach: Operation<Streams & { readonly containerId: string }, StreamingSession>;
  /** @property ports for clients whose protocol can't name them on the stream; otherwise empty */
  readonly portForward: Operation<{ readonly sandboxId: string; readonly ports: readonly number[] }, StreamingSession>;
}
