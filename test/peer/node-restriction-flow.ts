// What the apiserver's admission plugin NodeRestriction and its Node authorizer refuse, and what a kubelet does then.
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Test } from 'tap';
import { type Flow, flowPod, shell, waiting } from './flow.js';
import { lastingOf } from './node-state.js';
import type { PeerStand } from './peer-stand.js';

const notAnother = /"Unable to register node with API server, error getting existing node".*node 'lab-node' cannot read 'other', only its own Node object/;

async function restriction(t: Test, stand: PeerStand): Promise<void> {
  const kubelet = ['--kubeconfig', join(stand.directory, 'cluster/kubelet-lab-node.conf')];
  t.match(await stand.kubectl([...kubelet, 'create', '-f', '-'], flowPod('own', [shell(waiting)], { nodeName: 'lab-node' })), { code: 1, err: /can only create mirror pods/ });
  await stand.create(flowPod('stays', [shell(waiting)]));
  await stand.ok(['wait', 'pod', 'stays', '--for=condition=Ready', '--timeout=240s']);
  await stand.stop();
  stand.spawn(undefined, ['--node-labels=node-restriction.kubernetes.io/team=red']);
  t.equal(await stand.ended(), 1, 'labels that NodeRestriction reserves are refused at the start');
  t.match(stand.log('last'), /unknown 'kubernetes\.io' or 'k8s\.io' labels specified with --node-labels: \[node-restriction\.kubernetes\.io\/team\]/);
  const before = (await lastingOf(stand)).stays?.containers;
  stand.spawn(undefined, ['--hostname-override=other']);
  await stand.until('a node may not register as another', () => notAnother.test(stand.log('last')));
  // Without a list of its pods it must leave all alone.
  await delay(5_000);
  await stand.stop();
  await stand.start(undefined, ['--node-labels=team=red,topology.kubernetes.io/zone=z2']);
  t.strictSame((await lastingOf(stand)).stays?.containers, before, 'nothing was touched in the name of another node');
  const labelsNow = async (): Promise<Record<string, string>> => (await stand.client.get('/api/v1/nodes/lab-node')).metadata.labels;
  await stand.until('a label that the kubelet keeps right is changed', async () => (await labelsNow())['topology.kubernetes.io/zone'] === 'z2');
  const labels = await labelsNow();
  t.notOk('team' in labels, 'an existing Node gets no other labels');
  await stand.ok(['label', 'node', 'lab-node', 'node-restriction.kubernetes.io/team=blue']);
  await stand.stop();
  await stand.start();
  t.match((await stand.client.get('/api/v1/nodes/lab-node')).metadata.labels, { 'node-restriction.kubernetes.io/team': 'blue' }, 'what others set stays');
  const codes: readonly string[] = (await stand.client.kubelet('/metrics')).text.match(/(?<=^rest_client_requests_total\{code=")\d+/gm) ?? [];
  t.ok(codes.includes('200'));
  t.strictSame(
    codes.filter((code) => ['401', '403', '422'].includes(code)),
    [],
    'nothing was asked that is refused',
  );
  await stand.ok(['delete', 'pod', 'stays']);
}

export const restrictionFlow: Flow = { name: 'NodeRestriction: what is refused is not asked for', run: restriction };
