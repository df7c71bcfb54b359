// What OpenBeneath answers for paths that stay, leave, or try to. The same table for the addon and for the walk in plain Node.
import { constants, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import type { OpenBeneath } from '../../src/adapters/native-linux/index.js';

const rows: readonly (readonly [path: string, followSymlinks: boolean, expected: string])[] = [
  ['d/f', false, 'inside'],
  ['./d//f', false, 'inside'],
  ['d/../d/f', false, 'inside'],
  ['d/../../outside', false, 'EXDEV'],
  ['../outside', false, 'EXDEV'],
  ['/etc/passwd', false, 'EXDEV'],
  ['', false, 'ENOENT'],
  ['absent', false, 'ENOENT'],
  ['absent/f', false, 'ENOENT'],
  ['d/f/x', false, 'ENOTDIR'],
  ['d/f/', false, 'ENOTDIR'],
  ['good', false, 'ELOOP'],
  ['good', true, 'inside'],
  ['dirlink/f', false, 'ELOOP'],
  ['dirlink/f', true, 'inside'],
  ['d/up', true, 'inside'],
  ['bad', true, 'EXDEV'],
  ['absolute', true, 'EXDEV'],
  ['loop', true, 'ELOOP'],
];

export async function openBeneathContract(t: Test, openBeneath: OpenBeneath): Promise<void> {
  const directory = t.testdir({ root: { d: { f: 'inside' } }, outside: 'outside' });
  const root = join(directory, 'root');
  const links = { good: 'd/f', dirlink: 'd', bad: '../outside', absolute: '/etc/passwd', loop: 'loop', 'd/up': '../good' };
  for (const [name, target] of Object.entries(links)) symlinkSync(target, join(root, name));
  const before = readdirSync('/proc/self/fd').length;

  for (const [path, followSymlinks, expected] of rows) {
    const title = `${path || '(empty)'}${followSymlinks ? ', links followed' : ''}: ${expected}`;
    const open = () => openBeneath(root, path, { flags: constants.O_RDONLY, mode: 0, followSymlinks });
    if (/^E/.test(expected)) {
      t.throws(open, { name: 'PortError', cause: { code: expected } }, title);
    } else {
      const file = open();
      t.equal(readFileSync(file.path, 'utf8'), expected, title);
      file.close();
      file.close();
    }
  }

  const made = openBeneath(root, 'd/made', { flags: constants.O_CREAT | constants.O_EXCL | constants.O_RDWR, mode: 0o640, followSymlinks: false });
  writeFileSync(made.path, 'text');
  made.close();
  t.equal(readFileSync(join(root, 'd/made'), 'utf8'), 'text');
  t.throws(() => openBeneath(join(root, 'absent'), 'x', { flags: 0, mode: 0, followSymlinks: false }), { name: 'PortError', kind: 'not-found' });
  t.throws(() => openBeneath(root, 'd\0/f', { flags: 0, mode: 0, followSymlinks: false }), TypeError);
  t.equal(readdirSync('/proc/self/fd').length, before, 'no descriptor is left open');
}
