// The node's system info: ids of the machine, versions, the kubelet's port, runtime handlers and features.

import type { NodeStatus } from '../../ports/model/node.js';
import type { RuntimeHandler } from '../../ports/outbound/container-runtime.js';
import { byCodeUnits } from '../values/text-order.js';

export interface MachineIds {
  readonly machineId: string;
  readonly systemUuid: string;
  readonly bootId: string;
  /** 0: none. */
  readonly swapBytes: number;
}

export interface Versions {
  /** `uname -r`; null: unknown. */
  readonly kernelVersion: string | null;
  readonly osRelease: OsRelease;
  /** Shown as `<name>://<version>`; null: the runtime did not report it. */
  readonly runtime: { readonly name: string; readonly version: string } | null;
  readonly kubeletVersion: string;
}

/** The text of os-release; null: no such file can be read. */
export type OsRelease = string | null;

/** The texts of nodeInfo that stay as long as the machine runs. Nodes without swap have no `swap`. */
export function withMachineIds(nodeInfo: NonNullable<NodeStatus['nodeInfo']>, ids: MachineIds | null): NonNullable<NodeStatus['nodeInfo']> {
  if (ids === null) return nodeInfo;
  const { machineId: machineID, systemUuid: systemUUID, bootId: bootID, swapBytes } = ids;
  const { swap: _old, ...rest } = nodeInfo;
  return { ...rest, machineID, systemUUID, bootID, ...(swapBytes > 0 ? { swap: { capacity: swapBytes } } : {}) };
}

export function versionInfo({ kernelVersion, osRelease, runtime, kubeletVersion }: Versions): Readonly<Record<string, string>> {
  return {
    kernelVersion: kernelVersion ?? 'Unknown',
    osImage: osImage(osRelease),
    containerRuntimeVersion: runtime === null ? 'Unknown' : `${runtime.name}://${runtimeVersion(runtime.version)}`,
    kubeletVersion,
    // Deprecated and no longer maintained; clients still expect the member.
    kubeProxyVersion: '',
  };
}

/** PRETTY_NAME of os-release(5), unquoted. */
export function osImage(osRelease: OsRelease): string {
  if (osRelease === null) return 'Unknown';
  const value = /^PRETTY_NAME=(.*)$/m.exec(osRelease)?.[1]?.trim();
  return value === undefined ? 'Linux' : value.replace(/^(["'])(.*)\1$/, '$2');
}

const semantic = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$/;

/** Without a leading `v`: a semantic version as it is, of others (as of packages, `1.6.20~ds1`) the dotted numbers alone; else `Unknown`. */
export function runtimeVersion(text: string): string {
  const version = text.trim().replace(/^v/, '');
  if (semantic.test(version)) return version;
  return /^\d+(\.\d+)+/.exec(version)?.[0] ?? 'Unknown';
}

/** Sorted by name, so that another order from the runtime doesn't change the status. The handler named '' is the default one. */
export function runtimeHandlersInOrder(handlers: readonly RuntimeHandler[]): NonNullable<NodeStatus['runtimeHandlers']> {
  return [...handlers]
    .sort((a, b) => byCodeUnits(a.name, b.name))
    .map(({ name, recursiveReadOnlyMounts, userNamespaces }) => ({ name, features: { recursiveReadOnlyMounts, userNamespaces } }));
}
