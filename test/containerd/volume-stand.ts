// A node of a cluster with the environment of every kind of volume: directories of the host, loop devices, a CSI driver as a process of its own, and claims
// bound as by a controller. All of it is removed when the test ends.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';
import type { Pod } from '../../src/ports/model/pod.js';
import { idOf, nodeName } from './kubelet-process.js';
import { type ClusterNode, clusterNode } from './test-node.js';

export const driver = 'csi.example.com';
const ctl = fileURLToPath(new URL('../../src/app/cli/kubelet-ctl.js', import.meta.url));
const blockBytes = 2 ** 20;
export const nodeAffinity = { required: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'Exists' }] }] } };

export interface VolumeStand extends ClusterNode {
  /** A directory of the host for the files of volumes, and of the driver. */
  readonly data: string;
  /** A directory there with a file `before` in it. */
  directory(name: string): string;
  /** A loop device of the host whose first line is `from-outside`; the driver has it as a volume of that name. */
  device(name: string): string;
  /** A claim bound to a volume of this source, of 1Gi unless `storage` says more. @param owner who controls the claim */
  claim(name: string, source: object, more?: ClaimOptions): Promise<void>;
  pod(name: string): Promise<Pod | null>;
  running(name: string): Promise<Pod>;
  /** A path as its container sees it. */
  inside(pod: Pod, path: string): string;
}

interface ClaimOptions {
  readonly spec?: object;
  readonly owner?: Pod;
  readonly storage?: string;
}

export async function volumeStand(t: Test, settings: object = {}): Promise<VolumeStand> {
  const node = await clusterNode(t);
  const { kubelet, containerd, admin, runtime } = node;
  const data = join(containerd.directory, 'data');
  mkdirSync(data);
  const devices: string[] = [];
  kubelet.configure({ syncFrequency: '2s', ...settings });
  const csi = startDriver(join(kubelet.root, 'plugins_registry'), data);
  t.teardown(async () => {
    await kubelet.kill();
    csi.kill('SIGKILL');
    for (const device of devices) execFileSync('losetup', ['--detach', device]);
  });
  const pod = async (name: string): Promise<Pod | null> => (await admin.get('pods', 'default', name)) as Pod | null;
  const csiSpec = { attachRequired: false, podInfoOnMount: true, volumeLifecycleModes: ['Persistent', 'Ephemeral'], fsGroupPolicy: 'File' };
  await kubelet.start();
  await kubelet.until('the node is there', async () => (await admin.get('nodes', null, nodeName)) !== null);
  await admin.create('csidrivers', null, { apiVersion: 'storage.k8s.io/v1', kind: 'CSIDriver', metadata: { name: driver }, spec: csiSpec } as never);
  await kubelet.until('the driver is registered', async () => {
    const found = (await admin.get('csinodes', null, nodeName)) as unknown as { spec: { drivers: readonly object[] } } | null;
    return (found?.spec.drivers.length ?? 0) > 0;
  });
  return {
    ...node,
    data,
    pod,
    directory(name) {
      const path = join(data, name);
      mkdirSync(path);
      writeFileSync(join(path, 'before'), 'from-outside\n');
      return path;
    },
    device(name) {
      const image = join(data, `${name}.file`);
      writeFileSync(image, 'from-outside\n');
      truncateSync(image, blockBytes);
      const device = execFileSync('losetup', ['--find', '--show', image], { encoding: 'utf8' }).trim();
      devices.push(device);
      symlinkSync(device, join(data, `${name}.device`));
      return device;
    },
    claim: (name, source, more = {}) => bind(node, name, source, more),
    async running(name) {
      await kubelet.until(`${name} runs`, async () => (await pod(name))?.status?.containerStatuses?.[0]?.state?.running != null);
      return (await pod(name)) as Pod;
    },
    inside: (of, path) => `/proc/${runtime.processes().get(idOf(of))}/root${path}`,
  };
}

function startDriver(plugins: string, data: string): ChildProcess {
  return spawn(process.execPath, [ctl, 'mock-csi', '--driver', driver, '--plugins', plugins, '--data', data], { stdio: 'ignore' });
}

async function bind({ admin }: ClusterNode, name: string, source: object, { spec = {}, owner, storage = '1Gi' }: ClaimOptions): Promise<void> {
  const [accessModes, capacity] = [['ReadWriteOnce'], { storage }];
  const claimSpec = { accessModes, resources: { requests: capacity }, volumeName: `pv-${name}`, ...spec };
  const { metadata: { name: podName, uid } = { name: '' } } = owner ?? {};
  const owned = owner === undefined ? {} : { ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: podName, uid, controller: true }] };
  const claim = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name, namespace: 'default', ...owned }, spec: claimSpec };
  const { metadata } = await admin.create('persistentvolumeclaims', 'default', claim as never);
  const claimRef = { namespace: 'default', name, uid: metadata.uid };
  const volume = { claimRef, capacity, accessModes, persistentVolumeReclaimPolicy: 'Retain', ...spec, ...source };
  await admin.create('persistentvolumes', null, { apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name: `pv-${name}` }, spec: volume } as never);
  await admin.patch('persistentvolumeclaims', 'default', name, { status: { phase: 'Bound', capacity } }, 'status');
}

/** Mount points below a directory. */
export function mountsBelow(path: string): string[] {
  return readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .flatMap((line) => (line.split(' ')[1]?.startsWith(`${path}/`) === true ? [line.split(' ')[1] as string] : []));
}
