// A CSI driver on a node of a cluster with a real containerd: it registers, binds a directory into a pod that reads and writes it, and driver and agent are
// killed in between.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import type { Pod } from '../../src/ports/model/pod.js';
import { manifest, nodeName, scripted } from './kubelet-process.js';
import { skipWithoutContainerd } from './private-containerd.js';
import { clusterNode } from './test-node.js';

t.setTimeout(300_000);
const skip = skipWithoutContainerd();
const driver = 'csi.example.com';
const script = 'cat /d/before > /d/after; echo from-inside >> /d/after; trap "exit 0" TERM; while :; do sleep 0.1; done';
const ctl = fileURLToPath(new URL('../../src/app/cli/kubelet-ctl.js', import.meta.url));
const bound = { claimRef: { namespace: 'default', name: 'c' }, capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], persistentVolumeReclaimPolicy: 'Retain' };

/** The driver as a process of its own, which can be killed. */
function startDriver(t: Test, plugins: string, data: string): ChildProcess {
  const child = spawn(process.execPath, [ctl, 'mock-csi', '--driver', driver, '--plugins', plugins, '--data', data], { stdio: 'ignore' });
  t.teardown(() => child.kill('SIGKILL'));
  return child;
}

t.test('a volume of a driver in a running pod, with driver and agent killed', { skip }, async (t) => {
  const { kubelet, containerd, admin } = await clusterNode(t);
  await kubelet.start();
  const [plugins, data] = [join(kubelet.root, 'plugins_registry'), join(containerd.directory, 'csi-data')];
  mkdirSync(join(data, 'h1'), { recursive: true });
  writeFileSync(join(data, 'h1/before'), 'from-outside\n');
  await admin.create('csidrivers', null, { apiVersion: 'storage.k8s.io/v1', kind: 'CSIDriver', metadata: { name: driver }, spec: { attachRequired: false } } as never);
  const claim = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name: 'c', namespace: 'default' } };
  const resources = { requests: { storage: '1Gi' } };
  const { metadata } = await admin.create('persistentvolumeclaims', 'default', { ...claim, spec: { accessModes: ['ReadWriteOnce'], resources, volumeName: 'pv' } } as never);
  const spec = { ...bound, claimRef: { ...bound.claimRef, uid: metadata?.uid }, csi: { driver, volumeHandle: 'h1' } };
  await admin.create('persistentvolumes', null, { apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name: 'pv' }, spec } as never);
  await admin.patch('persistentvolumeclaims', 'default', 'c', { status: { phase: 'Bound' } }, 'status');
  const pod = async () => (await admin.get('pods', 'default', 'a')) as Pod | null;
  const containers = [scripted(containerd, 'main', script, { volumeMounts: [{ name: 'd', mountPath: '/d' }] })];
  const volumes = [{ name: 'd', persistentVolumeClaim: { claimName: 'c' } }];
  await admin.create('pods', 'default', manifest('a', { nodeName, automountServiceAccountToken: false, containers, volumes }) as Pod);
  const said = () =>
    kubelet.logLines().some((line) => line.msg === 'Event occurred' && String(line.message).includes(`driver name ${driver} not found in the list of registered CSI drivers`));
  await kubelet.until('what is missing is said', said);
  t.match((await pod())?.status?.containerStatuses?.[0]?.state?.waiting, { reason: 'ContainerCreating' });

  const first = startDriver(t, plugins, data);
  await kubelet.until('it runs', async () => (await pod())?.status?.containerStatuses?.[0]?.state?.running != null);
  await kubelet.until('it has written', () => existsSync(join(data, 'h1/after')) && readFileSync(join(data, 'h1/after'), 'utf8').includes('from-inside'));
  t.equal(readFileSync(join(data, 'h1/after'), 'utf8'), 'from-outside\nfrom-inside\n');
  t.match(((await admin.get('csinodes', null, nodeName)) as unknown as { spec: object }).spec, { drivers: [{ name: driver, nodeID: 'mock-node' }] });

  first.kill('SIGKILL');
  await kubelet.kill();
  await kubelet.start();
  startDriver(t, plugins, data);
  const uid = (await pod())?.metadata.uid ?? '';
  await admin.remove('pods', 'default', 'a');
  await kubelet.until('the pod is gone', async () => (await pod()) === null && !existsSync(join(kubelet.root, 'pods', uid)));
  await kubelet.until('nothing is mounted', () => !readFileSync('/proc/self/mounts', 'utf8').includes(kubelet.root));
  t.equal(readFileSync(join(data, 'h1/after'), 'utf8'), 'from-outside\nfrom-inside\n', 'the data stays');
});
