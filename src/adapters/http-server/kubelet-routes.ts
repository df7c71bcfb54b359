// Routes of the kubelet's port: pattern, methods, and the form of answers.
import type { IncomingHttpHeaders } from 'node:http';
import type { CommandWishes } from '../streaming/index.js';
import type { HttpAnswer } from './http-answer.js';

export interface KubeletQuestion {
  readonly method: string;
  /** As sent, percent-encoded and clean. */
  readonly path: string;
  /** The decoded elements of the path, without empty ones: `/exec/ns/pod/c` -> exec, ns, pod, c. */
  readonly elements: readonly string[];
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  /** Bodies are small and few; limited. */
  body(): Promise<string>;
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
}

/** A streamed body. The headers are sent at once; a later error is written at its end. */
export interface StreamAnswer {
  readonly kind: 'stream';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly chunks: AsyncIterable<Uint8Array>;
  /** It ends by itself: a client that doesn't read it is cut off, as with an answer in one piece. */
  readonly isBounded?: true;
}

/** Passes the connection to another server after that has accepted the upgrade. */
export interface ProxyAnswer {
  readonly kind: 'proxy';
  /** For a single use: must not be logged. */
  readonly target: URL;
  /** How a WebSocket is translated for a server that speaks SPDY: a command stream by stream, or SPDY's bytes in messages. If absent, unchanged. */
  readonly translation?: { readonly kind: 'command'; readonly wishes: CommandWishes } | { readonly kind: 'tunnel' };
}

export type KubeletAnswer = HttpAnswer | StreamAnswer | ProxyAnswer;

export interface KubeletRoute {
  /** One of the patterns of the server (domain/authorization/server-patterns). */
  readonly pattern: string;
  /** null: any method. */
  readonly methods: readonly string[] | null;
  /** The one media type that it produces; null: any accepted type. */
  readonly produces: string | null;
  /** null: no such page below the pattern. */
  answer(question: KubeletQuestion): Promise<KubeletAnswer | null> | KubeletAnswer | null;
}
