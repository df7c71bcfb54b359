// The kernel's file errors in the words of the Go kubelet: the file by its path, through any descriptor.
import { closeSync, mkdirSync, mkdtempSync, openSync, readdirSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { openNativeLinux, serviceEnvironmentOf } from '../../src/adapters/native-linux/index.js';
import { fileError } from '../../src/adapters/storage/file-errors.js';
import { goFileText, named } from '../../src/adapters/storage/go-file-text.js';
import { FilePodVolumes } from '../../src/adapters/storage/index.js';

const base = realpathSync(mkdtempSync(join(tmpdir(), 'go-file-text-')));
t.teardown(() => rmSync(base, { recursive: true }));
mkdirSync(join(base, 'full/inner'), { recursive: true });
writeFileSync(join(base, 'file'), '');
symlinkSync('loop', join(base, 'loop'));

function failing(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  throw new Error('it did not fail');
}

function toFull(): void {
  const fd = openSync('/dev/full', 'w');
  try {
    named('/var/lib/kubelet/x', () => writeSync(fd, 'a'));
  } finally {
    closeSync(fd);
  }
}

const rows: readonly (readonly [work: () => unknown, text: string])[] = [
  [() => openSync(join(base, 'none'), 'r'), `open ${base}/none: no such file or directory`],
  [() => mkdirSync(join(base, 'full')), `mkdir ${base}/full: file exists`],
  [() => rmSync(join(base, 'none')), `lstat ${base}/none: no such file or directory`],
  [() => openSync(join(base, 'loop'), 'r'), `open ${base}/loop: too many levels of symbolic links`],
  [() => renameSync(join(base, 'none'), join(base, 'other')), `rename ${base}/none ${base}/other: no such file or directory`],
  [() => readdirSync(join(base, 'file')), `open ${base}/file: not a directory`],
  [() => writeFileSync(join(base, 'full'), ''), `open ${base}/full: is a directory`],
  [toFull, 'write /var/lib/kubelet/x: no space left on device'],
];
for (const [work, text] of rows) t.test(text.replaceAll(base, ''), async (t) => t.equal(goFileText(failing(work)), text));

t.test('what is no word of the kernel stays as it is', async (t) => {
  t.equal(goFileText(new Error('x')), null);
  t.match(fileError(new Error('x'), 'op', 's'), { kind: 'unknown', message: 'x' });
  t.equal(goFileText('x'), null);
});

t.test('a port names the whole path, though it reached the file through descriptors', async (t) => {
  const rootDirectory = join(base, 'root');
  mkdirSync(join(rootDirectory, 'pods/u1'), { recursive: true });
  writeFileSync(join(rootDirectory, 'pods/u1/volumes'), '');
  const native = openNativeLinux({ kernelLogPath: '/dev/null', service: serviceEnvironmentOf({}) }, false);
  const volumes = FilePodVolumes.open({ rootDirectory }, native.mounts, native.openBeneath);
  t.teardown(() => volumes.close());
  const call = { signal: new AbortController().signal, timeoutMicros: null };
  const request = { uid: 'u1', plugin: 'kubernetes.io~empty-dir', volume: 'v', marker: 'v', mode: 0o777, gid: null, tmpfs: null, hugePages: null };
  await t.rejects(volumes.setUp(request, call), { kind: 'failed-precondition', message: `open ${rootDirectory}/pods/u1/volumes: not a directory` });
});
