// Sends requests with one identity to one server: the interface of Connections to the two protocols.
import type { SecureContext } from 'node:tls';
import type { Answer } from './answer.js';
import type { ClientIdentity } from './credentials.js';

export interface Outgoing {
  readonly method: string;
  /** With its query, relative to the server's own path. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  readonly isWatch: boolean;
  readonly signal: AbortSignal;
}

export interface Lane {
  /** Resolves with the head of the answer. Rejects with what broke. */
  send(outgoing: Outgoing, identity: ClientIdentity): Promise<Answer>;
  /** Ends watches at once and keeps no idle connection; requests in progress continue. */
  retire(): void;
  /** Cuts everything. */
  destroy(): void;
}

/** How to reach the server. */
export interface Route {
  readonly server: URL;
  readonly proxy: URL | null;
  readonly userAgent: string;
  /** The name in the server's certificate, if different from its host. */
  readonly serverName: string | null;
  readonly insecure: boolean;
  /** null: plain HTTP. */
  readonly secureContext: SecureContext | null;
}

/** A reused connection broke before its answer: most likely the server was just closing it. The cause is its error. */
export class StaleConnection extends Error {
  constructor(cause: Error) {
    super(cause.message, { cause });
  }
}

/** From the first packet to the end of the handshake: 30 s to dial, 10 s for the handshake. */
export const connectMillis = 40_000;
export const keepAliveProbeMillis = 30_000;

/** The server's host without the brackets of IPv6. */
export function hostOf({ server }: Pick<Route, 'server'>): string {
  return server.hostname.replace(/^\[|\]$/g, '');
}

export function pathOf({ server }: Pick<Route, 'server'>, path: string): string {
  return (server.pathname === '/' ? '' : server.pathname) + path;
}

export function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}
