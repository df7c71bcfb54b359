// Static pods: their mirrors are deleted in every way, their manifests change and go, and a namespace comes after them.
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import type { Json } from './admin-client.js';
import { type Flow, flowPod, shell, waiting } from './flow.js';
import type { PeerStand } from './peer-stand.js';

/** Written whole at once, as tools that manage static pods do. */
export function putManifest(stand: PeerStand, name: string, script: string, metadata: object = {}): void {
  const staged = join(stand.directory, `${name}.staged`);
  writeFileSync(staged, JSON.stringify(flowPod(name, [shell(script)], {}, metadata)));
  renameSync(staged, join(stand.manifests, `${name}.yaml`));
}

async function staticPods(t: Test, stand: PeerStand): Promise<void> {
  putManifest(stand, 'fixed', `echo one; ${waiting}`);
  const mirror = 'fixed-lab-node';
  const runs = (one: Json): boolean => one.status.phase === 'Running' && one.metadata.deletionTimestamp === undefined;
  const first = await stand.untilPod(mirror, 'runs', runs);
  t.match(first.metadata, {
    annotations: { 'kubernetes.io/config.source': 'file', 'kubernetes.io/config.mirror': String },
    ownerReferences: [{ kind: 'Node', name: 'lab-node', controller: true }],
  });
  t.match(first.spec, { nodeName: 'lab-node', tolerations: [{ effect: 'NoExecute', operator: 'Exists' }] });
  const container = first.status.containerStatuses[0].containerID;
  let uid = first.metadata.uid;
  const isBack = async (way: string): Promise<void> => {
    const next = await stand.untilPod(mirror, `is there again after ${way}`, (one) => one.metadata.uid !== uid && runs(one));
    t.equal(next.status.containerStatuses[0].containerID, container, `the container was not touched by ${way}`);
    t.equal(next.status.containerStatuses[0].restartCount, 0);
    uid = next.metadata.uid;
  };
  for (const words of [[], ['--grace-period=0', '--force'], ['--now'], ['--cascade=orphan'], ['--cascade=foreground']]) {
    // kubectl itself would wait until the name is free, which it never is for long.
    await stand.ok(['delete', 'pod', mirror, '--wait=false', ...words]);
    await isBack(`delete ${words.join(' ')}`);
  }
  const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: mirror } };
  t.match(await stand.client.api('POST', `/api/v1/namespaces/default/pods/${mirror}/eviction`, eviction), { status: 201 });
  await isBack('an eviction');
  putManifest(stand, 'fixed', `echo two; ${waiting}`);
  await stand.untilPod(
    mirror,
    'is of the new manifest',
    (one) => runs(one) && one.status.containerStatuses[0].containerID !== container && one.spec.containers[0].command[2].includes('two'),
  );
  t.equal(await stand.ok(['logs', mirror]), 'two\n');
  rmSync(join(stand.manifests, 'fixed.yaml'));
  await stand.until('the mirror goes with the manifest', async () => (await stand.client.api('GET', `/api/v1/namespaces/default/pods/${mirror}`)).status === 404);
  putManifest(stand, 'early', waiting, { namespace: 'to-come' });
  await stand.until('it runs without its namespace', async () =>
    JSON.parse((await stand.client.kubelet('/pods')).text).items.some((one: Json) => one.metadata.name === 'early-lab-node' && one.status.phase === 'Running'),
  );
  await stand.ok(['create', 'namespace', 'to-come']);
  await stand.untilPod('early-lab-node', 'has a mirror once its namespace is there', runs, 'to-come');
  rmSync(join(stand.manifests, 'early.yaml'));
  await stand.ok(['delete', 'namespace', 'to-come', '--timeout=240s']);
}

export const staticPodFlow: Flow = { name: 'static pods: mirrors deleted in every way, changed manifests, a namespace that comes late', run: staticPods };
