// Claims for devices through the whole daemon: a driver at a socket, a claim of the mock apiserver, the request that reaches the mock runtime, and the
// state file on disk, also over a restart.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { MockDraDriver, mockDraDefaults } from '../../src/adapters/mock-plugins/index.js';
import { readDraCheckpoint } from '../../src/domain/checkpoints/dra-checkpoint.js';
import type { ApiObject } from '../../src/ports/model/api-object.js';
import { until } from '../support/until.js';
import { ClusterStage } from './cluster-stage.js';

const driver = 'gpu.example.com';

t.test('a driver prepares a pod’s claim, the container has its device, and the driver lets go after it', async (t) => {
  const place = await ClusterStage.open(t);
  const { stage, admin } = place;
  const gpu = new MockDraDriver({ ...mockDraDefaults, driver, pluginsDirectory: join(stage.root, 'plugins_registry') });
  t.teardown(() => gpu.stop());
  const spec = { devices: { requests: [{ name: 'r', exactly: { deviceClassName: 'c' } }] } };
  const claim = await admin.create('resourceclaims', 'default', {
    apiVersion: 'resource.k8s.io/v1',
    kind: 'ResourceClaim',
    metadata: { name: 'g', namespace: 'default' },
    spec,
  } as ApiObject);
  const containers = [{ name: 'c', image: 'busybox', imagePullPolicy: 'IfNotPresent', resources: { claims: [{ name: 'gpu' }] } }];
  const pod = await admin.create('pods', 'default', {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', namespace: 'default', annotations: { 'sim.kubelet-ts/c': 'run=forever' } },
    spec: { nodeName: 'n1', automountServiceAccountToken: false, terminationGracePeriodSeconds: 1, containers, resourceClaims: [{ name: 'gpu', resourceClaimName: 'g' }] },
  } as ApiObject);
  const { uid = '' } = claim.metadata;
  const allocation = { devices: { results: [{ request: 'r', driver, pool: 'pool', device: 'g' }] } };
  const reservedFor = [{ resource: 'pods', name: 'p', uid: pod.metadata.uid }];
  await admin.patch('resourceclaims', 'default', 'g', { status: { allocation, reservedFor } }, 'status');
  const saved = () => {
    const read = readDraCheckpoint(readFileSync(join(stage.root, 'dra_manager_state'), 'utf8'));
    return read.ok ? read.value : read.error;
  };
  const first = await stage.start();
  await until('there is a state file', () => existsSync(join(stage.root, 'dra_manager_state')));
  t.strictSame(saved(), []);
  await gpu.start();
  await place.untilReady('p');
  t.strictSame(gpu.notifications, [{ registered: true, error: '' }]);
  t.strictSame(gpu.calls, [{ method: 'NodePrepareResources', claims: [{ namespace: 'default', name: 'g', uid }] }]);
  t.strictSame(
    stage.containers.map(({ config }) => config.cdiDevices),
    [[`${driver}/device=${uid}`]],
  );
  t.match(saved(), [{ claimUid: uid, claimName: 'g', namespace: 'default', podUids: [pod.metadata.uid] }]);
  await first.stop();
  await stage.start();
  await until('the driver has registered again', () => gpu.notifications.length === 2);
  await admin.remove('pods', 'default', 'p');
  await until('the pod is gone', async () => (await place.pod('p')) === null);
  t.strictSame(
    gpu.calls.map(({ method }) => method),
    ['NodePrepareResources', 'NodeUnprepareResources'],
  );
  t.equal(gpu.prepared.size, 0);
  t.strictSame(saved(), []);
});
