// CSI volumes that grow: at their mount, while they are in use, as their claim's status says it, and what drivers may answer.
import t, { type Test } from 'tap';
import type { SimPlugin } from '../../src/sim/host/host-state.js';
import { minute, VolumeRun } from './volume-run.js';

const driver = 'csi.example.com';
const capabilities = ['STAGE_UNSTAGE_VOLUME', 'EXPAND_VOLUME'];
const claimed = [{ name: 'd', persistentVolumeClaim: { claimName: 'c' } }];
const two = 2 ** 31;
type Status = {
  readonly capacity?: object;
  readonly allocatedResourceStatuses?: Readonly<Record<string, string>>;
  readonly conditions?: readonly { readonly type: string; readonly message?: string }[];
};

class GrowingRun extends VolumeRun {
  readonly plugin: SimPlugin;

  constructor(plugin: Partial<SimPlugin> = {}, volume: object = {}) {
    super({ settings: { takesPlugins: true } });
    this.admin.create('csidrivers', { apiVersion: 'storage.k8s.io/v1', kind: 'CSIDriver', metadata: { name: driver }, spec: { attachRequired: false } }, null);
    this.plugin = this.host.csi.put('example-reg.sock', { name: driver, capabilities, ...plugin });
    this.volume('pv', { csi: { driver, volumeHandle: 'h1', fsType: 'ext4' } }, this.claim('c', 'pv'), volume);
    this.status({ capacity: { storage: '1Gi' } });
    this.until('it is registered', () => this.plugin.notified?.registered === true);
  }

  status(status: object): void {
    const { code, body } = this.admin.patch('persistentvolumeclaims', 'c', { status }, 'status');
    if (code !== 200) throw new Error(JSON.stringify(body));
  }

  claimStatus(): Status {
    return this.admin.get('persistentvolumeclaims', 'c').body.status as Status;
  }

  enlarge(): void {
    const { code, body } = this.admin.patch('persistentvolumes', 'pv', { spec: { capacity: { storage: '2Gi' } } }, null, null);
    if (code !== 200) throw new Error(JSON.stringify(body));
  }

  /** As the controller leaves it for the node. */
  grow(status = 'NodeResizePending'): void {
    this.enlarge();
    const conditions = [{ type: 'FileSystemResizePending', status: 'True' }];
    this.status({ allocatedResources: { storage: '2Gi' }, allocatedResourceStatuses: { storage: status }, conditions });
  }

  size(): number | undefined {
    return this.plugin.sizes.get('h1');
  }

  running(name = 'a', more: object = {}): string {
    const uid = this.pod(name, claimed, more);
    this.until('it runs', () => this.phase(name) === 'Running');
    return uid;
  }

  claimSaid(reason: string): string[] {
    return this.cluster
      .node()
      .host.state.events.flatMap(({ record: { involvedObject, reason: found, message } }) =>
        involvedObject.kind === 'PersistentVolumeClaim' && found === reason ? [message] : [],
      );
  }
}

function isFinished(t: Test, run: GrowingRun): void {
  const { capacity, allocatedResourceStatuses = {}, conditions = [] } = run.claimStatus();
  t.strictSame(capacity, { storage: '2Gi' });
  t.strictSame(allocatedResourceStatuses, {});
  t.strictSame(conditions, []);
  const message = 'MountVolume.NodeExpandVolume succeeded for volume "pv" n1';
  t.strictSame(run.said('a', 'FileSystemResizeSuccessful'), [message]);
  t.strictSame(run.claimSaid('FileSystemResizeSuccessful'), [message]);
}

t.test('a volume that grew before it was mounted', async (t) => {
  const run = new GrowingRun();
  run.grow();
  run.running();
  t.equal(run.size(), two);
  isFinished(t, run);
  t.strictSame(run.cluster.violations, []);
});

t.test('a volume that grows while it is in use, once', async (t) => {
  const run = new GrowingRun();
  run.running();
  t.equal(run.size(), undefined, 'nothing to grow at first');
  run.grow();
  run.until('it is grown', () => run.size() === two, 3 * minute);
  run.until('the claim says so', () => (run.claimStatus().capacity as { storage?: string }).storage === '2Gi');
  isFinished(t, run);
  run.plugin.sizes.clear();
  run.run(5 * minute);
  t.equal(run.size(), undefined, 'and not again');
  t.equal(run.phase('a'), 'Running');
});

t.test('a volume that grows when its pod has been at rest for long, again and again', async (t) => {
  const run = new GrowingRun();
  run.running();
  for (const gibibytes of [2, 3, 4]) {
    run.run(20 * minute);
    const storage = `${gibibytes}Gi`;
    run.admin.patch('persistentvolumes', 'pv', { spec: { capacity: { storage } } }, null, null);
    run.status({ allocatedResources: { storage }, allocatedResourceStatuses: { storage: 'NodeResizePending' } });
    run.until(`it is grown to ${storage}`, () => run.size() === gibibytes * 2 ** 30, 2 * minute);
    run.until('the claim says so', () => (run.claimStatus().capacity as { storage?: string }).storage === storage);
  }
  t.equal(run.cluster.node().containers().length, 1, 'and nothing else happens to it');
  t.strictSame(run.cluster.violations, []);
});

t.test('the status of the claim decides', async (t) => {
  for (const status of ['NodeResizeInfeasible', 'ControllerResizeInProgress']) {
    const run = new GrowingRun();
    run.grow(status);
    run.running();
    run.run(3 * minute);
    t.equal(run.size(), undefined, status);
  }
  const old = new GrowingRun();
  old.enlarge();
  old.running();
  t.equal(old.size(), two, 'a controller that knows no allocated resources');
  t.strictSame(old.claimStatus().capacity, { storage: '2Gi' });
});

const failures: readonly (readonly [kind: 'internal' | 'invalid-argument' | 'deadline-exceeded', status: string, isTold: boolean])[] = [
  ['internal', 'NodeResizeInProgress', true],
  ['invalid-argument', 'NodeResizeInfeasible', true],
  ['deadline-exceeded', 'NodeResizeInProgress', false],
];
for (const [kind, status, isTold] of failures) {
  t.test(`a driver that fails while the volume is in use: ${kind}`, async (t) => {
    const run = new GrowingRun();
    run.running();
    run.plugin.failures.push({ call: 'expand', kind, message: 'rpc error: code = X desc = no' });
    run.grow();
    run.until('it is told', () => run.said('a', 'VolumeResizeFailed').length > 0, 3 * minute);
    const cause = 'Expander.NodeExpand failed to expand the volume : rpc error: code = X desc = no';
    t.equal(run.said('a', 'VolumeResizeFailed')[0], `NodeExpandVolume.NodeExpandVolume failed for volume "pv" : ${cause}`);
    t.equal(run.claimStatus().allocatedResourceStatuses?.['storage'], status);
    const said = (run.claimStatus().conditions ?? []).find(({ type }) => type === 'NodeResizeError')?.message;
    t.equal(said, isTold ? `failed to expand pvc with ${cause}` : undefined);
    t.equal(run.phase('a'), 'Running');
    if (kind === 'invalid-argument') run.run(3 * minute);
    else run.until('it is tried again', () => run.size() === two, 3 * minute);
    t.equal(run.size(), kind === 'invalid-argument' ? undefined : two, 'what can never be isn’t tried again');
  });
}

t.test('its driver is gone: growing for one pod and the mount for another one fail each for themselves, and neither ends the other’s pause', async (t) => {
  const run = new GrowingRun();
  run.running();
  run.host.csi.remove('example-reg.sock');
  run.run(minute);
  run.pod('b', claimed);
  run.until('the mount fails', () => run.said('b', 'FailedMount').length > 0, 3 * minute);
  run.grow();
  run.run(10 * minute);
  t.ok(run.said('a', 'VolumeResizeFailed').length > 0, 'growing is told');
  t.ok(run.cluster.world.steps < 10_000, `tried now and then: ${run.cluster.world.steps} steps`);
  run.host.csi.put('example-reg.sock', { name: driver, capabilities, sizes: run.plugin.sizes });
  run.until('it runs', () => run.phase('b') === 'Running', 5 * minute);
  run.until('it is grown', () => run.size() === two, 5 * minute);
  t.strictSame(run.cluster.violations, []);
});

t.test('a driver that can’t grow it in use: the pod starts all the same, and it isn’t asked again', async (t) => {
  const run = new GrowingRun();
  run.plugin.failures.push({ call: 'expand', kind: 'failed-precondition', message: 'rpc error: code = FailedPrecondition desc = in use' });
  run.grow();
  run.running();
  run.run(5 * minute);
  t.equal(run.size(), undefined);
  t.strictSame(run.said('a', 'VolumeResizeFailed'), []);
});

t.test('a mount whose growing fails is tried again, and taken down with its pod', async (t) => {
  const run = new GrowingRun();
  run.plugin.failures.push({ call: 'expand', kind: 'internal', message: 'rpc error: code = Internal desc = no' });
  run.grow();
  const uid = run.running();
  t.match(run.said('a')[0], 'MountVolume.Setup failed while expanding volume for volume "pv" : Expander.NodeExpand failed to expand the volume : rpc error');
  t.equal(run.size(), two);
  run.gone('a', uid);
  run.until('nothing is left', () => run.mounts().length === 0);
  t.strictSame(run.cluster.violations, []);
});

t.test('a claim that is read only is never grown, and it is told', async (t) => {
  const run = new GrowingRun();
  run.grow();
  run.pod('a', [{ name: 'd', persistentVolumeClaim: { claimName: 'c', readOnly: true } }]);
  run.until('it runs', () => run.phase('a') === 'Running');
  t.equal(run.size(), undefined);
  t.strictSame(run.said('a', 'FileSystemResizeFailed'), ['MountVolume.NodeExpandVolume failed for volume "pv" requested read-only file system']);
});

t.test('a driver without EXPAND_VOLUME: nothing to do for a controller of old, an error where the node is asked', async (t) => {
  const old = new GrowingRun({ capabilities: ['STAGE_UNSTAGE_VOLUME'] });
  old.enlarge();
  old.running();
  const run = new GrowingRun({ capabilities: ['STAGE_UNSTAGE_VOLUME'] });
  run.grow();
  run.pod('a', claimed);
  run.until('it is told', () => run.said('a').length > 0);
  t.match(run.said('a')[0], /^MountVolume.Setup failed while expanding volume for volume "pv" : .*does not support node expansion$/);
});
