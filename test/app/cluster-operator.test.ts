// What operators do to a cluster under a running daemon: another apiserver with another authority, the Node deleted, a namespace deleted, a pod
// deleted and made again at once.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { type MockApiserver, startMockApiserver } from '../../src/adapters/mock-apiserver/index.js';
import type { ApiObject } from '../../src/ports/model/api-object.js';
import type { Pod } from '../../src/ports/model/pod.js';
import { clusterPod } from '../support/pods.js';
import { holdsFor, until } from '../support/until.js';
import { AdminClient } from './admin-client.js';
import { phaseOf, Stage } from './stage.js';

const nodeUser = { commonName: 'system:node:n1', organizations: ['system:nodes'] };

interface Files {
  readonly clusters: readonly [{ readonly cluster: Record<string, string> }];
  readonly users: readonly [{ readonly user: Record<string, string> }];
}

/** A kubeconfig whose authority and pair are files beside it. */
function writeFiles(server: MockApiserver, directory: string): string {
  const config = JSON.parse(server.kubeconfig(nodeUser)) as Files;
  const [{ cluster }] = config.clusters;
  const [{ user }] = config.users;
  for (const [holder, key] of [
    [cluster, 'certificate-authority'],
    [user, 'client-certificate'],
    [user, 'client-key'],
  ] as const) {
    const path = join(directory, `${key}.pem`);
    writeFileSync(path, Buffer.from(holder[`${key}-data`] ?? '', 'base64'));
    delete holder[`${key}-data`];
    holder[key] = path;
  }
  const path = join(directory, 'kubelet.conf');
  writeFileSync(path, JSON.stringify(config));
  return path;
}

async function running(admin: AdminClient, name: string, namespace = 'default'): Promise<boolean> {
  return ((await admin.get('pods', namespace, name)) as Pod | null)?.status?.phase === 'Running';
}

t.test('another apiserver at the same address, with another authority: said, and let in when the files are replaced', async (t) => {
  const stage = await Stage.open();
  const first = await startMockApiserver();
  stage.flags.push(`--kubeconfig=${writeFiles(first, stage.directory)}`);
  stage.manifest('s.yaml', stage.pod('s'));
  const daemon = await stage.start();
  await until('the static pod runs', () => phaseOf(daemon, 's-n1') === 'Running');
  const before = stage.running;
  const address = new URL(first.url).host;
  await first.stop();
  const second = await startMockApiserver({ bind: address });
  t.teardown(async () => {
    await stage.close();
    await second.stop();
  });
  await until('a line says it', () => stage.log.find('x509: certificate signed by unknown authority'));
  t.same(stage.running, before, 'nothing restarts');
  writeFiles(second, stage.directory);
  const admin = new AdminClient(join(stage.directory, 'admin.conf'), second.kubeconfig());
  t.teardown(() => admin.close());
  await until('it is let in as the node', () => second.api.audit.entries.some(({ user }) => user === 'system:node:n1'));
  // As the reference's: a Node that was registered is never made again by the same process.
  await daemon.stop();
  const next = await stage.start();
  await until('the next agent registers, and its mirror pod is there', () => running(admin, 's-n1'));
  t.same(stage.running, before, 'nothing restarted');
  await next.stop();
});

t.test('what is deleted under a node', async (t) => {
  const stage = await Stage.open();
  const server = await startMockApiserver();
  stage.flags.push(`--kubeconfig=${writeFiles(server, stage.directory)}`);
  const admin = new AdminClient(join(stage.directory, 'admin.conf'), server.kubeconfig());
  t.teardown(async () => {
    await stage.close();
    admin.close();
    await server.stop();
  });
  const daemon = await stage.start();
  await until('the node is there', async () => (await admin.get('nodes', null, 'n1')) !== null);

  await t.test('a pod that is deleted and made again under its name, five times', async (t) => {
    const uids = new Set<string>();
    for (let round = 0; round < 5; round++) {
      const created = await admin.create('pods', 'default', clusterPod('again'));
      uids.add(created.metadata.uid ?? '');
      // At once, while it starts, or when it runs.
      if (round % 2 === 1) await until('it starts', () => stage.containers.some(({ podUid }) => podUid === created.metadata.uid));
      if (round < 4) await admin.remove('pods', 'default', 'again', 0);
    }
    await until('the last one runs', () => running(admin, 'again'));
    await until('and it alone', () => stage.running.length === 1);
    const last = (await admin.get('pods', 'default', 'again'))?.metadata.uid;
    t.equal(uids.size, 5);
    t.same(
      stage.containers.filter(({ state }) => state === 'running').map(({ podUid }) => podUid),
      [last],
    );
    await admin.remove('pods', 'default', 'again');
    await until('it goes', async () => (await admin.get('pods', 'default', 'again')) === null && stage.isIdle);
  });

  await t.test('a namespace with pods', async (t) => {
    await admin.create('namespaces', null, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team' } } as ApiObject);
    for (const name of ['a', 'b']) await admin.create('pods', 'team', clusterPod(name, {}, 'team'));
    await until('both run', async () => (await running(admin, 'a', 'team')) && (await running(admin, 'b', 'team')));
    await admin.remove('namespaces', null, 'team');
    await until('the namespace is gone', async () => (await admin.get('namespaces', null, 'team')) === null);
    t.ok(stage.isIdle, 'and with it its containers, before');
  });

  await t.test('the Node while pods run', async (t) => {
    stage.manifest('s.yaml', stage.pod('s'));
    await until('the static pod runs', () => phaseOf(daemon, 's-n1') === 'Running');
    const before = stage.running;
    const uid = (await admin.get('nodes', null, 'n1'))?.metadata.uid;
    await admin.remove('nodes', null, 'n1');
    await holdsFor('static pods keep running', 500, () => JSON.stringify(stage.running) === JSON.stringify(before));
    await daemon.stop();
    const next = await stage.start();
    await until('the next agent registers it', async () => ![undefined, uid].includes((await admin.get('nodes', null, 'n1'))?.metadata.uid));
    await until('its mirror pod is there', () => running(admin, 's-n1'));
    t.same(stage.running, before, 'nothing restarted');
    await next.stop();
  });
});
