// Options of a mock runtime: its socket, its features, and the behaviour of its containers.
import type { SimRuntimeOptions } from '../../sim/index.js';

export type MockCriProfile = 'containerd-1.6' | 'containerd-1.7' | 'containerd-2.0' | 'containerd-2.1' | 'cri-o';

export interface MockCriOptions extends SimRuntimeOptions {
  /** `unix:///path` or a path. */
  readonly listen: string;
  /** The runtime's seconds per second; default 1. */
  readonly speed?: number;
  /** Whether GetContainerEvents is supported, as by containerd 2; otherwise UNIMPLEMENTED, as by containerd 1.6. Default true. */
  readonly offersEvents?: boolean;
  /** Whether streamed lists are supported (StreamContainers and similar); otherwise UNIMPLEMENTED. Default false. */
  readonly offersListStreams?: boolean;
  /** The answer of RuntimeConfig; null: UNIMPLEMENTED, as by containerd before 2.0. */
  readonly cgroupDriver?: 'cgroupfs' | 'systemd' | null;
  /** How long a client of exec, attach or port-forward may take to create the streams that belong together; default 30 s. */
  readonly streamCreationMillis?: number;
  /** Receives each request from the wire, before its answer: `CreateContainer` and the message. For tests of CRI clients. */
  readonly observe?: (method: string, request: unknown) => void;
  /** The features of an existing runtime; other options take precedence. */
  readonly profile?: MockCriProfile;
}
