// A raw block volume of a CSI driver on a node of a cluster with a real containerd: a container reads and writes the device, the agent is killed in between,
// and nothing is left of mounts, links and loop devices. It takes loop devices of the host.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import type { Pod } from '../../src/ports/model/pod.js';
import { manifest, nodeName, scripted } from './kubelet-process.js';
import { skipWithoutContainerd } from './private-containerd.js';
import { clusterNode } from './test-node.js';

t.setTimeout(300_000);
const skip = skipWithoutContainerd() || (existsSync('/dev/loop-control') ? false : 'the host has no loop devices');
const driver = 'csi.example.com';
const script = 'read line < /dev/data; echo "inside $line" > /dev/data; sync; trap "exit 0" TERM; while :; do sleep 0.1; done';
const ctl = fileURLToPath(new URL('../../src/app/cli/kubelet-ctl.js', import.meta.url));

t.test('a container has the device of a driver’s volume', { skip }, async (t) => {
  const { kubelet, containerd, admin } = await clusterNode(t);
  const [plugins, data] = [join(kubelet.root, 'plugins_registry'), join(containerd.directory, 'csi-data')];
  mkdirSync(data);
  const image = join(data, 'image');
  writeFileSync(image, 'from-outside\n');
  truncateSync(image, 1024 * 1024);
  const device = execFileSync('losetup', ['--find', '--show', image], { encoding: 'utf8' }).trim();
  symlinkSync(device, join(data, 'h1.device'));
  const child = spawn(process.execPath, [ctl, 'mock-csi', '--driver', driver, '--plugins', plugins, '--data', data], { stdio: 'ignore' });
  t.teardown(async () => {
    await kubelet.kill();
    child.kill('SIGKILL');
    execFileSync('losetup', ['--detach', device]);
  });
  await kubelet.start();
  await admin.create('csidrivers', null, { apiVersion: 'storage.k8s.io/v1', kind: 'CSIDriver', metadata: { name: driver }, spec: { attachRequired: false } } as never);
  const accessModes = ['ReadWriteOnce'];
  const claim = { accessModes, volumeMode: 'Block', resources: { requests: { storage: '1Mi' } }, volumeName: 'pv' };
  const { metadata } = await admin.create('persistentvolumeclaims', 'default', {
    ...{ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name: 'c', namespace: 'default' } },
    spec: claim,
  } as never);
  const claimRef = { namespace: 'default', name: 'c', uid: metadata?.uid };
  const spec = { claimRef, capacity: { storage: '1Mi' }, accessModes, volumeMode: 'Block', persistentVolumeReclaimPolicy: 'Retain', csi: { driver, volumeHandle: 'h1' } };
  await admin.create('persistentvolumes', null, { apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name: 'pv' }, spec } as never);
  await admin.patch('persistentvolumeclaims', 'default', 'c', { status: { phase: 'Bound' } }, 'status');
  const pod = async () => (await admin.get('pods', 'default', 'a')) as Pod | null;
  const containers = [scripted(containerd, 'main', script, { volumeDevices: [{ name: 'd', devicePath: '/dev/data' }] })];
  const volumes = [{ name: 'd', persistentVolumeClaim: { claimName: 'c' } }];
  await admin.create('pods', 'default', manifest('a', { nodeName, automountServiceAccountToken: false, containers, volumes }) as Pod);

  await kubelet.until('it runs', async () => (await pod())?.status?.containerStatuses?.[0]?.state?.running != null);
  await kubelet.until('it has read and written', () => readFileSync(device).subarray(0, 20).toString('utf8') === 'inside from-outside\n');
  const held = () =>
    readdirSync('/sys/block').filter((name) => {
      const backing = `/sys/block/${name}/loop/backing_file`;
      return existsSync(backing) && readFileSync(backing, 'utf8').startsWith(kubelet.root);
    });
  t.equal(held().length, 1, 'the device is held');

  await kubelet.kill();
  await kubelet.start();
  const uid = (await pod())?.metadata.uid ?? '';
  await admin.remove('pods', 'default', 'a');
  await kubelet.until('the pod is gone', async () => (await pod()) === null && !existsSync(join(kubelet.root, 'pods', uid)));
  await kubelet.until('nothing is mounted', () => !readFileSync('/proc/self/mounts', 'utf8').includes(kubelet.root));
  t.strictSame(held(), []);
  await kubelet.until('its directories are gone', () => !existsSync(join(kubelet.root, 'plugins/kubernetes.io/csi/volumeDevices/pv')));
});
