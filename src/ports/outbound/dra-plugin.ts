// DRA drivers (`k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin`), by their listening sockets: a driver prepares the devices of a claim on this node
// before a container of the claim's pods starts, and unprepares them after the last one.
//
// Both calls are idempotent by the interface: a restarted agent repeats them. Each call has a connection of its own, since drivers are restarted. A
// driver's error has its status code as kind and the text `rpc error: code = <Code> desc = <text>`; any failure that the driver didn't answer is
// unavailable or deadline-exceeded.
import type { Operation } from '../operation.js';

export interface DraClaimName {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

export interface DraDevice {
  /** Requests of the claim that the device is for; empty: all. */
  readonly requestNames: readonly string[];
  readonly poolName: string;
  readonly deviceName: string;
  /** Names of the Container Device Interface: `vendor.example/class=device`. */
  readonly cdiDeviceIds: readonly string[];
  /** Which share of a device that several claims have; null: all of it. */
  readonly shareId: string | null;
}

export interface DraCall {
  /** The absolute path of the driver's socket. */
  readonly endpoint: string;
  readonly claims: readonly DraClaimName[];
}

export interface DraPluginOperations {
  /** By the claim's uid. `error` '': its devices are ready; a missing claim was omitted by the driver. */
  readonly prepare: Operation<DraCall, { readonly claims: ReadonlyMap<string, { readonly devices: readonly DraDevice[]; readonly error: string }> }>;
  /** By the claim's uid: '', or why it is not unprepared. A claim that the driver doesn't know is unprepared. */
  readonly unprepare: Operation<DraCall, { readonly claims: ReadonlyMap<string, string> }>;
}
