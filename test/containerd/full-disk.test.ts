// The disk of the agent's own directory is full: operations that need space report it, existing data stays complete, other pods run and start, and with
// free space again everything succeeds.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { Pod } from '../../src/ports/model/pod.js';
import type { Volume } from '../../src/ports/model/volume.js';
import { idOf, manifest, nodeName, pausing } from './kubelet-process.js';
import { skipWithoutContainerd } from './private-containerd.js';
import { clusterNode } from './test-node.js';

t.setTimeout(240_000);
const skip = skipWithoutContainerd();
const large = 300_000;

const mapOf = (name: string, of: string, bytes: number) =>
  ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'default' }, data: { version: of, body: of.repeat(bytes) } }) as never;

t.test('the disk is full', { skip, timeout: 240_000 }, async (t) => {
  const node = await clusterNode(t);
  const { kubelet, containerd, admin, runtime } = node;
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'full-disk', kubelet.root]);
  const filler = join(kubelet.root, 'filler');
  /** @param left blocks that stay free */
  const fill = (left: number): void => {
    const { bavail, bsize } = statfsSync(kubelet.root);
    writeFileSync(filler, Buffer.alloc(Math.max(0, bavail - left) * bsize));
  };
  const pod = async (name: string) => (await admin.get('pods', 'default', name)) as Pod | null;
  const isRunning = async (name: string) => (await pod(name))?.status?.containerStatuses?.[0]?.state?.running != null;
  const make = async (name: string, volumes: readonly Volume[]) => {
    const volumeMounts = volumes.map((volume) => ({ name: volume.name, mountPath: `/${volume.name}` }));
    const containers = [{ ...pausing(containerd), volumeMounts }];
    await admin.create('pods', 'default', manifest(name, { nodeName, automountServiceAccountToken: false, containers, volumes }) as Pod);
  };
  const said = (name: string, reason: string) =>
    kubelet.logLines().flatMap((line) => (line.msg === 'Event occurred' && line.object === `default/${name}` && line.reason === reason ? [String(line.message)] : []));
  const config = (name: string): Volume => ({ name: 'config', configMap: { name } });
  const directoryOf = async (name: string) => join(kubelet.root, 'pods', (await pod(name))?.metadata.uid ?? '');
  const generations = async (name: string) => {
    const directory = join(await directoryOf(name), 'volumes/kubernetes.io~configmap/config');
    return readdirSync(directory).filter((entry) => entry.startsWith('..2'));
  };

  await kubelet.start();
  await kubelet.until('the node is there', async () => (await admin.get('nodes', null, nodeName)) !== null);
  await admin.create('configmaps', 'default', mapOf('first', 'a', large));
  await make('first', [config('first')]);
  await kubelet.until('it runs', () => isRunning('first'));
  const inside = async (path: string) => readFileSync(`/proc/${runtime.processes().get(idOf((await pod('first')) as Pod))}/root${path}`, 'utf8');

  fill(4);
  await admin.create('configmaps', 'default', mapOf('second', 'b', large));
  await make('second', [config('second')]);
  await kubelet.until('it says that there is no room', () => said('second', 'FailedMount').length > 0);
  t.match(said('second', 'FailedMount')[0], /^MountVolume\.SetUp failed for volume "config" : .*no space left on device/);
  t.match((await pod('second'))?.status?.containerStatuses?.[0]?.state?.waiting, { reason: 'ContainerCreating' });
  await admin.patch('configmaps', 'default', 'first', { data: { version: 'c', body: 'c'.repeat(large) } });
  await kubelet.until('the update says so, too', () => said('first', 'FailedMount').length > 0);
  t.strictSame([await inside('/config/version'), await inside('/config/body')], ['a', 'a'.repeat(large)], 'what is shown stays whole');
  t.strictSame([(await generations('first')).length, await generations('second')], [1, []], 'nothing half written is left');
  await make('third', [{ name: 'work', emptyDir: { medium: 'Memory' } }]);
  await kubelet.until('a pod that needs no room there starts', () => isRunning('third'));

  await kubelet.kill();
  rmSync(filler);
  fill(0);
  await kubelet.start();
  await kubelet.until('the update is tried again', () => said('first', 'FailedMount').length > 1);
  t.equal(await inside('/config/version'), 'a', 'an agent that starts without any room at all leaves what runs as it is');
  t.strictSame([await isRunning('first'), await isRunning('third')], [true, true]);

  rmSync(filler);
  await kubelet.until('the one that waited runs', () => isRunning('second'));
  await kubelet.until('the update is there', async () => (await inside('/config/version')) === 'c');
  t.equal(await inside('/config/body'), 'c'.repeat(large));
  t.strictSame([(await generations('first')).length, (await generations('second')).length], [1, 1]);
  t.strictSame([said('third', 'FailedMount'), (await pod('first'))?.status?.containerStatuses?.[0]?.restartCount], [[], 0], 'the others were not touched');
  for (const name of ['first', 'second', 'third']) {
    const directory = await directoryOf(name);
    await admin.remove('pods', 'default', name);
    await kubelet.until(`${name} is gone`, async () => (await pod(name)) === null && !existsSync(directory));
  }
});
