// Settings of a simulated runtime's world: images, times, and the behaviour of containers. Plain data.
import type { Micros } from '../../ports/micros.js';

export interface SimImageEntry {
  readonly reference: string;
  readonly sizeBytes: number;
  /** References with the same content are one image; absent: its own. */
  readonly content?: string;
  /** Whether it is in the store initially. */
  readonly present?: boolean;
  readonly pinned?: boolean;
  readonly uid?: number;
  readonly username?: string;
  /** A pull without credentials is refused. */
  readonly needsCredentials?: boolean;
  /** A pull is refused unless it comes with one of these. */
  readonly accepts?: readonly { readonly username: string; readonly password: string }[];
  /** The script of its containers, unless the pod has one. */
  readonly script?: string;
}

/** Matches when every field given equals. */
export interface ScriptSelector {
  readonly namespace?: string;
  readonly podName?: string;
  readonly container?: string;
  readonly image?: string;
  readonly labels?: Readonly<Record<string, string>>;
}

export interface ScriptRule {
  readonly selector: ScriptSelector;
  readonly script: string;
}

/** The runtime's own latencies, without those of the container or the network. */
export interface SimLatencies {
  readonly look: Micros;
  readonly runSandbox: Micros;
  readonly createContainer: Micros;
  readonly startContainer: Micros;
  readonly stop: Micros;
  readonly remove: Micros;
  readonly pull: Micros;
  readonly exec: Micros;
}

export interface SimRuntimeOptions {
  readonly seed: number;
  readonly images?: readonly SimImageEntry[];
  /** Whether the registry has only the listed images, or any (with a size drawn for it). Hosts under `.invalid` never answer. */
  readonly registry?: 'any' | 'listed';
  readonly pullBytesPerSecond?: number;
  /** The first rule that matches counts; a pod's own annotation comes before them, an image's script after. */
  readonly scripts?: readonly ScriptRule[];
  readonly runtimeHandlers?: readonly string[];
  /** Whether its handlers can give a pod a user namespace; they can by default. */
  readonly userNamespaces?: boolean;
  /** Whether its handlers can make mounts below a read-only one read-only; they can by default. */
  readonly recursiveReadOnlyMounts?: boolean;
  /** Whether it supports the policy Strict of supplemental groups; null: not reported, as before containerd 2. Default true. */
  readonly supplementalGroupsPolicy?: boolean | null;
  /** Whether its status has handlers and their features; not before containerd 2. Default true. */
  readonly reportsHandlers?: boolean;
  readonly runtimeName?: string;
  /** Whether containers can be checkpointed, as with containerd 2 and CRIU; otherwise UNIMPLEMENTED, as with containerd 1.6. Default true. */
  readonly offersCheckpoints?: boolean;
  readonly latencies?: Partial<SimLatencies>;
}

/** Medians of containerd with an overlay snapshotter on a small machine, rounded. */
export const defaultLatencies: SimLatencies = {
  look: 1_000,
  runSandbox: 150_000,
  createContainer: 20_000,
  startContainer: 60_000,
  stop: 20_000,
  remove: 15_000,
  pull: 300_000,
  exec: 30_000,
};

export const defaultPullBytesPerSecond = 50_000_000;
