// The mock runtime for its services: the model, its time and files, and their other sources.
import type { Micros } from '../../ports/micros.js';
import type { RuntimeOperationName, RuntimeOperations, SimContainer, SimContainerRuntime } from '../../sim/index.js';
import type { criProtocol } from '../cri/index.js';
import type { RealTime } from '../time/index.js';
import type { ContainerFiles } from './container-files.js';
import type { EventSubscribers } from './event-subscribers.js';
import type { Answer } from './rpc.js';

/** Sessions of a streaming server; each answer is an address. */
export interface RuntimeStreams {
  /** @param container undefined: unknown id */
  exec(request: criProtocol.ExecRequest, container: SimContainer | undefined): Answer<{ readonly url: string }>;
  attach(request: criProtocol.AttachRequest, container: SimContainer | undefined): Answer<{ readonly url: string }>;
  /** @param sandboxId in full */
  portForward(request: criProtocol.PortForwardRequest, sandboxId: string): Answer<{ readonly url: string }>;
}

/** The interface for the services. */
export interface MockRuntime {
  readonly runtime: SimContainerRuntime;
  readonly time: RealTime;
  readonly files: ContainerFiles;
  readonly streams: RuntimeStreams;
  /** null: this runtime offers no events. */
  readonly events: EventSubscribers | null;
  readonly offersListStreams: boolean;
  readonly cgroupDriver: 'cgroupfs' | 'systemd' | null;
  /** Sends a request to the model; handles its time and events. */
  ask<Name extends RuntimeOperationName>(op: Name, request: RuntimeOperations[Name]['request']): Answer<RuntimeOperations[Name]['reply']>;
  /** The runtime's time, with all that was due until then done. */
  settled(): Micros;
}
