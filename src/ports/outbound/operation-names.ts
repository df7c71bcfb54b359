// The operations of every port by name: what decorators, failing adapters and fault plans go through. The compiler keeps it complete.
import type { OutboundOperations } from './outbound-ports.js';

type NamesOf<Operations> = Readonly<Record<keyof Operations, true>>;

export const operationNames: { readonly [Port in keyof OutboundOperations]: NamesOf<OutboundOperations[Port]> } = {
  runtime: { version: true, status: true, updateConfig: true, listPods: true, inspectPod: true },
  sandboxes: { run: true, stop: true, remove: true, updateResources: true },
  containers: { create: true, start: true, stop: true, remove: true, updateResources: true, execSync: true, reopenLog: true, checkpoint: true },
  images: { status: true, pull: true, list: true, remove: true, fsInfo: true },
  pullRecords: { list: true, read: true, write: true, remove: true },
  registryCredentials: { readNodeConfig: true, runPlugin: true },
  probing: { http: true, tcp: true, grpc: true },
  podDirectories: { prepare: true, prepareContainer: true, list: true, remove: true, writeHosts: true, writeUserNamespace: true, readUserNamespaces: true },
  podVolumes: { setUp: true, read: true, readFiles: true, write: true, tearDown: true, list: true },
  volumeMounts: { mount: true, unmount: true, setOwnership: true, ownershipProgress: true, references: true, hasLabels: true, survey: true },
  pluginSockets: { scan: true, info: true, notify: true },
  csiNode: { info: true, capabilities: true, stage: true, publish: true, unpublish: true, unstage: true, expand: true, stats: true },
  csiFiles: { prepare: true, read: true, staged: true, remove: true, prepareDevice: true, removeDevice: true },
  draPlugin: { prepare: true, unprepare: true },
  blockDevices: { mark: true, map: true, unmap: true, users: true },
  projectQuotas: { assign: true, clear: true, usage: true },
  podCertificateKeys: { generate: true },
  hostPaths: { inspect: true, make: true },
  subPaths: { look: true, compare: true, carryOut: true },
  podLogs: { nextRestartCount: true, link: true, removeContainerLogs: true, listDirectories: true, removeDirectory: true, removeDeadLinks: true },
  containerLogs: { measure: true, listRotated: true, discard: true, compress: true, rename: true, removeUnfinished: true },
  podCgroups: { ensure: true, set: true, destroy: true, exists: true, countProcesses: true, list: true },
  machine: { read: true, topology: true, addresses: true },
  stateFiles: { read: true, write: true },
  filesystemUsage: { usage: true },
  nodeStats: { summary: true },
  nodeShutdown: { inhibit: true, release: true, readRecord: true, writeRecord: true },
  events: { record: true },
  apiReader: { list: true, get: true, watch: true },
  apiWriter: { create: true, update: true, patch: true, delete: true },
};
