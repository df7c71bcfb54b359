// Which model answers each port of a simulated host. To add a port is to add its model here.
import type { SimHostSettings } from './host-options.js';
import type { HostModels } from './host-ports.js';
import type { SimHostState } from './host-state.js';
import { SimBlockDevices } from './sim-block-devices.js';
import { SimContainerLogs } from './sim-container-logs.js';
import { SimCsi } from './sim-csi.js';
import { type DiskUsers, SimDisk } from './sim-disk.js';
import { SimDra } from './sim-dra.js';
import { SimEventSink } from './sim-event-sink.js';
import { SimImageFiles } from './sim-image-files.js';
import { SimMachine } from './sim-machine.js';
import { SimNodeShutdown } from './sim-node-shutdown.js';
import { simPodCertificateKey } from './sim-pod-certificate-keys.js';
import { SimPodCgroups } from './sim-pod-cgroups.js';
import { SimPodDirectories } from './sim-pod-directories.js';
import { SimPodLogs } from './sim-pod-logs.js';
import { SimPodVolumes } from './sim-pod-volumes.js';
import { SimProjectQuotas } from './sim-project-quotas.js';
import { SimStateFiles } from './sim-state-files.js';
import { SimSubPaths } from './sim-sub-paths.js';
import { SimVolumeMounts } from './sim-volume-mounts.js';

/** Which model answers each port. The compiler keeps the table complete. */
export function hostModels(state: SimHostState, settings: SimHostSettings, users: DiskUsers) {
  const csi = new SimCsi(state, settings);
  const subPaths = new SimSubPaths(state, settings);
  const volumes = new SimPodVolumes(state, settings, subPaths);
  const imageFiles = new SimImageFiles(state);
  const disk = new SimDisk(state, users);
  const models = {
    podDirectories: new SimPodDirectories(state, settings),
    podVolumes: volumes,
    volumeMounts: new SimVolumeMounts(state, settings),
    pluginSockets: { scan: () => csi.scan(), info: (request) => csi.pluginInfo(request), notify: (request) => csi.notify(request) },
    csiNode: {
      info: (request) => csi.nodeInfo(request),
      capabilities: (request) => csi.capabilities(request),
      stage: (request) => csi.stage(request),
      publish: (request) => csi.publish(request),
      unpublish: (request) => csi.unpublish(request),
      unstage: (request) => csi.unstage(request),
      expand: (request) => csi.expand(request),
      stats: (request) => csi.stats(request),
    },
    csiFiles: {
      prepare: (request) => csi.prepare(request),
      read: (request) => csi.read(request),
      staged: () => csi.staged(),
      remove: (request) => csi.removeFiles(request),
      prepareDevice: (request) => csi.prepareDevice(request),
      removeDevice: (request) => csi.removeDevice(request),
    },
    draPlugin: new SimDra(state, csi),
    blockDevices: new SimBlockDevices(state, settings),
    projectQuotas: new SimProjectQuotas(state),
    podCertificateKeys: { generate: (request) => simPodCertificateKey(request, ++state.podCertificateKeys) },
    hostPaths: { inspect: (request) => volumes.inspectHostPath(request), make: (request) => volumes.makeHostPath(request) },
    subPaths,
    podLogs: new SimPodLogs(state, settings),
    containerLogs: new SimContainerLogs(state, settings),
    podCgroups: new SimPodCgroups(state, settings),
    machine: new SimMachine(state),
    stateFiles: new SimStateFiles(state),
    filesystemUsage: disk,
    nodeStats: disk,
    nodeShutdown: new SimNodeShutdown(state),
    events: new SimEventSink(state, settings),
    pullRecords: imageFiles,
    registryCredentials: { readNodeConfig: () => state.dockerConfig, runPlugin: (request) => imageFiles.runPlugin(request) },
  } satisfies HostModels;
  return { csi, imageFiles, models };
}
