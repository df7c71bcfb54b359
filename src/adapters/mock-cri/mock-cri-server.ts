// The simulated runtime behind a Unix socket, in real time: a CRI server without containers, for the agent, crictl and tests.
//
// Invariants: never removes a socket on which another process listens; the socket is accessible to its owner only; after `stop` no timer, no file
// and no socket is left.
import { chmodSync, existsSync, lstatSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { dirname } from 'node:path';
import { Server, ServerCredentials, type UntypedServiceImplementation } from '@grpc/grpc-js';
import type { Micros } from '../../ports/micros.js';
import type { PortOf } from '../../ports/operation.js';
import type { ProbingOperations } from '../../ports/outbound/probing.js';
import { emptyRuntimeState, type RuntimeOperationName, type RuntimeOperations, SimContainerRuntime, type SimRuntimeEvent } from '../../sim/index.js';
import { criProtocol, socketPathOf } from '../cri/index.js';
import { stopServer } from '../grpc/index.js';
import { RealTime } from '../time/index.js';
import { ContainerFiles } from './container-files.js';
import { EventSubscribers } from './event-subscribers.js';
import { imageService } from './image-service.js';
import type { MockCriOptions } from './mock-cri-options.js';
import { MockProbing } from './mock-probing.js';
import type { MockRuntime } from './mock-runtime.js';
import { withProfile } from './profiles.js';
import { type Answer, observed } from './rpc.js';
import { runtimeService } from './runtime-service.js';
import { MockStreamingServer } from './streams/streaming-server.js';

/** How long `stop` waits for calls in progress. */
const stopTimeMs = 2_000;
/** How often running containers' logs are written. */
const logPauseMicros: Micros = 200_000;
/** The limit of the kubelet's client. */
const maxMessageBytes = 16 * 1024 * 1024;

export class MockCriServer implements MockRuntime {
  readonly runtime: SimContainerRuntime;
  readonly time: RealTime;
  readonly files: ContainerFiles;
  readonly events: EventSubscribers | null;
  readonly streams: MockStreamingServer;
  readonly offersListStreams: boolean;
  readonly cgroupDriver: 'cgroupfs' | 'systemd' | null;
  /** Probes of workloads, since the pods' fictitious addresses are unreachable. */
  readonly probing: PortOf<ProbingOperations> = new MockProbing(this);
  /** For clients: `unix:///path`. */
  readonly endpoint: string;
  private readonly socket: string;
  private readonly speed: number;
  private readonly observe: ((method: string, request: unknown) => void) | null;
  private server: Server | null = null;
  private withdrawWake: () => void = () => {};
  private wakeAt: Micros | null = null;
  private loggingSoon = false;

  constructor(given: MockCriOptions) {
    const options = withProfile(given);
    this.socket = socketPathOf(options.listen);
    this.endpoint = `unix://${this.socket}`;
    this.cgroupDriver = options.cgroupDriver === undefined ? 'cgroupfs' : options.cgroupDriver;
    this.offersListStreams = options.offersListStreams === true;
    this.speed = options.speed ?? 1;
    this.observe = options.observe ?? null;
    this.time = new RealTime(this.speed);
    this.streams = new MockStreamingServer(this, options.streamCreationMillis);
    const state = emptyRuntimeState();
    this.files = new ContainerFiles(state);
    this.events = options.offersEvents === false ? null : new EventSubscribers(state, this.files);
    this.runtime = new SimContainerRuntime({ runtimeName: 'mock', ...options }, state, (event) => this.happened(event));
  }

  /** Rejects when the socket is in use or can't be made. */
  async start(): Promise<void> {
    await removeStaleSocket(this.socket);
    const server = new Server({ 'grpc.max_receive_message_length': maxMessageBytes, 'grpc.max_send_message_length': maxMessageBytes, 'grpc.enable_channelz': 0 });
    const { observe } = this;
    const seen = (service: object) => (observe === null ? service : observed(service as UntypedServiceImplementation, observe));
    server.addService(criProtocol.RuntimeServiceService, seen(runtimeService(this)) as criProtocol.RuntimeServiceServer);
    server.addService(criProtocol.ImageServiceService, seen(imageService(this)) as criProtocol.ImageServiceServer);
    await this.streams.start();
    const bound = new Promise<void>((resolve, reject) => {
      server.bindAsync(`unix:${this.socket}`, ServerCredentials.createInsecure(), (error) => (error === null ? resolve() : reject(error)));
    });
    await bound.catch(async (error: unknown) => {
      await this.streams.stop();
      throw error;
    });
    chmodSync(this.socket, 0o600);
    this.server = server;
  }

  /** Answers calls in progress, for a while, and ends. A second call has no effect. */
  async stop(): Promise<void> {
    const server = this.server;
    this.server = null;
    if (server === null) return;
    this.events?.close();
    await this.streams.stop();
    await stopServer(server, stopTimeMs);
    this.time.stop();
    this.files.close();
    rmSync(this.socket, { force: true });
  }

  ask<Name extends RuntimeOperationName>(op: Name, request: RuntimeOperations[Name]['request']): Answer<RuntimeOperations[Name]['reply']> {
    const answer = this.runtime.handle(op, request, this.time.now());
    this.wakeWhenDue();
    return answer;
  }

  settled(): Micros {
    const now = this.time.now();
    this.runtime.advance(now);
    return now;
  }

  private happened(event: SimRuntimeEvent): void {
    const container = this.runtime.state.containers.get(event.containerId);
    if (event.kind === 'deleted') this.files.deleted(event.containerId);
    else if (container !== undefined && event.kind === 'started') {
      this.files.started(container);
      this.writeLogsSoon();
    } else if (container !== undefined && event.kind === 'stopped') {
      this.files.stopped(container);
      this.streams.containerStopped(container.id);
    }
    if (event.kind === 'logReopened') this.files.reopen(event.containerId);
    this.events?.send(event);
  }

  private writeLogsSoon(): void {
    if (this.loggingSoon || !this.files.logging) return;
    this.loggingSoon = true;
    this.time.after(logPauseMicros * this.speed, () => {
      this.loggingSoon = false;
      this.files.write(this.settled());
      this.writeLogsSoon();
    });
  }

  /** Runs the model's next event when due. */
  private wakeWhenDue(): void {
    const next = this.runtime.nextAt();
    if (next === this.wakeAt) return;
    this.withdrawWake();
    this.wakeAt = next;
    if (next === null) return;
    // At least a millisecond, so that a due event does not run inside the call that caused it.
    this.withdrawWake = this.time.after(Math.max(next - this.time.now(), 1_000), () => {
      this.wakeAt = null;
      this.settled();
      this.wakeWhenDue();
    });
  }
}

/** Starts a mock runtime and gives it back running. */
export async function startMockCri(options: MockCriOptions): Promise<MockCriServer> {
  const server = new MockCriServer(options);
  await server.start();
  return server;
}

async function removeStaleSocket(path: string): Promise<void> {
  // Node's error would be a misleading permission error.
  if (!existsSync(dirname(path))) throw new Error(`${path}: there is no directory ${dirname(path)}`);
  const status = lstatSync(path, { throwIfNoEntry: false });
  if (status === undefined) return;
  if (!status.isSocket()) throw new Error(`${path} exists and is no socket`);
  if (await answers(path)) throw new Error(`${path} is in use: another runtime listens on it`);
  rmSync(path, { force: true });
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
