// Checkpointing a container on request: its state is written into an archive on the node, and it runs on.
import type { Operation } from '../operation.js';

export type CheckpointOutcome =
  | { readonly kind: 'done'; readonly path: string }
  | { readonly kind: 'no-pod' }
  /** The pod has no container of that name. */
  | { readonly kind: 'no-container' }
  /** `message` is the reason alone, in the words of the runtime where it gave one. */
  | { readonly kind: 'failed'; readonly message: string };

export interface CheckpointRequest {
  readonly namespace: string;
  readonly podName: string;
  readonly containerName: string;
  /** 0: the runtime's usual time. Less than the usual time of a call counts as that. */
  readonly timeoutSeconds: number;
}

export interface ContainerCheckpointOperations {
  /** Never fails. Two requests of one second for one container want one path: the runtime decides. */
  readonly checkpoint: Operation<CheckpointRequest, CheckpointOutcome>;
}
