// An operation of an outbound port, in both forms: a command of the domain (data), and a method of an adapter.
// Invariant: the request, the reply and the failure are plain data; nothing else crosses.
import type { Micros } from './micros.js';

/** One operation of a port: its request and its reply. Failures are always a `PortFailure`. */
export interface Operation<Request, Reply> {
  readonly request: Request;
  readonly reply: Reply;
}

/** What cancels a call in an adapter. Structurally an `AbortSignal`, without needing its type. */
export interface CancelSignal {
  readonly aborted: boolean;
  readonly reason: unknown;
  addEventListener(type: 'abort', listener: () => void): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

/** An adapter's arguments besides the request. */
export interface Call {
  /** Aborted when the domain cancels the command or its deadline has passed; the adapter then rejects with `cancelled` or `deadline-exceeded`. */
  readonly signal: CancelSignal;
  /** How long the whole call may take; null: no limit. */
  readonly timeoutMicros: Micros | null;
}

/** The asynchronous face of a port, which adapters implement and decorators wrap. Rejects with `PortError` only. */
export type PortOf<Operations> = {
  readonly [Name in keyof Operations]: Operations[Name] extends Operation<infer Request, infer Reply> ? (request: Request, call: Call) => Promise<Reply> : never;
};

/** All operations of several ports in one table, named `port.operation`. */
export type Flattened<Ports> = {
  [Name in OperationNames<Ports>]: Name extends `${infer Port}.${infer Op}` ? (Port extends keyof Ports ? (Op extends keyof Ports[Port] ? Ports[Port][Op] : never) : never) : never;
};

export type OperationNames<Ports> = { [Port in keyof Ports & string]: `${Port}.${keyof Ports[Port] & string}` }[keyof Ports & string];
