// A daemon's Node in the API: its runtime, images, features and the volumes of its pods.
import t from 'tap';
import type { ApiObject } from '../../src/ports/model/api-object.js';
import { until } from '../support/until.js';
import { ClusterStage } from './cluster-stage.js';

t.setTimeout(180_000);

const brisk = 'nodeStatusUpdateFrequency: 1s\nnodeStatusReportFrequency: 1s\n';

t.test('runtime handlers and features are the runtime’s, declared features the agent’s', async (t) => {
  const place = await ClusterStage.open(t);
  place.stage.configurationMore = brisk;
  const daemon = await place.stage.start();
  await until('the node is ready', async () => (await place.condition('Ready'))?.status === 'True');
  const node = await place.node();
  const handlers = (node?.status?.runtimeHandlers ?? []) as readonly { readonly name: string; readonly features?: Readonly<Record<string, boolean>> }[];
  t.same(
    handlers.map(({ name }) => name),
    handlers.map(({ name }) => name).toSorted(),
    'in order',
  );
  t.ok(handlers.length > 0 && handlers.every(({ features }) => features?.recursiveReadOnlyMounts === true && features.userNamespaces === true), JSON.stringify(handlers));
  t.match(node?.status, { features: { supplementalGroupsPolicy: true }, declaredFeatures: ['ExtendWebSocketsToKubelet', 'RestartAllContainersOnContainerExits'] });
  await daemon.stop();
  place.stage.configurationMore = `${brisk}featureGates: {RestartAllContainersOnContainerExits: false}\n`;
  const other = await place.stage.start();
  await until('a feature that is off is declared no more', async () => ((await place.node())?.status?.declaredFeatures ?? []).join() === 'ExtendWebSocketsToKubelet');
  await other.stop();
});

t.test('no more images than nodeStatusMaxImages, the largest first', async (t) => {
  const place = await ClusterStage.open(t);
  for (const [max, expected] of [
    [2, 2],
    [0, 0],
    [-1, 4],
  ] as const) {
    place.stage.configurationMore = `${brisk}nodeStatusMaxImages: ${max}\n`;
    for (const name of ['a', 'b', 'c', 'd']) place.stage.manifest(`${name}.yaml`, place.stage.pod(name, `example.com/${name}:1`));
    const daemon = await place.stage.start();
    await until('all run', () => place.stage.running.length === 4);
    await daemon.stop();
    // The list of images is the one that a new agent begins with.
    const again = await place.stage.start();
    const named = async () => ((await place.node())?.status?.images ?? []).filter(({ names }) => names?.some((name) => name.startsWith('example.com/')));
    await until(`${expected} images are told with ${max}`, async () => (await named()).length === expected);
    const sizes = ((await place.node())?.status?.images ?? []).map(({ sizeBytes }) => Number(sizeBytes));
    t.same(
      sizes,
      sizes.toSorted((x, y) => y - x),
    );
    await again.stop();
  }
});

t.test('a volume that has to be attached is in use as long as a pod wants it', async (t) => {
  const place = await ClusterStage.open(t);
  place.stage.configurationMore = brisk;
  const daemon = await place.stage.start();
  const claim = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, volumeName: 'pv' };
  const made = await place.admin.create('persistentvolumeclaims', 'default', {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'c' },
    spec: claim,
  } as ApiObject);
  const claimRef = { namespace: 'default', name: 'c', uid: made.metadata.uid };
  const spec = { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], claimRef, csi: { driver: 'csi.example.com', volumeHandle: 'h' } };
  await place.admin.create('persistentvolumes', null, { apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name: 'pv' }, spec } as ApiObject);
  await place.admin.patch('persistentvolumeclaims', 'default', 'c', { status: { phase: 'Bound' } }, 'status');
  await place.createPod('other');
  await place.untilReady('other');
  t.same((await place.node())?.status?.volumesInUse ?? [], []);
  const containers = [{ name: 'c', image: 'busybox', volumeMounts: [{ name: 'v', mountPath: '/v' }] }];
  const pod = { nodeName: 'n1', automountServiceAccountToken: false, containers, volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }] };
  await place.admin.create('pods', 'default', { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec: pod } as ApiObject);
  const inUse = async () => (await place.node())?.status?.volumesInUse ?? [];
  await until('it is in use', async () => (await inUse()).includes('kubernetes.io/csi/csi.example.com^h'));
  await place.admin.remove('pods', 'default', 'p');
  await until('and no more', async () => (await inUse()).length === 0);
  await daemon.stop();
});
