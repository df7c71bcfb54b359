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
  /** Bodies are small and few; at most what the limits allow. */
  body(): Promise<string>;
  /** Aborted when the client is gone. */
  readonly signal: AbortSignal;
}

/** A body that comes bit by bit. The headers are sent at once; what goes wrong afterwards is written at its end. */
export interface StreamAnswer {
  readonly kind: 'stream';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly chunks: AsyncIterable<Uint8Array>;
}

/** The connection is handed to another server after it has agreed to the upgrade. */
export interface ProxyAnswer {
  readonly kind: 'proxy';
  /** Of single use: it must not get into logs. */
  readonly target: URL;
  /** How a WebSocket reaches a server that speaks SPDY: a command stream by stream, or SPDY's bytes in messages. Left out: byte by byte, as it is. */
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
