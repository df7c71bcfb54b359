// Evictions on a real containerd and a real disk: pods that exceed their limits, and a node that is short of memory. The containers' real writes
// are measured; an event, a status and a condition report the evicted pod; no other pod is affected.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { Node } from '../../src/ports/model/node.js';
import type { Pod } from '../../src/ports/model/pod.js';
import { manifest, nodeName, scripted } from './kubelet-process.js';
import { skipWithoutContainerd } from './private-containerd.js';
import { clusterNode } from './test-node.js';

t.setTimeout(400_000);
const forever = 'trap "exit 0" TERM; while :; do sleep 0.1; done';
const write = (path: string, kib: number): string => `dd if=/dev/zero of=${path} bs=1024 count=${kib} 2>/dev/null; ${forever}`;

t.test('pods that use more of the disk than they may, and a node under pressure', { skip: skipWithoutContainerd() }, async (t) => {
  const { kubelet, containerd, admin, runtime } = await clusterNode(t);
  kubelet.configure({ volumeStatsAggPeriod: '2s' });
  await kubelet.start();
  await kubelet.until('the node is there', async () => (await admin.get('nodes', null, nodeName)) !== null);
  const pod = async (name: string) => (await admin.get('pods', 'default', name)) as Pod | null;
  const make = async (name: string, script: string, container: object = {}, volumes: object[] = []): Promise<void> => {
    const containers = [scripted(containerd, 'main', script, container)];
    await admin.create('pods', 'default', manifest(name, { nodeName, automountServiceAccountToken: false, containers, volumes, terminationGracePeriodSeconds: 600 }) as Pod);
  };
  const failed = async (name: string): Promise<Pod> => {
    await kubelet.until(`${name} has failed`, async () => (await pod(name))?.status?.phase === 'Failed');
    return (await pod(name)) as Pod;
  };
  const mount = { volumeMounts: [{ name: 'v', mountPath: '/v' }] };
  const volume = (medium: object) => [{ name: 'v', emptyDir: { sizeLimit: '1Mi', ...medium } }];
  const limit = { resources: { limits: { 'ephemeral-storage': '2Mi' } } };
  await make('modest', write('/v/f', 900), { ...mount, ...limit }, volume({}));
  await make('volume', write('/v/f', 1_100), mount, volume({}));
  await make('layer', write('/f', 3_000), limit);

  const ofVolume = await failed('volume');
  t.match(ofVolume.status, { reason: 'Evicted', message: 'Usage of EmptyDir volume "v" exceeds the limit "1Mi". ' });
  const ofLayer = await failed('layer');
  t.match(ofLayer.status, { reason: 'Evicted', message: 'Pod ephemeral local storage usage exceeds the total limit of containers 2Mi. ' });
  for (const gone of [ofVolume, ofLayer]) {
    const uid = gone.metadata.uid ?? '';
    t.notOk(
      gone.status?.conditions?.some(({ type }) => type === 'DisruptionTarget'),
      'its own doing',
    );
    await kubelet.until('its containers are gone', async () => (await runtime.containers()).every(({ labels }) => labels['io.kubernetes.pod.uid'] !== uid));
    await kubelet.until('what it wrote is gone', () => !existsSync(join(kubelet.root, 'pods', uid, 'volumes/kubernetes.io~empty-dir/v')));
  }
  t.equal((await pod('modest'))?.status?.phase, 'Running');
  const said = kubelet.logLines().filter((line) => line.msg === 'Event occurred' && line.reason === 'Evicted');
  t.strictSame(said.map((line) => line.object).sort(), ['default/layer', 'default/volume'], 'each once');

  await kubelet.stop();
  kubelet.configure({ volumeStatsAggPeriod: '2s', evictionHard: { 'memory.available': '900Ti' } });
  await kubelet.start();
  const last = await failed('modest');
  t.equal(last.status?.reason, 'Evicted');
  t.match(
    last.status?.message,
    /^The node was low on resource: memory\. Threshold quantity: 900Ti, available: \d+Ki\. (Container main was using \d+Ki, request is 0, has larger consumption of memory\. )?$/,
  );
  t.match(
    last.status?.conditions?.find(({ type }) => type === 'DisruptionTarget'),
    { status: 'True', reason: 'TerminationByKubelet', message: last.status?.message },
  );
  const condition = async () => ((await admin.get('nodes', null, nodeName)) as Node | null)?.status?.conditions?.find(({ type }) => type === 'MemoryPressure');
  await kubelet.until('the Node says so', async () => (await condition())?.status === 'True');
  t.match(await condition(), { reason: 'KubeletHasInsufficientMemory', message: 'kubelet has insufficient memory available' });
  await make('late', forever);
  t.match((await failed('late')).status, { reason: 'Evicted', message: 'Pod was rejected: The node had condition: [MemoryPressure]. ' });
});
