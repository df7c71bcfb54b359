// The containers of a node for clients that use logs, exec, attach and port-forward. Names come from outside and may hold any text.
import type { Operation } from '../operation.js';
import type { ExecResult } from '../outbound/container-runtime.js';
import type { StreamingSession } from '../outbound/runtime-streaming.js';

export interface ContainerAddress {
  readonly namespace: string;
  readonly podName: string;
  /** null: the pod that has the name now. */
  readonly podUid: string | null;
  readonly containerName: string;
}

export interface StreamWishes {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

/** An answer or a refusal. `status` and `message` of a refusal go to the client unchanged. */
export type Found<Value> = { readonly kind: 'found'; readonly value: Value } | { readonly kind: 'refused'; readonly status: number; readonly message: string };

export interface LogFile {
  readonly path: string;
  readonly containerId: string;
}

/** No operation fails: an error is `refused`. */
export interface NodeContainerOperations {
  readonly logs: Operation<ContainerAddress & { readonly previous: boolean }, Found<LogFile>>;
  readonly exec: Operation<ContainerAddress & StreamWishes & { readonly command: readonly string[] }, Found<StreamingSession>>;
  readonly attach: Operation<ContainerAddress & StreamWishes, Found<StreamingSession>>;
  readonly portForward: Operation<Omit<ContainerAddress, 'containerName'> & { readonly ports: readonly number[] }, Found<StreamingSession>>;
  /** A command to its end, with all it wrote. */
  readonly run: Operation<ContainerAddress & { readonly command: readonly string[] }, Found<ExecResult>>;
}
