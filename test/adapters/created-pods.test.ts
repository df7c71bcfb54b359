// How inspections of a pod save lists: the ids of the last list are trusted until something is created in the pod.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { CreatedPods } from '../../src/adapters/cri/created-pods.js';
import { CriConnection } from '../../src/adapters/cri/index.js';
import { startMockCri } from '../../src/adapters/mock-cri/index.js';
import { call } from '../ports/container-runtime.contract.js';
import { portsOf } from '../ports/cri-harness.js';
import { fullSandbox as sandbox } from './full-configurations.js';

const busybox = { reference: 'docker.io/library/busybox:1', sizeBytes: 4_000_000, present: true };
const directory = mkdtempSync(join(tmpdir(), 'kubelet-ts-created-'));
t.teardown(() => rmSync(directory, { recursive: true }));

t.test('a look right after a list takes the ids from it, unless something was created in that pod since', async (t) => {
  const calls: string[] = [];
  const server = await startMockCri({ listen: join(directory, 'cri.sock'), seed: 1, images: [busybox] });
  let now = 0;
  const created = new CreatedPods(() => now++);
  const connection = new CriConnection({ endpoint: server.endpoint, requestTimeoutMicros: 10_000_000, created, observe: ({ operationType }) => calls.push(operationType) });
  const { ports } = portsOf(connection);
  const pod = (uid: string) => ({ ...sandbox, metadata: { ...sandbox.metadata, uid }, labels: { 'io.kubernetes.pod.uid': uid }, linux: {} });
  const run = async (uid: string) => (await ports.sandboxes.run({ config: pod(uid), runtimeHandler: '' }, call())).sandboxId;
  const look = async (uid: string) => {
    calls.length = 0;
    const status = await ports.runtime.inspectPod({ uid }, call());
    return [status?.sandboxes.length ?? null, status?.containers.length ?? null, [...calls].sort()];
  };
  const sandboxId = await run('u');
  t.strictSame(await look('u'), [1, 0, ['list_containers', 'list_podsandbox', 'podsandbox_status']], 'no list yet');
  await ports.runtime.listPods({ uid: null }, call());
  t.strictSame(await look('u'), [1, 0, ['podsandbox_status']]);
  now += 1_000;
  t.strictSame(await look('u'), [1, 0, ['list_containers', 'list_podsandbox', 'podsandbox_status']], 'the list is too old');
  await ports.runtime.listPods({ uid: null }, call());
  t.strictSame(await look('nobody'), [null, null, []]);
  const config = { metadata: { name: 'c', attempt: 0 }, image: { image: busybox.reference }, labels: { 'io.kubernetes.pod.uid': 'u' }, annotations: {}, logPath: '' };
  await ports.containers.create({ sandboxId, config, sandboxConfig: pod('u') }, call());
  t.strictSame(await look('u'), [1, 1, ['container_status', 'list_containers', 'list_podsandbox', 'podsandbox_status']], 'a container was created since');
  const other = await run('v');
  t.strictSame(await look('v'), [1, 0, ['list_containers', 'list_podsandbox', 'podsandbox_status']], 'a sandbox was');
  await ports.runtime.listPods({ uid: null }, call());
  await ports.sandboxes.remove({ sandboxId: other }, call());
  t.strictSame(await look('v'), [null, null, ['podsandbox_status']], 'what was removed is found gone');
  connection.close();
  await server.stop();
});

t.test('notes of creations', async (t) => {
  let now = 0;
  const created = new CreatedPods(() => now);
  t.ok(created.isCompleteFor('a', 0));
  now = 5;
  let finish = () => {};
  const creation = created.during(
    'a',
    () =>
      new Promise<void>((resolve) => {
        finish = resolve;
      }),
  );
  t.notOk(created.isCompleteFor('a', 5), 'asked for in the same moment');
  t.ok(created.isCompleteFor('a', 6), 'a list after the start may miss it, but then it is not answered yet');
  t.ok(created.isCompleteFor('b', 5));
  now = 7;
  finish();
  await creation;
  t.notOk(created.isCompleteFor('a', 6));
  t.ok(created.isCompleteFor('a', 8));
  await t.rejects(
    created.during('b', () => Promise.reject(new Error('lost'))),
    /lost/,
  );
  t.notOk(created.isCompleteFor('b', 7), 'a failure may have created it all the same');
  now = 1_008;
  t.notOk(created.isCompleteFor('c', 8), 'too old');
});
