// The daemon as a process of its own with an apiserver that calls itself v1.20 and lacks later features: the node is ready, pods run, start and end, and
// a log line reports each missing feature.
import t from 'tap';
import type { ApiObject } from '../../src/ports/model/api-object.js';
import { until } from '../support/until.js';
import { ClusterStage, nodeUser } from './cluster-stage.js';
import { Program } from './programs.js';

t.setTimeout(180_000);

const without = [
  'leases.coordination.k8s.io',
  'runtimeclasses.node.k8s.io',
  'csidrivers.storage.k8s.io',
  'csinodes.storage.k8s.io',
  'volumeattachments.storage.k8s.io',
  'clustertrustbundles.certificates.k8s.io',
  'certificatesigningrequests.certificates.k8s.io',
  'resourceclaims.resource.k8s.io',
  'resourceslices.resource.k8s.io',
  'deviceclasses.resource.k8s.io',
];

t.test('a server of v1.20', async (t) => {
  // Without leases the status alone shows that the node is alive.
  const place = await ClusterStage.open(t, { version: 'v1.20.15', settings: { without, auditLimit: 100_000 } });
  const { stage } = place;
  stage.manifest('s.yaml', stage.pod('s'));
  const program = new Program('kubelet-ts', stage.words(stage.root, 'nodeStatusUpdateFrequency: 1s\nnodeStatusReportFrequency: 1s\nrotateCertificates: true\n'));
  const says = (text: RegExp) => until(`a line says ${String(text)}`, () => text.test(program.err));
  try {
    await until('its node is there', async () => (await place.node()) !== null);
    await until('and ready', async () => (await place.condition('Ready'))?.status === 'True');
    await place.createPod('a');
    await place.untilReady('a');
    await until('the mirror pod of the static one is ready', async () => (await place.pod('s-n1'))?.status?.phase === 'Running');
    await says(/Failed to ensure lease exists, will retry.*the server could not find the requested resource/);
    await says(/Failed to list.*runtimeclasses.*the server could not find the requested resource/);
    // A pod that waits for a missing feature delays no other.
    const containers = [{ name: 'c', image: 'busybox', volumeMounts: [{ name: 'v', mountPath: '/v' }] }];
    const spec = { nodeName: 'n1', automountServiceAccountToken: false, containers, volumes: [{ name: 'v', csi: { driver: 'd.example.com' } }] };
    await place.admin.create('pods', 'default', { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'waits', namespace: 'default' }, spec } as ApiObject);
    await says(/Failed to initialize CSINode.*the server could not find the requested resource/);
    await until('its event names the driver', () => [...place.server.api.store.all('events')].some(({ message }) => /d\.example\.com not found/.test(String(message))));
    const heartbeat = (await place.condition('Ready'))?.lastHeartbeatTime ?? '';
    await until('its status goes on', async () => ((await place.condition('Ready'))?.lastHeartbeatTime ?? '') > heartbeat);
    await place.createPod('b');
    await place.untilReady('b');
    t.equal(stage.running.length, 3);
    await place.admin.remove('pods', 'default', 'a');
    await until('a pod ends', async () => (await place.pod('a')) === null);
    t.equal(stage.running.length, 2);
  } catch (error) {
    t.fail(error instanceof Error ? error.message : String(error), { said: program.err.split('\n').slice(-30) });
  }
  program.kill('SIGTERM');
  t.equal(await program.end(), 0);
  const asked = place.server.api.audit.entries.filter(({ user, code }) => user === nodeUser.name && code === 404);
  const seconds = ((asked.at(-1)?.at ?? 0) - (asked[0]?.at ?? 0)) / 1_000_000;
  t.ok(asked.length > 0 && asked.length < 40 + 2 * seconds, `what is not there was asked for ${asked.length} times in ${seconds} s`);
});
