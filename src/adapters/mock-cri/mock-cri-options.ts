// Options of a mock runtime: its socket, its features, and the behaviour of its containers.
import type { SimRuntimeOptions } from '../../sim/index.js';

export type MockCriProfile = 'containerd-1.6' | 'containerd-1.7' | 'containerd-2.0' | 'containerd-2.1' | 'cri-o';

export interface MockCriOptions extends SimRuntimeOptions {
  /** `unix:///path` or a path. */
  readonly listen: string;
  /** Seconds of the runtime in a second; 1 unless said otherwise. */
  readonly speed?: number;
  /** Whether GetContainerEvents is offered, as by containerd 2; else it is UNIMPLEMENTED, as by containerd 1.6. Offered unless said otherwise. */
  readonly offersEvents?: boolean;
  /** Whether lists come in parts, too (StreamContainers and its like); else that is UNIMPLEMENTED. Not offered unless said otherwise. */
  readonly offersListStreams?: boolean;
  /** What RuntimeConfig says; null: UNIMPLEMENTED, as by containerd before 2.0. */
  readonly cgroupDriver?: 'cgroupfs' | 'systemd' | null;
  /** How long a client of exec, attach or port-forward may take to make the streams that belong together; 30 s unless said otherwise. */
  readonly streamCreationMillis?: number;
  /** Sees each request as it came over the wire, before it is answered: `CreateContainer` and the message. For tests of what speaks to runtimes. */
  readonly observe?: (method: string, request: unknown) => void;
  /** What the runtime offers is as with one that there is; each option that is given besides wins. */
  readonly profile?: MockCriProfile;
}
