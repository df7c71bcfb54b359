// The atomic writer's plans on a model file system: after a stop at any step, readers see one complete payload, and the next plan cleans up.

import fc from 'fast-check';
import t from 'tap';
import { instantOf } from '../../src/domain/values/instant.js';
import { type AtomicWriteStep, generationName } from '../../src/domain/volumes/atomic-writer.js';
import { fsGroupMode } from '../../src/domain/volumes/volume-ownership.js';
import { checkedPayload, payloadPathProblem, type VolumePayload } from '../../src/domain/volumes/volume-payload.js';
import { ModelFileSystem } from '../vectors/model-file-system.js';
import { carryOut, planFor } from '../vectors/model-volume.js';

const volume = '/vol';
const second = 1_000_000;
const generationPattern = /^\.\.\d{4}_\d\d_\d\d_\d\d_\d\d_\d\d\.\d+$/;

interface Shown {
  readonly text: string;
  readonly mode: number;
  readonly uid: number;
}

/** What a reader finds below the data link; null when it leads nowhere. */
function seen(files: ModelFileSystem): ReadonlyMap<string, Shown> | null {
  const data = files.resolve(`${volume}/..data`);
  if (data.kind !== 'found') return null;
  const paths = files.below(data.path).filter((path) => files.entries.get(path)!.type === 'file');
  return new Map(
    paths.map((path) => {
      const { bytes, mode, uid } = files.entries.get(path)!;
      return [path.slice(data.path.length + 1), { text: Buffer.from(bytes).toString(), mode, uid }];
    }),
  );
}

function shownOf(payload: VolumePayload, fsGroup: number | null): ReadonlyMap<string, Shown> {
  return new Map(
    [...payload].map(([path, { bytes, mode, fsUser }]) => [
      path,
      { text: Buffer.from(bytes).toString(), mode: fsGroup === null ? mode : fsGroupMode(mode, 'file', true), uid: fsUser ?? 0 },
    ]),
  );
}

function text(map: ReadonlyMap<string, unknown> | null): string {
  return map === null ? 'nothing' : JSON.stringify([...map].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function texts(map: ReadonlyMap<string, Shown> | null): string {
  return map === null ? 'nothing' : text(new Map([...map].map(([path, { text: content }]) => [path, content])));
}

/** Without groups and modes: the walk for an fsGroup takes in the whole volume and isn't undone. */
function tree(files: ModelFileSystem): string {
  return JSON.stringify(files.below(volume).map((path) => [path, { ...files.entries.get(path)!, gid: 0, mode: 0, bytes: [...files.entries.get(path)!.bytes] }]));
}

function perform(files: ModelFileSystem, steps: readonly AtomicWriteStep[]): void {
  for (const step of steps) carryOut(files, volume, step);
}

function topNames(payload: VolumePayload): string[] {
  return [...new Set([...payload.keys()].map((path) => path.split('/', 1)[0]!))].sort();
}

/** Only what belongs there: one generation, the data link, the payload's links and what was there before. */
function isClean(files: ModelFileSystem, payload: VolumePayload, own: readonly string[]): boolean {
  const names = files.children(volume);
  const generations = names.filter((name) => generationPattern.test(name));
  const visible = names.filter((name) => !name.startsWith('..'));
  const expected = [...new Set([...topNames(payload), ...own])].sort();
  return generations.length === 1 && !names.includes('..data_tmp') && names.length === visible.length + 2 && visible.join() === expected.join();
}

const fileArb = fc.record({
  bytes: fc.constantFrom('1', '2', '').map((content) => Buffer.from(content)),
  mode: fc.constantFrom(0o644, 0o400, 0o600),
  fsUser: fc.constantFrom(null, 1000),
});
const payloadArb = fc.dictionary(fc.constantFrom('a', 'b', 'd/e', 'd/f', 'g/h/i', 'g/j'), fileArb, { maxKeys: 5 }).map((files): VolumePayload => new Map(Object.entries(files)));
const ownArb = fc.subarray(['a', 'own', 'd']);

/** Everything that must hold when `plan` stops after `done` steps. */
function holdsAt(
  files: ModelFileSystem,
  before: string,
  payload: VolumePayload,
  own: readonly string[],
  fsGroup: number | null,
  at: number,
  newName: (n: number) => string,
): string | null {
  const wanted = text(shownOf(payload, fsGroup));
  const plan = planFor(files, volume, payload, newName(0), fsGroup);
  if (plan.kind === 'refused') return plan.message;
  const original = tree(files);
  for (let done = 0; done <= plan.steps.length; done++) {
    const stopped = files.clone();
    perform(stopped, plan.steps.slice(0, done));
    const found = seen(stopped);
    const isSwitched = plan.generation !== null && done > plan.switchAt;
    if (isSwitched ? text(found) !== wanted : text(found) !== before) return `write ${at}, step ${done}: ${text(found)}`;
    for (const name of topNames(payload)) {
      const link = stopped.entries.get(`${volume}/${name}`);
      if (link?.type === 'symlink' && link.target !== `..data/${name}`) return `write ${at}, step ${done}: ${name} leads elsewhere`;
    }
    if (plan.generation !== null && done <= plan.switchAt) {
      const undone = stopped.clone();
      perform(undone, plan.undo);
      if (tree(undone) !== original) return `write ${at}, step ${done}: undoing leaves something else`;
    }
    const again = planFor(stopped, volume, payload, newName(1), fsGroup);
    if (again.kind === 'refused') return again.message;
    perform(stopped, again.steps);
    if (texts(seen(stopped)) !== texts(shownOf(payload, fsGroup)) || !isClean(stopped, payload, own))
      return `write ${at}, step ${done}: the next plan leaves ${stopped.children(volume).join(' ')}`;
  }
  perform(files, plan.steps);
  return null;
}

t.test('a plan that stops anywhere leaves one whole payload, can be undone before the switch, and is cleared up by the next plan', async (t) => {
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(fc.array(payloadArb, { minLength: 1, maxLength: 4 }), ownArb, fc.constantFrom(null, 2000), (payloads, own, fsGroup) => {
        const files = ModelFileSystem.of(volume, [{ path: '.keep', type: 'file' }, ...own.map((path) => ({ path, type: 'dir' as const }))]);
        files.entries.delete(`${volume}/.keep`);
        for (const [at, payload] of payloads.entries()) {
          const base = (at + 1) * 10;
          const before = text(seen(files));
          const problem = holdsAt(files, before, payload, own, fsGroup, at, (n) => generationName(instantOf((base + n) * second), '7'));
          if (problem !== null) throw new Error(problem);
          const clash = own.filter((name) => files.entries.get(`${volume}/${name}`)?.type !== 'dir');
          if (clash.length > 0) throw new Error(`${clash.join()} was replaced`);
        }
        return true;
      }),
      { numRuns: 150 },
    ),
  );
});

t.test('what was left over by a crash is not in the way', async (t) => {
  const files = ModelFileSystem.of(volume, [
    { path: '..2020_01_01_00_00_00.1/a', type: 'file', content: 'old' },
    { path: '..2020_01_01_00_00_01.2/a', type: 'file', content: 'half' },
    { path: '..data', type: 'symlink', target: '..2020_01_01_00_00_00.1' },
    { path: '..data_tmp', type: 'symlink', target: '..2020_01_01_00_00_01.2' },
  ]);
  const same: VolumePayload = new Map([['a', { bytes: Buffer.from('old'), mode: 0o644, fsUser: null }]]);
  const unchanged = planFor(files, volume, same, generationName(instantOf(second), '1'), null);
  t.equal(unchanged.kind === 'steps' && unchanged.generation, null);
  if (unchanged.kind === 'steps') perform(files, unchanged.steps);
  t.strictSame(files.children(volume), ['..2020_01_01_00_00_00.1', '..data', 'a'], 'a payload that is there needs no generation, only order');
  const changed = planFor(files, volume, new Map([['b', { bytes: Buffer.from('new'), mode: 0o644, fsUser: null }]]), generationName(instantOf(2 * second), '1'), null);
  if (changed.kind === 'steps') perform(files, changed.steps);
  t.strictSame(files.children(volume), ['..1970_01_01_00_00_02.1', '..data', 'b']);
});

t.test('a data link that leads out of the volume costs nobody anything', async (t) => {
  const files = ModelFileSystem.of('/', [
    { path: 'other/file', type: 'file' },
    { path: 'vol/..data', type: 'symlink', target: '../other' },
  ]);
  const plan = planFor(files, volume, new Map([['a', { bytes: Buffer.from('1'), mode: 0o644, fsUser: null }]]), generationName(instantOf(second), '1'), null);
  if (plan.kind === 'steps') perform(files, plan.steps);
  t.ok(files.entries.has('/other/file'));
  t.equal(text(seen(files)), '[["a",{"text":"1","mode":420,"uid":0}]]');
});

t.test('refusals touch nothing', async (t) => {
  const file = { bytes: Buffer.from('1'), mode: 0o644, fsUser: null };
  const clash = planFor(
    ModelFileSystem.of(volume, []),
    volume,
    new Map([
      ['a', file],
      ['a/b', file],
    ]),
    generationName(instantOf(0), '1'),
    null,
  );
  t.strictSame(clash, { kind: 'refused', message: '/vol/..1970_01_01_00_00_00.1/a: is a directory'.replace(/^/, 'open ') });
  const directory = planFor(ModelFileSystem.of(volume, [{ path: '..data', type: 'dir' }]), volume, new Map([['a', file]]), generationName(instantOf(0), '1'), null);
  t.strictSame(directory, { kind: 'refused', message: 'readlink /vol/..data: invalid argument' });
});

t.test('paths of a payload', async (t) => {
  const long = 'n'.repeat(256);
  const rows: readonly (readonly [string, string | null])[] = [
    ['a', null],
    ['a/./b//c', null],
    ['a/..b', null],
    ['..', "invalid path: must not contain '..': .."],
    ['...', "invalid path: must not start with '..': ..."],
    ['/a', 'invalid path: must be relative path: /a'],
    ['', 'invalid path: must not be empty: ""'],
    [`a/${long}`, 'invalid path: filenames must be less than or equal to 255 characters'],
    ['é'.repeat(128), 'invalid path: filenames must be less than or equal to 255 characters'],
    [`${'a/'.repeat(2048)}b`, 'invalid path: must be less than or equal to 4096 characters'],
  ];
  for (const [path, problem] of rows) t.equal(payloadPathProblem(path), problem, path.slice(0, 20));
  const file = { bytes: Buffer.from('1'), mode: 0o644, fsUser: null };
  const checked = checkedPayload(new Map([['a/./b', file]]));
  t.strictSame(checked.ok && [...checked.payload.keys()], ['a/b']);
});
