// The root directory as a shared mount: what is decided by the kernel's table of mounts, and what the kernel then has, in a mount namespace of
// the test's own.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { type RootSharePlan, rootSharePlan } from '../../src/adapters/storage/root-propagation.js';

const line = (id: number, mountPoint: string, tags: string) => `${id} 1 8:1 / ${mountPoint} rw,relatime ${tags} - ext4 /dev/sda1 rw`.replace('  ', ' ');
const pod = '/var/lib/kubelet/pods/u/volumes/v';
const rows: readonly (readonly [sentence: string, lines: readonly string[], plan: RootSharePlan])[] = [
  ['all is shared', [line(1, '/', 'shared:1')], { kind: 'shared' }],
  ['nothing is', [line(1, '/', '')], { kind: 'bind' }],
  ['the nearest mount counts', [line(1, '/', 'shared:1'), line(2, '/var', 'master:3')], { kind: 'bind' }],
  ['a shared one in one that is not', [line(1, '/', ''), line(2, '/var/lib/kubelet', 'shared:9')], { kind: 'shared' }],
  ['the directory is a mount of its own', [line(1, '/', 'shared:1'), line(2, '/var/lib/kubelet', '')], { kind: 'propagate' }],
  ['of several on one place the last', [line(1, '/', 'shared:1'), line(2, '/var', 'shared:2'), line(3, '/var', '')], { kind: 'bind' }],
  ['a name that only begins alike', [line(1, '/', 'shared:1'), line(2, '/var/lib/kube', '')], { kind: 'shared' }],
  ['what a bind would hide', [line(1, '/', ''), line(2, pod, ''), line(3, '/var/lib/kubelet-other', '')], { kind: 'hides', below: [pod], holder: '/' }],
  ['a mount that is shared hides nothing', [line(1, '/', 'shared:1'), line(2, pod, '')], { kind: 'shared' }],
];
for (const [sentence, lines, plan] of rows) {
  t.test(sentence, async (t) => {
    t.strictSame(rootSharePlan('/var/lib/kubelet', `${lines.join('\n')}\n`), plan);
  });
}

const source = (path: string) => JSON.stringify(new URL(`../../src/${path}`, import.meta.url).href);
/** Shares the directory as often as it is named, and prints the lines that the kernel's table has of it, with what was logged. */
const script = `
import { readFileSync } from 'node:fs';
import { openNativeLinux } from ${source('adapters/native-linux/index.js')};
import { shareRootDirectory } from ${source('adapters/storage/root-propagation.js')};
const { mounts } = openNativeLinux({ kernelLogPath: '/dev/null', service: { notifySocket: null, watchdogMicros: null, watchdogPid: null } }, false);
const logged = [];
const call = { signal: new AbortController().signal, timeoutMicros: null };
for (const root of process.argv.slice(1)) await shareRootDirectory(root, mounts, { log: (level, message) => logged.push(level + ' ' + message) }, call);
const table = readFileSync('/proc/self/mountinfo', 'utf8').split('\\n').filter((line) => process.argv.slice(1).includes(line.split(' ')[4]));
console.log(JSON.stringify({ table, logged }));
process.exit(0);
`;

const isAllowed = process.geteuid?.() === 0 && spawnSync('unshare', ['-m', 'true']).status === 0;
t.test('the kernel has the directory as a shared mount, once, however often it is asked for', { skip: isAllowed ? false : 'needs root and unshare' }, async (t) => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'kubelet-ts-test-')));
  t.teardown(() => rmSync(root, { recursive: true, force: true }));
  const cwd = fileURLToPath(new URL('../../../', import.meta.url));
  const words = ['--mount', '--propagation', 'private', process.execPath, '--input-type=module', '-e', script, root, root, root];
  const { stdout, stderr } = spawnSync('unshare', words, { cwd, encoding: 'utf8' });
  t.equal(stderr, '');
  const { table, logged } = JSON.parse(stdout) as { readonly table: readonly string[]; readonly logged: readonly string[] };
  t.strictSame(logged, []);
  t.equal(table.length, 1, 'one mount');
  t.match(table[0], / shared:\d+ /);
});
