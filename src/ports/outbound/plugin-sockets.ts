// Sockets by which plugins (CSI drivers, device plugins, DRA drivers) ask to be registered: a plugin listens below `<root>/plugins_registry`, is
// asked what it is, and is told whether it was taken. A socket that is made anew is another one, whatever its path.
import type { Operation } from '../operation.js';

export interface PluginSocket {
  /** Absolute. */
  readonly path: string;
  /** Another one when the socket was made anew. */
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

/** Errors of a call are the plugin's own status codes; unavailable (nobody listens), deadline-exceeded. */
export interface PluginSocketOperations {
  /**
   * Makes the directory when it is absent, begins to watch it and all below it, and lists the sockets there, sorted by path; names that begin
   * with a dot are left out. `watched`: from now on a change is told by `PluginSocketsChanged`. Idempotent.
   */
  readonly scan: Operation<null, { readonly sockets: readonly PluginSocket[]; readonly watched: boolean }>;
  readonly info: Operation<{ readonly socket: string }, PluginInfo>;
  readonly notify: Operation<{ readonly socket: string; readonly registered: boolean; readonly error: string }, null>;
}

/** Something below the directory may have changed: whoever cares scans anew. */
export interface PluginSocketsChanged {
  readonly type: 'plugin-sockets-changed';
}
