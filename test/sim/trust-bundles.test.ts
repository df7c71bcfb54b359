// Projected volumes of the cluster's trust bundles: behind their gate, from the API's list, and following it.
import t from 'tap';
import { utf8Decode } from '../../src/domain/values/utf8.js';
import type { Volume } from '../../src/ports/model/volume.js';
import { minute, VolumeRun } from './volume-run.js';

const admin = { name: 'admin', groups: ['system:masters'] };
const pem = (content: string) => `-----BEGIN CERTIFICATE-----\n${content}\n-----END CERTIFICATE-----\n`;
const volume: Volume = { name: 'v', projected: { defaultMode: 0o644, sources: [{ clusterTrustBundle: { signerName: 'a/s', labelSelector: {}, path: 'ca.pem' } }] } };

function ask(run: VolumeRun, verb: 'create' | 'patch', name: string, trustBundle: string): number {
  const resource = { group: 'certificates.k8s.io', version: 'v1beta1', plural: 'clustertrustbundles' };
  const object = { apiVersion: 'certificates.k8s.io/v1beta1', kind: 'ClusterTrustBundle', metadata: { name }, spec: { signerName: 'a/s', trustBundle } };
  const common = { user: admin, resource, namespace: null, subresource: null } as const;
  const request = verb === 'create' ? { ...common, verb, name: null, body: object } : { ...common, verb, name, patch: 'merge-patch' as const, body: { spec: { trustBundle } } };
  return run.cluster.apiserver.handle(request, run.cluster.now).code;
}

function shown(run: VolumeRun, uid: string): string | null {
  const nodes = run.host.state.podDirectories.get(uid)?.volumes.get('kubernetes.io~projected/v')?.nodes;
  const data = nodes?.get('..data');
  const file = data?.kind === 'symlink' ? nodes?.get(`${data.target}/ca.pem`) : undefined;
  return file?.kind === 'file' ? utf8Decode(file.bytes) : null;
}

t.test('without the gate it is refused, and nothing is read', async (t) => {
  const run = new VolumeRun();
  run.pod('a', [volume]);
  run.until('it says so', () => run.said('a').length > 0);
  t.strictSame(run.said('a'), ['MountVolume.SetUp failed for volume "v" : ClusterTrustBundle projection is not supported in static kubelet mode']);
  t.notOk(run.cluster.node().agent.api?.reflectors.has('clustertrustbundles'));
});

t.test('waited for, shown, and followed while the container runs', async (t) => {
  const run = new VolumeRun({ settings: { trustBundleProjection: true } });
  const uid = run.pod('a', [volume]);
  run.until('it says what is missing', () => run.said('a').length > 0);
  t.strictSame(run.said('a'), ['MountVolume.SetUp failed for volume "v" : combination of signerName and labelSelector matched zero ClusterTrustBundles']);
  t.equal(ask(run, 'create', 'a:s:one', pem('QUFB')), 201);
  run.until('it runs at once', () => run.phase('a') === 'Running', 5_000_000);
  t.equal(shown(run, uid), pem('QUFB'));
  t.equal(ask(run, 'create', 'a:s:two', pem('QkJC')), 201);
  run.until('the other one is shown, too', () => shown(run, uid) === pem('QUFB') + pem('QkJC'), 5_000_000);
  t.equal(ask(run, 'patch', 'a:s:one', pem('Q0ND')), 200);
  run.until('a change is shown', () => shown(run, uid) === pem('Q0ND') + pem('QkJC'), 5_000_000);
  run.run(10 * minute);
  t.equal(run.cluster.node().containers(uid).length, 1, 'in the same container');
  run.gone('a', uid);
  t.strictSame(run.cluster.violations, []);
});
