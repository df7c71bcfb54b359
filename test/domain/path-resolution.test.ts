// Where a path leads when its links are followed: decided from what is known, and asking for what isn't.
import t from 'tap';
import { decide, isWithin, type KnownEntries, resolvePath } from '../../src/domain/volumes/path-resolution.js';
import type { PathEntry } from '../../src/ports/outbound/pod-volumes.js';

/** `directory`, `file`, `other`, `absent`, or `-> target`. */
function known(entries: Readonly<Record<string, string>>): KnownEntries {
  return new Map(
    Object.entries(entries).map(([path, text]) => [path, (text.startsWith('-> ') ? { kind: 'symlink', target: text.slice(3) } : { kind: text, mode: 0o755 }) as PathEntry]),
  );
}

const tree = {
  '/v': 'directory',
  '/v/a': 'directory',
  '/v/a/f': 'file',
  '/v/a/s': 'other',
  '/v/a/n': 'absent',
  '/v/n': 'absent',
  '/v/up': '-> ../v/a',
  '/v/here': '-> a/./f',
  '/v/root': '-> /v/a',
  '/v/slashes': '-> //v///a/',
  '/v/lost': '-> n',
  '/v/loop': '-> loop',
};

t.test('paths and where they lead', async (t) => {
  const found = (path: string, type = 'directory') => ({ kind: 'found', path, type });
  const absent = (inside: string, name: string, isLast: boolean) => ({ kind: 'absent', inside, name, isLast });
  const rows: readonly (readonly [path: string, leadsTo: object])[] = [
    ['/', found('/')],
    ['/v/a/f', found('/v/a/f', 'file')],
    ['/v/a/s', found('/v/a/s', 'other')],
    ['//v//a/', found('/v/a')],
    ['/v/./a/.', found('/v/a')],
    ['/v/a/..', found('/v')],
    ['/..', found('/')],
    ['/v/a/../../v', found('/v')],
    ['/v/up', found('/v/a')],
    ['/v/up/f', found('/v/a/f', 'file')],
    ['/v/here', found('/v/a/f', 'file')],
    ['/v/root/f', found('/v/a/f', 'file')],
    ['/v/slashes', found('/v/a')],
    ['/v/a/f/x', { kind: 'not-a-directory' }],
    ['/v/a/f/.', { kind: 'not-a-directory' }],
    ['/v/a/f/..', { kind: 'not-a-directory' }],
    ['/v/here/x', { kind: 'not-a-directory' }],
    ['/v/n', absent('/v', 'n', true)],
    ['/v/n/', absent('/v', 'n', true)],
    ['/v/n/.', absent('/v', 'n', true)],
    ['/v/n/x', absent('/v', 'n', false)],
    ['/v/n/./x', absent('/v', 'n', false)],
    ['/v/n/..', absent('/v', 'n', false)],
    ['/v/up/n', absent('/v/a', 'n', true)],
    ['/v/lost', absent('/v', 'n', true)],
    ['/v/lost/x', absent('/v', 'n', false)],
    ['/v/loop', { kind: 'too-many-links' }],
  ];
  for (const [path, result] of rows) t.strictSame(decide(resolvePath(path), known(tree)), { kind: 'decided', result }, path);
});

t.test('forty links are followed, as by Linux, and no more', async (t) => {
  const chain = (length: number) => known({ ...Object.fromEntries(Array.from({ length }, (_, i) => [`/${i}`, `-> ${i + 1}`])), [`/${length}`]: 'file' });
  t.strictSame(decide(resolvePath('/0'), chain(40)), { kind: 'decided', result: { kind: 'found', path: '/40', type: 'file' } });
  t.strictSame(decide(resolvePath('/0'), chain(41)), { kind: 'decided', result: { kind: 'too-many-links' } });
});

t.test('what is not known is asked for, one after the other', async (t) => {
  t.strictSame(decide(resolvePath('/v/a'), known({})), { kind: 'look', path: '/v' });
  t.strictSame(decide(resolvePath('/v/a'), known({ '/v': '-> w' })), { kind: 'look', path: '/w' });
  t.strictSame(decide(resolvePath('/v/a'), known({ '/v': 'directory' })), { kind: 'look', path: '/v/a' });
});

t.test('within', async (t) => {
  const rows: readonly (readonly [path: string, base: string, within: boolean])[] = [
    ['/a/b', '/a', true],
    ['/a', '/a', true],
    ['/a/', '/a', true],
    ['/a', '/a/', true],
    ['/ab', '/a', false],
    ['/a/../b', '/a', false],
    ['/', '/a', false],
    ['/b', '/a', false],
    ['/b', '/', true],
    ['/', '/', true],
  ];
  for (const [path, base, within] of rows) t.equal(isWithin(path, base), within, `${path} in ${base}`);
});
