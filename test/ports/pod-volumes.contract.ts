// The contract of the volume ports: the model, and the real one on a file system.
import type { Test } from 'tap';
import { utf8Encode } from '../../src/domain/values/utf8.js';
import type { Call, PortOf } from '../../src/ports/operation.js';
import type { HostPathOperations, PayloadStep, PodVolumeOperations, SubPathOperations, SubPathStep, VolumeContent, VolumeSetUp } from '../../src/ports/outbound/pod-volumes.js';
import { PortError, type PortErrorKind } from '../../src/ports/port-error.js';

export const quietCall: Call = { signal: { aborted: false, reason: undefined, addEventListener() {}, removeEventListener() {} }, timeoutMicros: null };

export interface VolumesUnderTest {
  readonly volumes: PortOf<PodVolumeOperations>;
  readonly hostPaths: PortOf<HostPathOperations>;
  readonly subPaths: PortOf<SubPathOperations>;
  readonly rootDirectory: string;
  /** A directory of the host in which paths may be made. */
  readonly hostDirectory: string;
  preparePod(uid: string): Promise<unknown>;
  /** Whether the pod's directory can be removed now. */
  removePod(uid: string): Promise<unknown>;
}

const plugin = 'kubernetes.io~empty-dir';
export const disk: VolumeSetUp = { uid: 'u1', plugin, volume: 'work', marker: 'work', mode: 0o777, gid: null, tmpfs: null, hugePages: null };
const payloadVolume: VolumeSetUp = { ...disk, plugin: 'kubernetes.io~downward-api', volume: 'info', marker: 'wrapped_info' };

export async function kindOf(work: () => Promise<unknown>): Promise<PortErrorKind | 'done'> {
  try {
    await work();
    return 'done';
  } catch (error) {
    if (error instanceof PortError) return error.kind;
    throw error;
  }
}

const names = ({ entries }: VolumeContent): string[] => entries.map(([name]) => name).sort();
const generation = (name: string, text: string): PayloadStep[] => [
  { operation: 'make-directory', path: name, mode: 0o755 },
  { operation: 'make-directory', path: `${name}/d`, mode: 0o755 },
  { operation: 'write-file', path: `${name}/d/f`, bytes: utf8Encode(text), mode: 0o644 },
  { operation: 'make-symlink', path: '..data_tmp', target: name },
  { operation: 'rename', from: '..data_tmp', to: '..data' },
];

export async function podVolumesContract(t: Test, host: VolumesUnderTest): Promise<void> {
  const { volumes } = host;
  t.equal(await kindOf(() => volumes.setUp(disk, quietCall)), 'not-found', 'a pod without a directory');
  t.strictSame(await volumes.list({ uid: 'u1' }, quietCall), { volumes: [], subPaths: [] }, 'has no volumes');
  t.equal(await volumes.tearDown(disk, quietCall), null, 'and nothing to take down');
  await host.preparePod('u1');
  t.strictSame(await volumes.list({ uid: 'u1' }, quietCall), { volumes: [], subPaths: [] });
  t.equal(await volumes.setUp(disk, quietCall), null);
  t.equal(await volumes.setUp(disk, quietCall), null, 'twice is once');
  await volumes.setUp(payloadVolume, quietCall);
  const both = [payloadVolume, disk].map(({ plugin, volume }) => ({ plugin, volume, isDevice: false, data: null }));
  t.strictSame(await volumes.list({ uid: 'u1' }, quietCall), { volumes: both, subPaths: [] }, 'sorted');

  for (const bad of ['', '..', 'a/b', 'x'.repeat(300)]) {
    for (const field of ['uid', 'plugin', 'volume', 'marker'] as const) {
      const address = { ...disk, [field]: bad };
      t.equal(await kindOf(() => volumes.setUp(address, quietCall)), 'invalid-argument', `${field} ${bad.slice(0, 5)}`);
      t.equal(await kindOf(() => volumes.tearDown(address, quietCall)), 'invalid-argument');
    }
  }

  await t.test('payloads', (t) => payloads(t, host));
  for (const volume of [payloadVolume, disk]) {
    t.equal(await volumes.tearDown(volume, quietCall), null);
    t.equal(await volumes.tearDown(volume, quietCall), null, 'absent is success');
  }
  t.strictSame(await volumes.list({ uid: 'u1' }, quietCall), { volumes: [], subPaths: [] });
  t.equal(await kindOf(() => volumes.read({ ...disk, paths: [] }, quietCall)), 'not-found');
  await volumes.setUp(disk, quietCall);
  t.strictSame(names(await volumes.read({ ...disk, paths: [] }, quietCall)), [], 'made anew after it was taken down');
  await volumes.tearDown(disk, quietCall);
  await host.removePod('u1');
}

async function payloads(t: Test, { volumes }: VolumesUnderTest): Promise<void> {
  const paths = ['d/f', 'd', 'x'];
  const read = () => volumes.read({ ...payloadVolume, paths }, quietCall);
  const absent = paths.map((path) => [path, { kind: 'absent' }]);
  t.strictSame(await read(), { entries: [], generationPaths: null, readings: absent });
  const first = generation('..2026_01_01_00_00_00.1', 'one');
  const top: PayloadStep = { operation: 'make-symlink', path: 'd', target: '..data/d' };
  await volumes.write({ ...payloadVolume, steps: [...first, top], switchAt: 4, undo: [] }, quietCall);
  const content = await read();
  t.strictSame(names(content), ['..2026_01_01_00_00_00.1', '..data', 'd']);
  t.strictSame([...(content.generationPaths ?? [])].sort(), ['d', 'd/f']);
  t.strictSame(content.readings[0], ['d/f', { kind: 'file', bytes: utf8Encode('one') }]);
  t.match(content.readings[1], ['d', { kind: 'failed', message: /^read .*\/d: is a directory$/ }]);
  t.strictSame(content.readings[2], ['x', { kind: 'absent' }]);
  t.strictSame(new Map(content.entries).get('d'), { kind: 'symlink', target: '..data/d' });

  // The second write fails before it shows: what it made is taken back, and the first one stays.
  const second = generation('..2026_01_01_00_00_00.2', 'two');
  const failing: PayloadStep[] = [...second.slice(0, 3), { operation: 'make-directory', path: 'none/at/all', mode: 0o755 }, ...second.slice(3)];
  const undo: PayloadStep[] = [
    { operation: 'remove-link', path: '..data_tmp' },
    { operation: 'remove-tree', path: '..2026_01_01_00_00_00.2' },
  ];
  t.equal(await kindOf(() => volumes.write({ ...payloadVolume, steps: failing, switchAt: 5, undo }, quietCall)), 'not-found');
  t.strictSame(await read(), content, 'as before');
  await volumes.write({ ...payloadVolume, steps: [...second, { operation: 'remove-tree', path: '..2026_01_01_00_00_00.1' }], switchAt: 4, undo }, quietCall);
  const now = await read();
  t.strictSame(
    [names(now), now.readings[0]],
    [
      ['..2026_01_01_00_00_00.2', '..data', 'd'],
      ['d/f', { kind: 'file', bytes: utf8Encode('two') }],
    ],
  );
  t.equal(
    await kindOf(() => volumes.write({ ...payloadVolume, steps: [{ operation: 'make-directory', path: '../out', mode: 0o755 }], switchAt: -1, undo: [] }, quietCall)),
    'invalid-argument',
  );
}

export async function hostPathsContract(t: Test, { hostPaths, hostDirectory }: VolumesUnderTest): Promise<void> {
  const inspect = (name: string) => hostPaths.inspect({ path: `${hostDirectory}/${name}` }, quietCall);
  const make = (name: string, kind: 'directory' | 'file') => kindOf(() => hostPaths.make({ path: `${hostDirectory}/${name}`, kind, mode: 0o755 }, quietCall));
  t.equal(await inspect('a/b'), 'absent');
  t.equal(await make('a/b', 'directory'), 'done');
  t.strictSame([await inspect('a'), await inspect('a/b')], ['directory', 'directory'], 'with its parents');
  t.equal(await make('a/b', 'directory'), 'done', 'what is there stays');
  t.equal(await make('c/f', 'file'), 'not-found', 'no parents for a file');
  t.equal(await make('a/f', 'file'), 'done');
  t.equal(await make('a/f', 'file'), 'done');
  t.equal(await inspect('a/f'), 'file');
  t.not(await make('a/f', 'directory'), 'done');
}

/** Binding needs root on a real kernel. */
export async function subPathsContract(t: Test, { volumes, subPaths, rootDirectory, preparePod, removePod }: VolumesUnderTest): Promise<void> {
  await preparePod('u1');
  await volumes.setUp(disk, quietCall);
  const root = `${rootDirectory}/pods/u1/volumes/${plugin}/work`;
  const base = `${rootDirectory}/pods/u1/volume-subpaths`;
  const look = async (path: string) => (await subPaths.look({ path }, quietCall)).entry.kind;
  const doing = (...steps: SubPathStep[]) => kindOf(() => subPaths.carryOut({ uid: 'u1', steps }, quietCall));
  t.strictSame(await subPaths.look({ path: root }, quietCall), { entry: { kind: 'directory' }, mode: 0o777 });
  t.strictSame([await look(`${rootDirectory}/pods`), await look(`${root}/a`)], ['directory', 'absent']);
  t.equal(await doing({ operation: 'make-directory', root, path: `${root}/a`, mode: 0o2777 }, { operation: 'make-directory', root, path: `${root}/a/b`, mode: 0o2777 }), 'done');
  t.strictSame(await subPaths.look({ path: `${root}/a/b` }, quietCall), { entry: { kind: 'directory' }, mode: 0o2777 });
  t.equal(await doing({ operation: 'make-directory', root, path: `${root}/a`, mode: 0o777 }), 'already-exists');

  const target = `${base}/work/c/0`;
  const compare = (source: string) => subPaths.compare({ source, target }, quietCall);
  const place: SubPathStep[] = [
    { operation: 'ensure-directory', path: `${base}/work/c`, mode: 0o750 },
    { operation: 'ensure-directory', path: target, mode: 0o750 },
  ];
  t.equal(await compare(`${root}/a/b`), 'none');
  t.equal(await doing(...place, ...place), 'done', 'what is there stays');
  t.equal(await compare(`${root}/a/b`), 'none');
  t.equal(await doing({ operation: 'bind', root, source: `${root}/a/none`, target }), 'not-found');
  t.equal(await doing({ operation: 'bind', root, source: `${root}/a/b`, target }), 'done');
  t.strictSame([await compare(`${root}/a/b`), await compare(`${root}/a`)], ['same-file', 'other-file']);
  const subPathsOf = async () => (await volumes.list({ uid: 'u1' }, quietCall)).subPaths;
  t.strictSame(await subPathsOf(), [{ volume: 'work', containers: [{ name: 'c', isDirectory: true, entries: [{ name: '0', isMounted: true }] }] }]);
  t.equal(await doing({ operation: 'remove', path: target }), 'failed-precondition', 'not while it is bound');
  t.equal(await kindOf(() => removePod('u1')), 'failed-precondition');
  const elsewhere = `${rootDirectory}/pods/u1/volumes/x`;
  for (const step of [
    { operation: 'remove', path: elsewhere },
    { operation: 'unmount', path: `${rootDirectory}/pods/u2/volume-subpaths/x` },
    { operation: 'ensure-file', path: '/etc/x', mode: 0o640 },
  ] satisfies SubPathStep[]) {
    t.not(await doing(step), 'done', `${step.operation} ${step.path}`);
  }
  const remove = [target, `${base}/work/c`, `${base}/work`].map((path): SubPathStep => ({ operation: 'remove', path }));
  t.equal(await doing({ operation: 'unmount', path: target }, ...remove, { operation: 'remove-if-empty', path: base }), 'done');
  t.strictSame(await subPathsOf(), []);
  await volumes.tearDown(disk, quietCall);
  t.equal(await kindOf(() => removePod('u1')), 'done');
}
