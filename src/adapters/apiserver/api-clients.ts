// A kubelet's three clients on the connections of one kubeconfig: the main client, one for heartbeats that other requests don't delay, and one
// for events that may be late.
// Invariant: heartbeats that fail twice in a row without an answer cut every connection: over HTTP/1.1 nothing else detects a dead
// server until TCP times out.
import type { Instant } from '../../ports/instant.js';
import type { Micros } from '../../ports/micros.js';
import type { ApiWatchEvents } from '../../ports/outbound/apiserver.js';
import type { ClientHappening } from '../../ports/outbound/metrics/client-happening.js';
import type { TraceRequest } from './client-trace.js';
import { Connections } from './connections.js';
import { type ClientPair, Credentials } from './credentials.js';
import { Exchanges } from './exchanges.js';
import { HttpApiReader } from './http-api-reader.js';
import { HttpApiWriter } from './http-api-writer.js';
import type { ClientConfig } from './kubeconfig.js';
import { RequestLimit } from './request-limit.js';

export interface RequestRate {
  /** Below 0: no limit; 0: the client's default of 5. */
  readonly perSecond: number;
  /** 0: the client's default of 10. */
  readonly burst: number;
}

export interface ApiClientOptions {
  readonly config: ClientConfig;
  /** `kubelet/v1.36.2 (linux/amd64) ...`; the server uses the part before the slash as the field manager. */
  readonly userAgent: string;
  readonly main: RequestRate;
  readonly events: RequestRate;
  readonly heartbeatTimeoutMicros: number;
  readonly environment: Readonly<Record<string, string | undefined>>;
  now(): Micros;
  wall(): Instant;
  deliver(events: ApiWatchEvents): void;
  /** Called for unusable credentials. Without secrets. */
  problem(text: string): void;
  /** The rotated client certificate, if rotation is enabled. */
  readonly rotated?: (() => ClientPair | null) | null;
  readonly observe?: (happening: ClientHappening) => void;
  readonly trace?: TraceRequest | null;
}

export interface ApiClients {
  readonly reader: HttpApiReader;
  readonly writer: HttpApiWriter;
  readonly connections: Connections;
  close(): void;
}

/** An apiserver gives a request 60 s by itself; what takes longer isn't answered any more. */
export const requestTimeoutMicros = 90_000_000;
const heartbeatFailuresMax = 2;

export function openApiClients(options: ApiClientOptions): ApiClients {
  const { config, userAgent, environment } = options;
  const credentials = new Credentials({ config, now: () => options.now(), wall: () => options.wall(), problem: (text) => options.problem(text), rotated: options.rotated ?? null });
  const connections = new Connections({ config, credentials, userAgent, environment });
  const observe = (happening: ClientHappening): void => options.observe?.(happening);
  let failures = 0;
  const heartbeat = (happening: ClientHappening): void => {
    observe(happening);
    if (happening.kind !== 'tried') return;
    failures = happening.code === null ? failures + 1 : 0;
    if (failures >= heartbeatFailuresMax) connections.cutAll();
  };
  const trace = options.trace ?? null;
  const clients = {
    main: new Exchanges({ connections, limit: limitOf(options.main), timeoutMicros: requestTimeoutMicros, observe, trace }),
    events: new Exchanges({ connections, limit: limitOf(options.events), timeoutMicros: requestTimeoutMicros, observe, trace }),
    heartbeat: new Exchanges({ connections, limit: null, timeoutMicros: options.heartbeatTimeoutMicros, observe: heartbeat, trace }),
  };
  return {
    reader: new HttpApiReader({ clients, deliver: (events) => options.deliver(events), now: () => options.now() }),
    writer: new HttpApiWriter(clients),
    connections,
    close: () => connections.close(),
  };
}

function limitOf({ perSecond, burst }: RequestRate): RequestLimit | null {
  return perSecond < 0 ? null : new RequestLimit(perSecond === 0 ? 5 : perSecond, burst === 0 ? 10 : burst);
}
