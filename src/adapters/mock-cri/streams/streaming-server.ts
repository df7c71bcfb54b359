// The mock runtime's streaming server: the URLs that Exec, Attach and PortForward return, and the sessions behind them.
//
// Invariants: it listens on loopback; a URL is unguessable and valid for one request, within a minute; after `stop` no connection and
// no timer is left; a container's end ends its sessions.

import { randomBytes } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { SimContainer, StreamFault } from '../../../sim/index.js';
import type { criProtocol } from '../../cri/index.js';
import { answerOnSocket, strictText } from '../../http-server/index.js';
import {
  acceptChannels,
  type CommandSession,
  type CommandWishes,
  channelProtocols,
  commandProtocols,
  spdyUpgrade,
  webSocketCommand,
  webSocketProtocol,
} from '../../streaming/index.js';
import type { MockRuntime } from '../mock-runtime.js';
import { type Answer, ready, refusal } from '../rpc.js';
import { attachSession, execSession } from './container-sessions.js';
import { MockFiles } from './mock-files.js';
import { type ForwardPlan, spdyForwards, webSocketForwards } from './port-forwards.js';
import { spdyCommand, streamCreationMillis } from './spdy-command.js';
import { negotiate, offeredStreamProtocols, switchToSpdy } from './spdy-upgrade.js';

type Asked =
  | { readonly kind: 'exec'; readonly container: SimContainer; readonly wishes: CommandWishes; readonly command: readonly string[] }
  | { readonly kind: 'attach'; readonly container: SimContainer; readonly wishes: CommandWishes }
  | { readonly kind: 'portforward'; readonly sandboxId: string; readonly ports: readonly number[] };

interface Pending {
  readonly asked: Asked;
  readonly until: number;
}

/** The limits of the Go streaming library. */
const pendingMax = 1_000;
const pendingMillis = 60_000;
const tokenBytes = 12;
/** Detects a vanished client. */
const keepAlive = { keepAlive: true, keepAliveInitialDelay: 15_000 };
const forwardProtocol = 'portforward.k8s.io';

export class MockStreamingServer {
  private readonly pending = new Map<string, Pending>();
  private readonly files = new Map<string, MockFiles>();
  private readonly sockets = new Set<Socket>();
  /** By container, while it has sessions. */
  private readonly endings = new Map<string, AbortController>();
  private readonly server: Server;

  constructor(
    private readonly mock: MockRuntime,
    private readonly creationMillis: number = streamCreationMillis,
  ) {
    this.server = createServer(keepAlive, (_request, response) =>
      response.writeHead(400, { 'Content-Type': 'text/plain' }).end('unable to upgrade: missing upgrade headers in request\n'),
    );
    this.server.on('connection', (socket: Socket) => {
      this.sockets.add(socket);
      socket.setNoDelay(true);
      socket.once('close', () => this.sockets.delete(socket));
    });
    this.server.on('clientError', (_error, socket) => socket.destroy());
    this.server.on('upgrade', (request, socket, head) => {
      // A client's error ends only its own connection.
      this.upgraded(request, socket as Socket, head).catch(() => socket.destroy());
    });
  }

  /** Rejects if no port is available. */
  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.server.once('error', reject);
      this.server.listen(0, '127.0.0.1', () => resolve());
    });
  }

  stop(): Promise<void> {
    return new Promise((resolve) => {
      this.server.close(() => resolve());
      for (const socket of this.sockets) socket.destroy();
      for (const ending of this.endings.values()) ending.abort();
      this.pending.clear();
    });
  }

  /** Connections that are open. */
  get connections(): number {
    return this.sockets.size;
  }

  exec(request: criProtocol.ExecRequest, container: SimContainer | undefined): Answer<{ readonly url: string }> {
    const { containerId, cmd: command, ...wishes } = request;
    return this.session(containerId, wishes, container, (running) => ({ kind: 'exec', container: running, wishes, command }));
  }

  attach({ containerId, ...wishes }: criProtocol.AttachRequest, container: SimContainer | undefined): Answer<{ readonly url: string }> {
    return this.session(containerId, wishes, container, (running) => ({ kind: 'attach', container: running, wishes }));
  }

  portForward({ podSandboxId, port: ports }: criProtocol.PortForwardRequest, sandboxId: string): Answer<{ readonly url: string }> {
    if (podSandboxId === '') return refusal('invalid-argument', 'missing required pod_sandbox_id');
    const sandbox = this.mock.runtime.state.sandboxes.get(sandboxId);
    if (sandbox === undefined) return refusal('not-found', `failed to find sandbox "${podSandboxId}" in store: not found`);
    if (sandbox.state !== 'ready') return refusal('unknown', 'sandbox container is not running');
    return this.address({ kind: 'portforward', sandboxId, ports });
  }

  containerStopped(containerId: string): void {
    this.endings.get(containerId)?.abort();
    this.endings.delete(containerId);
    this.files.delete(containerId);
  }

  private session(
    containerId: string,
    { stdin, stdout, stderr, tty }: CommandWishes,
    container: SimContainer | undefined,
    asked: (running: SimContainer) => Asked,
  ): Answer<{ readonly url: string }> {
    if (containerId === '') return refusal('invalid-argument', 'missing required container_id');
    if (tty && stderr) return refusal('invalid-argument', 'tty and stderr cannot both be true');
    if (!stdin && !stdout && !stderr) return refusal('invalid-argument', 'one of stdin, stdout, or stderr must be set');
    this.mock.settled();
    if (container === undefined) return refusal('not-found', `an error occurred when try to find container "${containerId}": not found`);
    if (container.state !== 'running') return refusal('unknown', `container is in CONTAINER_${container.state.toUpperCase()} state`);
    return this.address(asked(container));
  }

  private address(asked: Asked): Answer<{ readonly url: string }> {
    const now = performance.now();
    for (const [token, { until }] of this.pending) if (until < now) this.pending.delete(token);
    if (this.pending.size >= pendingMax) return refusal('resource-exhausted', 'maximum number of in-flight requests exceeded');
    const token = randomBytes(tokenBytes).toString('base64url');
    this.pending.set(token, { asked, until: now + pendingMillis });
    const { port } = this.server.address() as AddressInfo;
    return ready({ url: `http://127.0.0.1:${port}/${asked.kind}/${token}` }, this.mock.runtime.latencies.look);
  }

  private async upgraded(request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    socket.on('error', () => socket.destroy());
    const [, kind = '', token = ''] = new URL(request.url ?? '/', 'http://runtime').pathname.split('/');
    const found = this.pending.get(token);
    this.pending.delete(token);
    if (found === undefined || found.asked.kind !== kind || found.until < performance.now()) {
      answerOnSocket(socket, strictText(404, '404 page not found\n'));
      return;
    }
    const { asked } = found;
    const fault = asked.kind === 'portforward' ? this.faultOfSandbox(asked.sandboxId) : asked.container.script.streamFault;
    if (fault === 'no-answer') {
      socket.once('end', () => socket.destroy()).resume();
      return;
    }
    if (asked.kind === 'portforward') await this.forward(request, socket, head, asked);
    else await this.command(request, socket, head, asked);
  }

  private async command(request: IncomingMessage, socket: Socket, head: Buffer, asked: Asked & { readonly kind: 'exec' | 'attach' }): Promise<void> {
    const session = await this.open(request, socket, head, asked.wishes);
    const fault = asked.container.script.streamFault;
    if (session === null || fault === 'hang') return;
    const { container } = asked;
    const ended = this.endingOf(container.id);
    const wrote = struck(fault, socket);
    const { tty } = asked.wishes;
    if (asked.kind === 'attach') {
      await attachSession(session, { tty, ended, wrote, listen: (listener) => this.mock.files.listen(container.id, listener) });
      return;
    }
    const { command } = asked;
    const modelled = this.mock.ask('containers.execSync', { containerId: container.id, command, timeoutSeconds: 0 });
    const hostname = this.mock.runtime.state.sandboxes.get(container.sandboxId)?.config.hostname ?? '';
    await execSession(session, { command, tty, container, hostname, files: this.filesOf(container.id), modelled, time: this.mock.time, ended, wrote });
  }

  private open(request: IncomingMessage, socket: Socket, head: Buffer, wishes: CommandWishes): Promise<CommandSession | null> {
    if (isWebSocket(request)) {
      const protocol = webSocketProtocol(request);
      if (protocol !== null) return webSocketCommand(request, socket, head, protocol, wishes);
      answerOnSocket(socket, strictText(403, `unable to upgrade: unable to negotiate protocol: server accepts [${[...channelProtocols.keys()].join(' ')}]\n`));
      return Promise.resolve(null);
    }
    const negotiated = spdyNegotiated(request, socket, commandProtocols, 'channel.k8s.io');
    return negotiated === null ? Promise.resolve(null) : spdyCommand(socket, head, negotiated, wishes, this.creationMillis);
  }

  private async forward(request: IncomingMessage, socket: Socket, head: Buffer, { sandboxId, ports }: Asked & { readonly kind: 'portforward' }): Promise<void> {
    const fault = this.faultOfSandbox(sandboxId);
    const pod = this.mock.runtime.state.sandboxes.get(sandboxId)?.config.metadata;
    const plan: ForwardPlan = {
      pod: `${pod?.name ?? ''}_${pod?.namespace ?? ''}`,
      lookup: (port) => this.listener(sandboxId, port),
      wrote: struck(fault, socket),
      pairMillis: this.creationMillis,
    };
    if (!isWebSocket(request)) {
      if (spdyNegotiated(request, socket, [forwardProtocol], forwardProtocol) !== null) await spdyForwards(socket, head, plan, fault === 'hang');
      return;
    }
    const protocol = webSocketProtocol(request);
    const form = channelProtocols.get(protocol ?? '');
    if (protocol === null || form === undefined || ports.length === 0) {
      answerOnSocket(socket, strictText(400, 'unable to upgrade: a WebSocket needs ports, and one of the protocols of channels\n'));
      return;
    }
    const channels = await acceptChannels(request, socket, head, protocol, form, 2 * ports.length);
    if (channels !== null) await webSocketForwards(channels, ports, plan, fault === 'hang');
  }

  private listener(sandboxId: string, port: number): ReturnType<ForwardPlan['lookup']> {
    const now = this.mock.settled();
    const running = this.runningIn(sandboxId);
    const found = running.find(({ script }) => script.listens?.includes(port) === true) ?? running.find(({ script }) => script.listens === null);
    if (found === undefined) return null;
    const { serves, healthyFrom, healthyTo } = found.script;
    const age = now - (found.startedAt ?? now);
    return { serves, healthy: age >= healthyFrom && (healthyTo === null || age < healthyTo) };
  }

  private runningIn(sandboxId: string): readonly SimContainer[] {
    return [...this.mock.runtime.state.containers.values()].filter((container) => container.sandboxId === sandboxId && container.state === 'running');
  }

  private faultOfSandbox(sandboxId: string): StreamFault | null {
    return this.runningIn(sandboxId).find(({ script }) => script.streamFault !== null)?.script.streamFault ?? null;
  }

  private endingOf(containerId: string): AbortSignal {
    const ending = this.endings.get(containerId) ?? new AbortController();
    // Any number of sessions listens.
    setMaxListeners(0, ending.signal);
    this.endings.set(containerId, ending);
    if (this.mock.runtime.state.containers.get(containerId)?.state !== 'running') this.containerStopped(containerId);
    return ending.signal;
  }

  private filesOf(containerId: string): MockFiles {
    const files = this.files.get(containerId) ?? new MockFiles();
    this.files.set(containerId, files);
    return files;
  }
}

function isWebSocket({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket';
}

/** The protocol; null: refused, with an answer. */
function spdyNegotiated(request: IncomingMessage, socket: Socket, spoken: readonly string[], unsaid: string): string | null {
  if (request.headers.upgrade?.toLowerCase() !== spdyUpgrade.toLowerCase()) {
    answerOnSocket(socket, strictText(400, `unable to upgrade: missing upgrade headers in request: this server speaks ${spdyUpgrade} and WebSocket\n`));
    return null;
  }
  const negotiated = negotiate(request, spoken, unsaid);
  if ('refusal' in negotiated) {
    answerOnSocket(socket, strictText(403, `${negotiated.refusal}\n`));
    return null;
  }
  switchToSpdy(socket, offeredStreamProtocols(request).length === 0 ? null : negotiated.protocol);
  return negotiated.protocol;
}

/** The fault's action after the first bytes. */
function struck(fault: StreamFault | null, socket: Socket): () => void {
  return () => {
    if (fault === 'reset') socket.resetAndDestroy();
    else if (fault === 'half-close') socket.end();
  };
}
