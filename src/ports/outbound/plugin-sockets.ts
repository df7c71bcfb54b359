// Sockets by which plugins (CSI drivers, device plugins, DRA drivers) register: a plugin listens below `<root>/plugins_registry`; the agent
// requests its info and notifies it of the result. A recreated socket is another socket, even at the same path.
import type { Operation } from '../operation.js';

export interface PluginSocket {
  /** Absolute. */
  readonly path: string;
  /** Changes when the socket is recreated. */
  readonly identity: string;
}

export interface PluginInfo {
  /** `CSIPlugin`, `DevicePlugin`, `DRAPlugin`. */
  readonly type: string;
  readonly name: string;
  /** The socket of the plugin's own service; '': this one. */
  readonly endpoint: string;
  readonly supportedVersions: readonly string[];
}

/** Errors of a call are the plugin's own status codes; unavailable (no process listens), deadline-exceeded. */
export interface PluginSocketOperations {
  /**
   * Creates the directory if it is absent, watches it recursively, and lists its sockets, sorted by path; skips names that begin
   * with a dot. `watched`: `PluginSocketsChanged` reports each later change. Idempotent.
   */
  readonly scan: Operation<null, { readonly sockets: readonly PluginSocket[]; readonly watched: boolean }>;
  readonly info: Operation<{ readonly socket: string }, PluginInfo>;
  readonly notify: Operation<{ readonly socket: string; readonly registered: boolean; readonly error: string }, null>;
}

/** Something below the directory may have changed: scan again. */
export interface PluginSocketsChanged {
  readonly type: 'plugin-sockets-changed';
}
