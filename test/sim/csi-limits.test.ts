// The volume limit of a driver on a node: updated periodically and when the node is full, and pods beyond it are refused.
import { createHash } from 'node:crypto';
import t from 'tap';
import { CsiRun, claimed, driver } from './csi-run.js';
import { minute } from './volume-run.js';

t.setTimeout(120_000);

const second = 1_000_000;
const attachment = `csi-${createHash('sha256').update(`h1${driver}n1`).digest('hex')}`;
const count = (run: CsiRun): unknown => ((run.csiNode() as readonly { readonly allocatable?: { readonly count: number } }[] | undefined) ?? [])[0]?.allocatable?.count;
const looks = (run: CsiRun): number => run.cluster.node().model.performed.get('csiNode.info') ?? 0;

/** The controller tries to attach the volume, and can't. */
function notAttached(run: CsiRun, errorCode: number | undefined): void {
  const spec = { attacher: driver, nodeName: 'n1', source: { persistentVolumeName: 'pv' } };
  run.admin.create('volumeattachments', { apiVersion: 'storage.k8s.io/v1', kind: 'VolumeAttachment', metadata: { name: attachment }, spec }, null);
  const attachError = { message: 'no more', ...(errorCode === undefined ? {} : { errorCode }) };
  const told = run.admin.patch('volumeattachments', attachment, { status: { attached: false, attachError } }, 'status', null);
  if (told.code !== 200) throw new Error(JSON.stringify(told.body));
}

t.test('the count is read as often as the driver’s object says, and no more often', async (t) => {
  const run = new CsiRun();
  run.object({ nodeAllocatableUpdatePeriodSeconds: 60 });
  const plugin = run.registered({ maxVolumes: 7n });
  t.equal(count(run), 7);
  plugin.maxVolumes = 5n;
  run.until('it is told', () => count(run) === 5, minute + 5 * second);
  const before = looks(run);
  run.run(10 * minute);
  t.equal(looks(run) - before, 10);
  plugin.failures.push({ call: 'info', kind: 'unavailable', message: 'no' });
  plugin.maxVolumes = 4n;
  run.until('a failure is made up for', () => count(run) === 4, 2 * minute + 5 * second);
  run.admin.patch('csidrivers', driver, { spec: { nodeAllocatableUpdatePeriodSeconds: null } }, null, null);
  run.run(5 * second);
  const then = looks(run);
  run.run(10 * minute);
  t.equal(looks(run), then, 'nobody asks when it says so no more');
  run.host.csi.remove('example-reg.sock');
  run.until('it is let go', () => ((run.csiNode() as readonly unknown[] | undefined) ?? []).length === 0);
});

t.test('a driver without it is asked once', async (t) => {
  const run = new CsiRun();
  run.object({});
  run.registered({ maxVolumes: 7n });
  const before = looks(run);
  run.run(30 * minute);
  t.equal(looks(run), before);
});

t.test('a pod whose volume can’t be attached since the node is full is refused, after the count was told', async (t) => {
  const run = new CsiRun();
  run.object({ nodeAllocatableUpdatePeriodSeconds: 3600 });
  const plugin = run.registered({ maxVolumes: 7n });
  run.csiVolume();
  const uid = run.pod('a', claimed);
  notAttached(run, 8);
  plugin.maxVolumes = 3n;
  let countAtRefusal: unknown = null;
  run.until(
    'it is refused',
    () => {
      if (run.phase('a') !== 'Failed') return false;
      countAtRefusal = count(run);
      return true;
    },
    4 * minute,
  );
  t.equal(countAtRefusal, 3);
  const status = run.admin.get('pods', 'a').body.status as { readonly reason: string; readonly message: string };
  const waited = 'unmounted volumes=[d], unattached volumes=[d], failed to process volumes=[]: context deadline exceeded';
  t.match(status, { reason: 'VolumeAttachmentLimitExceeded', message: `Pod was rejected: Node has reached its volume attachment limit, rejecting pod. ${waited}` });
  t.strictSame(run.said('a', 'VolumeAttachmentLimitExceeded'), [`Node has reached its volume attachment limit, rejecting pod. ${waited}`]);
  t.equal(run.cluster.node().containers(uid).length, 0);
  run.run(10 * minute);
  t.equal(run.phase('a'), 'Failed', 'for good');
  t.equal(run.said('a', 'VolumeAttachmentLimitExceeded').length, 1);
  run.gone('a', uid);
  t.strictSame(run.cluster.violations, []);
});

const kept: readonly (readonly [sentence: string, object: object, errorCode: number | undefined])[] = [
  ['another failure of attaching', { nodeAllocatableUpdatePeriodSeconds: 3600 }, 13],
  ['a failure without a code', { nodeAllocatableUpdatePeriodSeconds: 3600 }, undefined],
  ['a driver whose count isn’t read anew', {}, 8],
];
for (const [sentence, object, errorCode] of kept) {
  t.test(`not refused: ${sentence}`, async (t) => {
    const run = new CsiRun();
    run.object(object);
    run.registered();
    run.csiVolume();
    const uid = run.pod('a', claimed);
    notAttached(run, errorCode);
    run.run(5 * minute);
    t.equal(run.phase('a'), 'Pending');
    t.strictSame(run.said('a', 'VolumeAttachmentLimitExceeded'), []);
    const name = `kubernetes.io/csi/${driver}^h1`;
    run.admin.patch('nodes', 'n1', { status: { volumesAttached: [{ name, devicePath: '' }] } }, 'status', null);
    run.admin.patch('volumeattachments', attachment, { status: { attached: true, attachError: null } }, 'status', null);
    run.until('it runs once it is attached', () => run.phase('a') === 'Running', 5 * minute);
    run.gone('a', uid);
    t.strictSame(run.cluster.violations, []);
  });
}
