// The operations of a container runtime that the agent uses, in five roles. Consumer-owned: the CRI is one possible implementation.
//
// For every operation: failure kinds are PortFailure's; `unavailable` means that the runtime can't be reached (the outcome of the
// request is unknown); `deadline-exceeded` that the answer is unknown. Calls may be cancelled: the runtime may still have completed them.
import type { ContainerConfig, ImageSpec } from '../model/container-config.js';
import type { RuntimeListing } from '../model/runtime-listing.js';
import type { PodRuntimeStatus } from '../model/runtime-status.js';
import type { LinuxContainerResources, SandboxConfig } from '../model/sandbox-config.js';
import type { Operation } from '../operation.js';

export interface RuntimeVersion {
  readonly runtimeName: string;
  readonly runtimeVersion: string;
  readonly runtimeApiVersion: string;
}

export interface RuntimeCondition {
  readonly status: boolean;
  readonly reason: string;
  readonly message: string;
}

export interface RuntimeHandler {
  readonly name: string;
  readonly recursiveReadOnlyMounts: boolean;
  readonly userNamespaces: boolean;
}

export interface RuntimeHealth {
  /** null: the runtime did not report the condition. */
  readonly runtimeReady: RuntimeCondition | null;
  readonly networkReady: RuntimeCondition | null;
  readonly handlers: readonly RuntimeHandler[];
  /** Whether it supports the Strict policy, which excludes groups of the image; null: not reported. */
  readonly supplementalGroupsPolicy: boolean | null;
}

/** Reads the runtime's state and configures the node's settings. Idempotent. */
export interface RuntimeStateOperations {
  readonly version: Operation<null, RuntimeVersion>;
  readonly status: Operation<null, RuntimeHealth>;
  /** The node's range of pod addresses, `10.0.0.0/24` or two with a comma: for runtimes that set up the network by themselves. */
  readonly updateConfig: Operation<{ readonly podCidr: string }, null>;
  /** Every pod of the runtime, or only that of one uid, by ids and states. */
  readonly listPods: Operation<{ readonly uid: string | null }, RuntimeListing>;
  /** Everything about one pod; null if the runtime doesn't have it. Omits objects that vanish between the list and the inspection. */
  readonly inspectPod: Operation<{ readonly uid: string }, PodRuntimeStatus | null>;
}

/** Sandboxes. `stop` and `remove` of an absent sandbox succeed; `remove` of a running one stops it and removes its containers. */
export interface SandboxOperations {
  /** Not idempotent: the name is reserved by (pod, attempt); a second run of the same is `already-exists` or `unknown`. */
  readonly run: Operation<{ readonly config: SandboxConfig; readonly runtimeHandler: string }, { readonly sandboxId: string }>;
  readonly stop: Operation<{ readonly sandboxId: string }, null>;
  readonly remove: Operation<{ readonly sandboxId: string }, null>;
  /** Updates the resources of the pod as a whole and the sandbox's overhead. Idempotent; `unimplemented` if a runtime doesn't support it. */
  readonly updateResources: Operation<{ readonly sandboxId: string; readonly resources: LinuxContainerResources; readonly overhead: LinuxContainerResources }, null>;
}

/** Containers. `stop` and `remove` of an absent container succeed; `stop` of an exited one does nothing. */
export interface ContainerOperations {
  readonly create: Operation<{ readonly sandboxId: string; readonly config: ContainerConfig; readonly sandboxConfig: SandboxConfig }, { readonly containerId: string }>;
  readonly start: Operation<{ readonly containerId: string }, null>;
  /** Sends the stop signal, and kills after `gracePeriodSeconds`. Answers when the container is down. */
  readonly stop: Operation<{ readonly containerId: string; readonly gracePeriodSeconds: number }, null>;
  readonly remove: Operation<{ readonly containerId: string }, null>;
  /** Updates the named resources of a created or running container; others stay unchanged. Idempotent; an absent container is `not-found`. */
  readonly updateResources: Operation<{ readonly containerId: string; readonly resources: LinuxContainerResources }, null>;
  /** Runs a command in a running container until it ends. `timeoutSeconds` 0: no limit in the runtime or the agent; `deadline-exceeded`: it took longer. */
  readonly execSync: Operation<{ readonly containerId: string; readonly command: readonly string[]; readonly timeoutSeconds: number }, ExecResult>;
  /** Reopens the log of a running container by its path; creates it if it was moved away. Idempotent; refused for a container that doesn't run. */
  readonly reopenLog: Operation<{ readonly containerId: string }, null>;
  /**
   * Writes the state of a running container into an archive at an absolute path, and lets it run on. `timeoutSeconds` 0 or less than the usual
   * time of a call: the usual time. Not idempotent; a runtime that can't is `unimplemented`.
   */
  readonly checkpoint: Operation<{ readonly containerId: string; readonly location: string; readonly timeoutSeconds: number }, null>;
}

/** Outputs may be cut after 16 KiB each. */
export interface ExecResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RuntimeImage {
  readonly id: string;
  readonly repoTags: readonly string[];
  readonly repoDigests: readonly string[];
  readonly sizeBytes: number;
  /** The image's default user; null if it names none. */
  readonly uid: number | null;
  readonly username: string;
  readonly pinned: boolean;
}

/** Credentials for one registry. They never reach logs or errors. */
export interface PullCredentials {
  readonly username: string;
  readonly password: string;
  readonly serverAddress: string;
  readonly identityToken: string;
  readonly registryToken: string;
}

export interface ImageOperations {
  /** The image as the runtime has it, or null. */
  readonly status: Operation<{ readonly image: ImageSpec }, RuntimeImage | null>;
  /** Returns the reference of the pulled image, usually a digest. */
  readonly pull: Operation<
    { readonly image: ImageSpec; readonly credentials: PullCredentials | null; readonly sandboxConfig: SandboxConfig | null },
    { readonly imageRef: string }
  >;
  readonly list: Operation<null, readonly RuntimeImage[]>;
  /** Succeeds for an absent image. */
  readonly remove: Operation<{ readonly image: ImageSpec }, null>;
  readonly fsInfo: Operation<null, readonly { readonly mountpoint: string; readonly usedBytes: number; readonly inodesUsed: number }[]>;
}
