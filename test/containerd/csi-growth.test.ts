// Volumes of a CSI driver that really grow, on a node of a cluster with a real containerd: a file system on a loop device and a raw device, larger in the
// running container once their claims are, what was written before still there, and grown with the next mount where no pod had them meanwhile.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { Pod } from '../../src/ports/model/pod.js';
import type { PersistentVolumeClaim } from '../../src/ports/model/storage.js';
import { idOf, manifest, nodeName, scripted } from './kubelet-process.js';
import { skipWithoutContainerd } from './private-containerd.js';
import { driver, type VolumeStand, volumeStand } from './volume-stand.js';

t.setTimeout(400_000);
const mebi = 2 ** 20;
const capSysResource = 24n;

/** The type of a file system that this host lets be grown while it is mounted; null: none. */
function growable(): string | null {
  const known = readFileSync('/proc/filesystems', 'utf8').split(/\s+/);
  const has = (program: string): boolean => ['/usr/sbin', '/sbin', '/usr/bin', '/bin'].some((directory) => existsSync(join(directory, program)));
  if (known.includes('xfs') && has('mkfs.xfs') && has('xfs_growfs')) return 'xfs';
  const capabilities = BigInt(`0x${/^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0'}`);
  const mayGrow = ((capabilities >> capSysResource) & 1n) === 1n;
  return mayGrow && known.includes('ext4') && has('mkfs.ext4') && has('resize2fs') ? 'ext4' : null;
}

const fsType = growable();
const missing = !existsSync('/dev/loop-control')
  ? 'the host has no loop devices'
  : fsType === null
    ? 'no file system can be grown here while it is mounted (Debian: xfsprogs)'
    : false;
const skip = skipWithoutContainerd() || missing;

async function standOf(t: Test): Promise<VolumeStand> {
  const stand = await volumeStand(t);
  const { data, claim, device } = stand;
  const image = join(data, 'files.image');
  writeFileSync(image, '');
  truncateSync(image, 320 * mebi);
  execFileSync(`mkfs.${fsType}`, ['-q', image], { env: { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/sbin` } });
  device('raw');
  await claim('files', { csi: { driver, volumeHandle: 'files', fsType } }, { storage: '320Mi' });
  await claim('raw', { csi: { driver, volumeHandle: 'raw' } }, { spec: { volumeMode: 'Block' }, storage: '1Mi' });
  return stand;
}

/** What the resizer does once the disk is larger. */
async function enlarge({ admin }: VolumeStand, name: string, storage: string): Promise<void> {
  await admin.patch('persistentvolumeclaims', 'default', name, { spec: { resources: { requests: { storage } } } });
  const conditions = [{ type: 'FileSystemResizePending', status: 'True' }];
  const status = { allocatedResources: { storage }, allocatedResourceStatuses: { storage: 'NodeResizePending' }, conditions };
  await admin.patch('persistentvolumeclaims', 'default', name, { status }, 'status');
  // Last: until then the node has nothing to do, whenever it looks.
  await admin.patch('persistentvolumes', null, `pv-${name}`, { spec: { capacity: { storage } } });
}

/** Says what it sees, again and again: the size of the file system in KiB, that of the device in bytes. */
const says = ['df -k /files | tail -n 1 | tr -s " " | cut -d " " -f 2 > /seen/t; mv /seen/t /seen/files', 'blockdev --getsize64 /dev/raw > /seen/t; mv /seen/t /seen/raw'];
const script = `echo "kept by $HOSTNAME" >> /files/kept; trap "exit 0" TERM; while :; do ${says.join('; ')}; sleep 0.2; done`;

async function make({ admin, containerd }: VolumeStand, name: string): Promise<void> {
  const volumes = [
    { name: 'files', persistentVolumeClaim: { claimName: 'files' } },
    { name: 'raw', persistentVolumeClaim: { claimName: 'raw' } },
    { name: 'seen', emptyDir: {} },
  ];
  const volumeMounts = ['files', 'seen'].map((volume) => ({ name: volume, mountPath: `/${volume}` }));
  const containers = [scripted(containerd, 'main', script, { volumeMounts, volumeDevices: [{ name: 'raw', devicePath: '/dev/raw' }] })];
  await admin.create('pods', 'default', manifest(name, { nodeName, automountServiceAccountToken: false, containers, volumes }) as Pod);
}

/** What the container says that it sees; 0: nothing yet. */
function seen({ kubelet }: VolumeStand, { metadata: { uid = '' } }: Pod, what: 'files' | 'raw'): number {
  const file = join(kubelet.root, 'pods', uid, 'volumes/kubernetes.io~empty-dir/seen', what);
  return existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0;
}

async function finished({ admin, kubelet }: VolumeStand, name: string, storage: string): Promise<void> {
  const status = async () => ((await admin.get('persistentvolumeclaims', 'default', name)) as unknown as PersistentVolumeClaim).status;
  await kubelet.until(`the claim ${name} says that it has ${storage}`, async () => {
    const { capacity, allocatedResourceStatuses = {}, conditions = [] } = (await status()) ?? {};
    return capacity?.storage === storage && Object.keys(allocatedResourceStatuses).length === 0 && conditions.length === 0;
  });
}

t.test('claims grow, and containers see it', { skip, timeout: 400_000 }, async (t) => {
  const stand = await standOf(t);
  const { admin, kubelet, runtime, data, running } = stand;
  await make(stand, 'first');
  const first = await running('first');
  const id = idOf(first);
  await kubelet.until('it says what it sees', () => seen(stand, first, 'files') > 0 && seen(stand, first, 'raw') > 0);
  t.ok(seen(stand, first, 'files') <= 320 * 1024, 'at first it is as large as it was made');
  t.equal(seen(stand, first, 'raw'), mebi);

  await enlarge(stand, 'files', '500Mi');
  await kubelet.until('the container sees the larger file system', () => seen(stand, first, 'files') > 400 * 1024);
  await finished(stand, 'files', '500Mi');
  await enlarge(stand, 'raw', '3Mi');
  await kubelet.until('the container sees the larger device', () => seen(stand, first, 'raw') === 3 * mebi);
  await finished(stand, 'raw', '3Mi');
  const told = kubelet.logLines().filter(({ msg, reason, object }) => msg === 'Event occurred' && reason === 'FileSystemResizeSuccessful' && object === 'default/first');
  t.strictSame(
    told.map(({ message }) => message),
    ['pv-files', 'pv-raw'].map((name) => `MountVolume.NodeExpandVolume succeeded for volume "${name}" ${nodeName}`),
  );
  t.equal(idOf((await admin.get('pods', 'default', 'first')) as Pod), id, 'in the same container');
  writeFileSync(`/proc/${runtime.processes().get(id)}/root/files/full`, Buffer.alloc(330 * mebi));

  await admin.remove('pods', 'default', 'first');
  await kubelet.until('the pod is gone', async () => (await admin.get('pods', 'default', 'first')) === null);
  await kubelet.until(
    'no loop device shows the image',
    () => !execFileSync('losetup', ['--list', '--noheadings', '--output', 'BACK-FILE'], { encoding: 'utf8' }).includes(data.concat('/files.image')),
  );
  await enlarge(stand, 'files', '700Mi');
  await enlarge(stand, 'raw', '4Mi');
  await make(stand, 'second');
  const second = await running('second');
  await kubelet.until('grown with the mount', () => seen(stand, second, 'files') > 600 * 1024 && seen(stand, second, 'raw') === 4 * mebi);
  await finished(stand, 'files', '700Mi');
  await finished(stand, 'raw', '4Mi');
  const root = `/proc/${runtime.processes().get(idOf(second))}/root`;
  t.equal(readFileSync(join(root, 'files/kept'), 'utf8').split('\n').length, 3, 'what either wrote is there');
  t.equal(readFileSync(join(root, 'files/full')).length, 330 * mebi, 'more than would have fitted at first');

  await admin.remove('pods', 'default', 'second');
  await kubelet.until('the second is gone', async () => (await admin.get('pods', 'default', 'second')) === null);
  await kubelet.until('nothing is mounted', () => !readFileSync('/proc/self/mounts', 'utf8').includes(kubelet.root));
});
