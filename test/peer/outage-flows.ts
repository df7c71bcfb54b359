// The node and the apiserver lose each other: the apiserver is gone, the lease is deleted, the kubelet is killed and the node counts as lost.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Test } from 'tap';
import type { Json } from './admin-client.js';
import { type Flow, flowPod, shell, waiting } from './flow.js';
import { lastingOf } from './node-state.js';
import { isGo, type PeerStand } from './peer-stand.js';
import { putManifest } from './static-pod-flow.js';

const leasePath = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/lab-node';
const outageMs = 60_000;
const withData = { volumeMounts: [{ name: 'data', mountPath: '/data' }] };

/** A file of the emptyDir `data` of a pod, as the host sees it. */
function dataFile(stand: PeerStand, uid: string, name: string): string {
  return join(stand.root, 'pods', uid, 'volumes/kubernetes.io~empty-dir/data', name);
}

async function withoutApiserver(t: Test, stand: PeerStand): Promise<void> {
  const crashes = shell('echo x >> /data/starts; sleep 5; exit 1', withData);
  await stand.create(
    flowPod('crashes', [crashes], { volumes: [{ name: 'data', emptyDir: {} }] }),
    flowPod('probed', [shell(waiting, { readinessProbe: { exec: { command: ['test', '!', '-e', '/tmp/sick'] }, periodSeconds: 1, timeoutSeconds: 20 } })]),
  );
  const { metadata } = await stand.untilPod('crashes', 'runs', (one) => one.status.phase === 'Running');
  await stand.ok(['wait', 'pod/probed', '--for=condition=Ready', '--timeout=240s']);
  const starts = (): number => readFileSync(dataFile(stand, metadata.uid, 'starts'), 'utf8').length / 2;
  const command = stand.apiserverCommand();
  const before = starts();
  await stand.stopApiserver();
  putManifest(stand, 'meanwhile', waiting);
  await delay(outageMs);
  t.ok(starts() > before, 'a container that crashes is started without the apiserver');
  stand.startApiserver(command);
  await stand.until('the apiserver is ready', async () => (await stand.client.api('GET', '/readyz')).status === 200);
  await stand.until('the lease is renewed', async () => Date.now() - Date.parse((await stand.client.get(leasePath)).spec.renewTime) < 15_000);
  await stand.untilPod('meanwhile-lab-node', 'has a mirror', (one) => one.status.phase === 'Running');
  const known = await stand.untilPod('crashes', 'shows its restarts', (one) => one.status.containerStatuses[0].restartCount >= starts() - 1);
  t.ok(known.status.containerStatuses[0].restartCount > 0);
  await stand.ok(['exec', 'probed', '--', 'touch', '/tmp/sick']);
  await stand.untilPod('probed', 'is not ready', (one) => one.status.containerStatuses[0].ready === false);
  rmSync(join(stand.manifests, 'meanwhile.yaml'));
  await stand.ok(['delete', 'pod', 'crashes', 'probed']);
  await stand.until('the mirror is gone', async () => (await stand.client.api('GET', '/api/v1/namespaces/default/pods/meanwhile-lab-node')).status === 404);
}

async function lease(t: Test, stand: PeerStand): Promise<void> {
  await stand.ok(['delete', 'lease', 'lab-node', '-n', 'kube-node-lease']);
  await stand.until('a deleted lease is made again', async () => (await stand.client.api('GET', leasePath)).status === 200);
  const tolerations = ['not-ready', 'unreachable'].map((key) => ({ key: `node.kubernetes.io/${key}`, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 1 }));
  await stand.create(
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'word' }, data: { word: 'one' } },
    flowPod('flees', [shell(waiting)], { tolerations }),
    flowPod('goes', [shell(waiting)]),
    flowPod('stays', [shell(waiting, { volumeMounts: [{ name: 'word', mountPath: '/word' }] })], { volumes: [{ name: 'word', configMap: { name: 'word' } }] }),
    flowPod('ends', [shell('while [ ! -e /data/end ]; do sleep 1; done; rm /data/end; exit 3', withData)], { volumes: [{ name: 'data', emptyDir: {} }] }),
  );
  for (const name of ['flees', 'goes', 'stays']) await stand.untilPod(name, 'runs', (one) => one.status.phase === 'Running');
  const ends = await stand.untilPod('ends', 'runs', (one) => one.status.phase === 'Running');
  const before = await lastingOf(stand);
  await stand.stop('SIGKILL');
  // While no kubelet runs: a container ends, a pod is deleted, a config map changes.
  writeFileSync(dataFile(stand, ends.metadata.uid, 'end'), '');
  await stand.ok(['delete', 'pod', 'goes', '--wait=false']);
  await stand.ok(['patch', 'configmap', 'word', '--patch', JSON.stringify({ data: { word: 'two' } })]);
  const ready = async (): Promise<string> => (await stand.client.get('/api/v1/nodes/lab-node')).status.conditions.find((one: Json) => one.type === 'Ready').status;
  await stand.until('the node counts as lost', async () => (await ready()) === 'Unknown');
  const fleeing = await stand.untilPod('flees', 'is asked to end', (one) => one.metadata.deletionTimestamp !== undefined);
  t.match(
    fleeing.status.conditions.find((one: Json) => one.type === 'DisruptionTarget'),
    { reason: 'DeletionByTaintManager' },
  );
  await stand.start();
  for (const name of ['flees', 'goes'])
    await stand.until(`${name}, which was to go, is gone`, async () => (await stand.client.api('GET', `/api/v1/namespaces/default/pods/${name}`)).status === 404);
  await stand.untilPod('stays', 'is ready again', (one) => one.status.conditions.some((condition: Json) => condition.type === 'Ready' && condition.status === 'True'));
  t.strictSame((await lastingOf(stand)).stays?.containers, before.stays?.containers, 'what runs was not touched');
  const ended = await stand.untilPod('ends', 'runs again', (one) => one.status.containerStatuses[0].restartCount === 1 && one.status.containerStatuses[0].ready);
  t.match(ended.status.containerStatuses[0].lastState.terminated, { exitCode: 3, reason: 'Error' });
  await stand.until('the changed config map arrives', async () => (await stand.ok(['exec', 'stays', '--', 'cat', '/word/word'])) === 'two');
  await stand.until('the node has no taints', async () => (await stand.client.get('/api/v1/nodes/lab-node')).spec.taints === undefined);
  await stand.ok(['delete', 'pod', 'stays', 'ends']);
  await stand.ok(['delete', 'node', 'lab-node']);
  // The Go kubelet registers it at its next start alone.
  if (isGo()) {
    await stand.stop();
    await stand.start();
  }
  await stand.until('a deleted node is registered again', async () => (await stand.client.api('GET', '/api/v1/nodes/lab-node')).status === 200);
}

export const outageFlows: readonly Flow[] = [
  { name: 'the apiserver is gone for a minute', run: withoutApiserver },
  { name: 'a lease is deleted; the kubelet is killed, the node counts as lost and comes back', run: lease },
];
