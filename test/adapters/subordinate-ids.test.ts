// The ids that a host gives to the user `kubelet`, asked of a program like the real one.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { readSubordinateIds } from '../../src/adapters/linux/index.js';

function host(t: Test, program: string | null, passwd: string | null = 'root:x:0:0::/root:/bin/sh\nkubelet:x:999:999::/:/bin/false\n') {
  const directory = mkdtempSync(join(tmpdir(), 'subordinate-ids-'));
  t.teardown(() => rmSync(directory, { recursive: true }));
  const passwdFile = join(directory, 'passwd');
  if (passwd !== null) writeFileSync(passwdFile, passwd);
  if (program !== null) writeFileSync(join(directory, 'getsubids'), `#!/bin/sh\n${program}\n`, { mode: 0o755 });
  return { user: 'kubelet', searchPath: `relative:/does/not/exist:${directory}`, passwdFile };
}

t.test('uids and gids are what the program says', async (t) => {
  const found = await readSubordinateIds(host(t, 'if [ "$1" = -g ]; then echo "0: $2 131072 65536"; else echo "0: $1 65536 65536"; fi'));
  t.strictSame(found, { uids: '0: kubelet 65536 65536\n', gids: '0: kubelet 131072 65536\n' });
});

for (const [sentence, program, passwd] of [
  ['no user of the name', 'echo never', 'root:x:0:0::/root:/bin/sh\nxkubelet:x:1:1::/:/bin/false\n'],
  ['no users at all', 'echo never', null],
  ['no program', null, undefined],
] as const) {
  t.test(`${sentence}: none`, async (t) => t.equal(await readSubordinateIds(host(t, program, passwd)), null));
}

t.test('a program that fails is a failure, named', async (t) => {
  await t.rejects(readSubordinateIds(host(t, 'echo "Error fetching ranges" >&2; exit 1')), {
    message: /^error retrieving additional ids for user "kubelet": .*Error fetching ranges/s,
  });
  await t.rejects(readSubordinateIds(host(t, '[ "$1" != -g ] || exit 1; echo "0: kubelet 65536 65536"')), { message: /^error retrieving additional gids for user "kubelet": / });
});
