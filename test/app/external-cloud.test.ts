// A node of an external cloud provider: its own fields, the fields left to the provider's controller, and that pods wait for them.
import { networkInterfaces } from 'node:os';
import t from 'tap';
import type { ApiObject } from '../../src/ports/model/api-object.js';
import { until } from '../support/until.js';
import { ClusterStage } from './cluster-stage.js';

t.setTimeout(300_000);

const brisk = 'nodeStatusUpdateFrequency: 1s\nnodeStatusReportFrequency: 1s\n';
const uninitialized = 'node.cloudprovider.kubernetes.io/uninitialized';
const provided = 'alpha.kubernetes.io/provided-node-ip';

async function addresses(place: ClusterStage): Promise<string[]> {
  return ((await place.node())?.status?.addresses ?? []).map(({ type, address }) => `${type} ${address}`);
}

/** The report after this one has been made. */
async function untilReported(place: ClusterStage): Promise<void> {
  for (let i = 0; i < 2; i++) {
    const before = (await place.condition('Ready'))?.lastHeartbeatTime ?? '';
    await until('the status is reported', async () => ((await place.condition('Ready'))?.lastHeartbeatTime ?? '') > before);
  }
}

t.test('taint, addresses and provider id', async (t) => {
  const place = await ClusterStage.open(t);
  place.stage.configurationMore = brisk;
  place.stage.flags.push('--cloud-provider=external', '--provider-id=cloud://zone/n1', '--register-with-taints=own=yes:NoSchedule');
  const daemon = await place.stage.start();
  await until('the node is ready', async () => (await place.condition('Ready'))?.status === 'True');
  const { spec } = (await place.node()) ?? {};
  t.match(spec, { providerID: 'cloud://zone/n1' });
  t.strictSame(
    (spec?.taints ?? []).filter(({ key }) => !key.startsWith('node.kubernetes.io/')),
    [
      { key: 'own', value: 'yes', effect: 'NoSchedule' },
      { key: uninitialized, value: 'true', effect: 'NoSchedule' },
    ],
  );
  t.strictSame(await addresses(place), ['Hostname n1'], 'the rest is for the provider to say');

  // Bound by the scheduler, not by name: it tolerates one taint and waits for the other to go.
  const tolerations = [{ key: 'own', operator: 'Exists', effect: 'NoSchedule' }];
  const containers = [{ name: 'c', image: 'busybox', imagePullPolicy: 'IfNotPresent' }];
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'waits' }, spec: { automountServiceAccountToken: false, tolerations, containers } };
  await place.admin.create('pods', 'default', pod as ApiObject);
  await until('it can not be scheduled', async () => (await place.pod('waits'))?.status?.conditions?.some(({ type, status }) => type === 'PodScheduled' && status === 'False'));
  t.equal((await place.pod('waits'))?.spec.nodeName, undefined);

  // What a cloud controller does.
  const taints = ((await place.node())?.spec?.taints ?? []).filter(({ key }) => key !== uninitialized);
  await place.admin.patch('nodes', null, 'n1', { spec: { taints }, metadata: { labels: { 'topology.kubernetes.io/zone': 'z1' } } });
  const given = [
    { type: 'InternalIP', address: '10.9.8.7' },
    { type: 'ExternalIP', address: '192.0.2.7' },
    { type: 'Hostname', address: 'n1' },
  ];
  await place.admin.patch('nodes', null, 'n1', { status: { addresses: given } }, 'status');
  await place.untilReady('waits');
  await untilReported(place);
  t.strictSame(await addresses(place), ['InternalIP 10.9.8.7', 'ExternalIP 192.0.2.7', 'Hostname n1'], 'they stay as the provider has them');
  t.equal(
    (await place.node())?.spec?.taints?.some(({ key }) => key === uninitialized),
    false,
    'the taint does not come back',
  );
  t.equal((await place.pod('waits'))?.status?.hostIP, '10.9.8.7', 'pods are told of them');
  await daemon.stop();

  // What is registered is not reconciled: neither taint nor provider id.
  place.stage.flags.push('--provider-id=cloud://zone/other');
  const again = await place.stage.start();
  await untilReported(place);
  const after = await place.node();
  t.equal(after?.spec?.providerID, 'cloud://zone/n1');
  t.equal(
    after?.spec?.taints?.some(({ key }) => key === uninitialized),
    false,
  );
  t.equal(after?.metadata.labels?.['topology.kubernetes.io/zone'], 'z1');
  await again.stop();
});

const own = Object.values(networkInterfaces())
  .flat()
  .find((found) => found !== undefined && found.family === 'IPv4' && !found.internal && !found.address.startsWith('169.254.'))?.address;

t.test('an address that the node was told to use', { skip: own === undefined ? 'the host has no address but loopback' : false }, async (t) => {
  const place = await ClusterStage.open(t);
  place.stage.configurationMore = brisk;
  place.stage.flags.push('--cloud-provider=external', `--node-ip=${own}`);
  const daemon = await place.stage.start();
  await until('the node is ready', async () => (await place.condition('Ready'))?.status === 'True');
  t.equal((await place.node())?.metadata.annotations?.[provided], own, 'the provider reads it there');
  t.strictSame(await addresses(place), [`InternalIP ${own}`, 'Hostname n1']);
  await daemon.stop();
  // Without the provider the annotation is removed.
  place.stage.flags.splice(place.stage.flags.indexOf('--cloud-provider=external'), 1);
  const again = await place.stage.start();
  await until('it goes', async () => (await place.node())?.metadata.annotations?.[provided] === undefined);
  await again.stop();
});
