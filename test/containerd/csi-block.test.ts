// A raw block volume of a CSI driver on a node of a cluster with a real containerd: a container reads and writes the device, the agent is killed in between,
// and nothing is left of mounts, links and loop devices. It takes loop devices of the host.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { Pod } from '../../src/ports/model/pod.js';
import { manifest, nodeName, scripted } from './kubelet-process.js';
import { loopsBelow } from './leftovers.js';
import { skipWithoutContainerd } from './private-containerd.js';
import { driver, mountsBelow, volumeStand } from './volume-stand.js';

t.setTimeout(300_000);
const skip = skipWithoutContainerd() || (existsSync('/dev/loop-control') ? false : 'the host has no loop devices');
const script = 'read line < /dev/data; echo "inside $line" > /dev/data; sync; trap "exit 0" TERM; while :; do sleep 0.1; done';

t.test('a container has the device of a driver’s volume', { skip }, async (t) => {
  const { kubelet, containerd, admin, device, claim, pod, running } = await volumeStand(t);
  const raw = device('h1');
  await claim('c', { csi: { driver, volumeHandle: 'h1' } }, { spec: { volumeMode: 'Block' } });
  const containers = [scripted(containerd, 'main', script, { volumeDevices: [{ name: 'd', devicePath: '/dev/data' }] })];
  const volumes = [{ name: 'd', persistentVolumeClaim: { claimName: 'c' } }];
  await admin.create('pods', 'default', manifest('a', { nodeName, automountServiceAccountToken: false, containers, volumes }) as Pod);

  const { metadata } = await running('a');
  await kubelet.until('it has read and written', () => readFileSync(raw).subarray(0, 20).toString('utf8') === 'inside from-outside\n');
  t.equal(loopsBelow(kubelet.root).length, 1, 'the device is held');

  await kubelet.kill();
  await kubelet.start();
  await admin.remove('pods', 'default', 'a');
  await kubelet.until('the pod is gone', async () => (await pod('a')) === null && !existsSync(join(kubelet.root, 'pods', metadata.uid ?? '')));
  await kubelet.until('nothing is mounted', () => mountsBelow(kubelet.root).length === 0);
  t.strictSame(loopsBelow(kubelet.root), []);
  await kubelet.until('its directories are gone', () => !existsSync(join(kubelet.root, 'plugins/kubernetes.io/csi/volumeDevices/pv-c')));
});
