// A daemon as a node of a cluster: the mock apiserver over HTTPS, the mock runtime, and everything of the daemon in between.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:tls';
import t from 'tap';
import { type MockApiserver, startMockApiserver } from '../../src/adapters/mock-apiserver/index.js';
import type { ApiObject } from '../../src/ports/model/api-object.js';
import type { Node } from '../../src/ports/model/node.js';
import type { Pod } from '../../src/ports/model/pod.js';
import { clusterPod } from '../support/pods.js';
import { holdsFor, until } from '../support/until.js';
import { AdminClient } from './admin-client.js';
import { phaseOf, Stage } from './stage.js';

interface Cluster {
  readonly stage: Stage;
  readonly server: MockApiserver;
  readonly admin: AdminClient;
}

const nodeUser = { commonName: 'system:node:n1', organizations: ['system:nodes'] };

async function cluster(t: { readonly teardown: (run: () => unknown) => unknown }, user: Parameters<MockApiserver['kubeconfig']>[0] = nodeUser): Promise<Cluster> {
  const stage = await Stage.open();
  const server = await startMockApiserver();
  t.teardown(async () => {
    await stage.close();
    await server.stop();
  });
  const path = join(stage.directory, 'kubelet.conf');
  writeFileSync(path, server.kubeconfig(user));
  stage.flags.push(`--kubeconfig=${path}`);
  const admin = new AdminClient(join(stage.directory, 'admin.conf'), server.kubeconfig());
  t.teardown(() => admin.close());
  return { stage, server, admin };
}

const isReady = (node: Node | null): boolean => node?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;

t.test('the node registers as it was told, gets ready, and its lease lives', async (t) => {
  const { stage, admin } = await cluster(t);
  stage.flags.push('--node-labels=team=a,node.kubernetes.io/pool=b', '--register-with-taints=k=v:NoSchedule', '--provider-id=mock://n1');
  const daemon = await stage.start();
  await until('the node is ready', async () => isReady((await admin.get('nodes', null, 'n1')) as Node | null));
  const node = (await admin.get('nodes', null, 'n1')) as Node;
  t.match(node.metadata.labels, { team: 'a', 'node.kubernetes.io/pool': 'b', 'kubernetes.io/hostname': 'n1', 'kubernetes.io/os': 'linux' });
  t.match(node.spec, { providerID: 'mock://n1' });
  t.ok(node.spec?.taints?.some(({ key, value, effect }) => key === 'k' && value === 'v' && effect === 'NoSchedule'));
  t.match(node.status?.nodeInfo, { kubeletVersion: /^v1\.36\./, operatingSystem: 'linux' });
  await until('it has a lease', async () => (await admin.get('leases', 'kube-node-lease', 'n1')) !== null);
  t.match(await admin.get('leases', 'kube-node-lease', 'n1'), {
    spec: { holderIdentity: 'n1', leaseDurationSeconds: 40 },
    metadata: { ownerReferences: [{ kind: 'Node', uid: node.metadata.uid }] },
  });
  await daemon.stop();
});

t.test('pods of the API run, report and go; a watcher sees no step back', async (t) => {
  const { stage, admin } = await cluster(t);
  const daemon = await stage.start();
  const seen = await admin.follow('pods', 'default');
  await admin.create('pods', 'default', clusterPod('a'));
  await until('a is ready', async () =>
    ((await admin.get('pods', 'default', 'a')) as Pod | null)?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True'),
  );
  t.equal(stage.running.length, 1);
  await admin.remove('pods', 'default', 'a');
  await until('it is gone from the API', async () => (await admin.get('pods', 'default', 'a')) === null);
  t.ok(stage.isIdle, 'and from the runtime before that');
  const phases = seen.map(({ type, object }) => `${type} ${(object as Pod).status?.phase ?? ''}`);
  const order = ['ADDED Pending', 'MODIFIED Pending', 'MODIFIED Running', 'MODIFIED Succeeded', 'MODIFIED Failed', 'DELETED Running', 'DELETED Succeeded', 'DELETED Failed'];
  t.same(
    phases.map((phase) => order.indexOf(phase)).toSorted((x, y) => x - y),
    phases.map((phase) => order.indexOf(phase)),
    phases.join(', '),
  );
  await admin.create('pods', 'default', clusterPod('b'));
  await until('b runs', () => phaseOf(daemon, 'b') === 'Running');
  await admin.remove('pods', 'default', 'b', 0);
  await until('a pod that is forced out of the API goes from the runtime, too', () => stage.isIdle);
  await daemon.stop();
});

t.test('static pods have mirror pods, which come back', async (t) => {
  const { stage, admin } = await cluster(t);
  stage.manifest('s.yaml', stage.pod('s'));
  const daemon = await stage.start();
  await until('the mirror pod runs', async () => ((await admin.get('pods', 'default', 's-n1')) as Pod | null)?.status?.phase === 'Running');
  const before = stage.running;
  const uid = (await admin.get('pods', 'default', 's-n1'))?.metadata.uid;
  await admin.remove('pods', 'default', 's-n1', 0);
  await until('there is another one', async () => {
    const mirror = await admin.get('pods', 'default', 's-n1');
    return mirror !== null && mirror.metadata.uid !== uid;
  });
  t.same(stage.running, before, 'nothing restarted');
  await daemon.stop();
});

t.test('the apiserver goes away and comes back: pods keep running, what changed is caught up with', async (t) => {
  const { stage, server, admin } = await cluster(t);
  const daemon = await stage.start();
  await admin.create('pods', 'default', clusterPod('a'));
  await until('a runs', () => phaseOf(daemon, 'a') === 'Running');
  const before = stage.running;
  await server.goDown();
  await holdsFor('the same containers run', 300, () => JSON.stringify(stage.running) === JSON.stringify(before));
  await server.comeBack();
  await admin.create('pods', 'default', clusterPod('b'));
  await until('b runs', () => phaseOf(daemon, 'b') === 'Running');
  t.ok(
    before.every((id) => stage.running.includes(id)),
    'nothing restarted',
  );
  await daemon.stop();
});

t.test('a restart of the agent: nothing restarts, nothing is reported backwards', async (t) => {
  const { stage, admin } = await cluster(t);
  const first = await stage.start();
  for (const name of ['stays', 'goes']) await admin.create('pods', 'default', clusterPod(name));
  await until('both run', async () => {
    const found = await Promise.all(['stays', 'goes'].map((name) => admin.get('pods', 'default', name)));
    return found.every((object) => (object as Pod | null)?.status?.phase === 'Running');
  });
  const before = stage.running;
  await first.stop();
  await admin.create('pods', 'default', clusterPod('comes'));
  await admin.remove('pods', 'default', 'goes');
  const seen = await admin.follow('pods', 'default');
  const second = await stage.start();
  await until('the new one runs and the other is gone', async () => phaseOf(second, 'comes') === 'Running' && (await admin.get('pods', 'default', 'goes')) === null);
  t.equal(stage.running.filter((id) => before.includes(id)).length, 1, 'the one that stays is the same container');
  const stays = seen.filter(({ object }) => object.metadata.name === 'stays').map(({ object }) => (object as Pod).status);
  t.ok(
    stays.every((status) => status?.phase === 'Running' && status.containerStatuses?.[0]?.ready === true),
    'no step back',
  );
  await second.stop();
});

t.test('another name than the certificate says: the server refuses, the agent says so and asks again', async (t) => {
  const { stage, admin } = await cluster(t, { commonName: 'system:node:other', organizations: ['system:nodes'] });
  stage.manifest('s.yaml', stage.pod('s'));
  const daemon = await stage.start();
  await until('a line says it', () => stage.log.find('is not allowed to modify node') ?? stage.log.find('forbidden'));
  await until('static pods run all the same', () => phaseOf(daemon, 's-n1') === 'Running');
  t.equal(await admin.get('nodes', null, 'n1'), null);
  await daemon.stop();
});

t.test('bootstrap with a token of the cluster', async (t) => {
  const { stage, server, admin } = await cluster(t, { kind: 'token', token: 'abcdef.0123456789abcdef' });
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'bootstrap-token-abcdef' }, type: 'bootstrap.kubernetes.io/token' };
  const data = { 'token-id': 'abcdef', 'token-secret': '0123456789abcdef', 'usage-bootstrap-authentication': 'true' };
  await admin.create('secrets', 'kube-system', { ...secret, stringData: data } as ApiObject);
  const bootstrap = join(stage.directory, 'bootstrap.conf');
  writeFileSync(bootstrap, server.kubeconfig({ kind: 'token', token: 'abcdef.0123456789abcdef' }));
  stage.flags.splice(0, stage.flags.length, `--kubeconfig=${join(stage.directory, 'new.conf')}`, `--bootstrap-kubeconfig=${bootstrap}`);
  stage.configurationMore = 'rotateCertificates: true\n';
  const daemon = await stage.start();
  await until('the node is ready', async () => isReady((await admin.get('nodes', null, 'n1')) as Node | null));
  const pem = join(stage.root, 'pki', 'kubelet-client-current.pem');
  t.ok(existsSync(pem));
  t.match(readFileSync(pem, 'utf8'), /BEGIN CERTIFICATE[\s\S]*BEGIN EC PRIVATE KEY/);
  await daemon.stop();
});

/** Whom a server shows itself as; null: the handshake fails. */
function shown(port: number): Promise<string | null> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false }, () => {
      resolve(socket.getPeerX509Certificate()?.subject ?? '');
      socket.destroy();
    });
    socket.once('error', () => resolve(null));
  });
}

t.test('a serving certificate that the cluster issues', async (t) => {
  const { stage } = await cluster(t);
  stage.configurationMore = 'serverTLSBootstrap: true\nenableServer: true\n';
  const daemon = await stage.start();
  await until('the certificate is shown', async () => (await shown(daemon.apiPort ?? 0)) !== null);
  t.match(await shown(daemon.apiPort ?? 0), /CN=system:node:n1/);
  t.ok(existsSync(join(stage.root, 'pki', 'kubelet-server-current.pem')));
  t.notOk(existsSync(join(stage.root, 'pki', 'kubelet.crt')));
  await daemon.stop();
  const again = await stage.start();
  t.match(await shown(again.apiPort ?? 0), /CN=system:node:n1/, 'and found again');
  await again.stop();
});

t.test('connections that are cut again and again: nothing restarts, and what comes meanwhile is caught up with', async (t) => {
  const { stage, server, admin } = await cluster(t);
  const daemon = await stage.start();
  await admin.create('pods', 'default', clusterPod('a'));
  await until('a runs', async () => ((await admin.get('pods', 'default', 'a')) as Pod | null)?.status?.phase === 'Running');
  const before = stage.running;
  for (let round = 0; round < 20; round++) {
    server.breakConnections();
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  t.same(stage.running, before, 'nothing restarts while every connection is cut again and again');
  await admin.create('pods', 'default', clusterPod('b'));
  await until('what comes meanwhile is caught up with', async () => ((await admin.get('pods', 'default', 'b')) as Pod | null)?.status?.phase === 'Running');
  t.ok(before.every((id) => stage.running.includes(id)));
  await daemon.stop();
});
