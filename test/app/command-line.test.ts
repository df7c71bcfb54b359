// The command line's texts and `kubelet-ctl check-config`: made from the table, checked on files of a temporary directory.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { FileConfigurationSource } from '../../src/adapters/config-files/index.js';
import { parseYaml } from '../../src/adapters/yaml/index.js';
import { checkConfig } from '../../src/app/cli/check-config.js';
import { helpText } from '../../src/app/cli/help-text.js';
import { manualPage } from '../../src/app/cli/manual-page.js';
import { flagTable } from '../../src/domain/configuration/flag-table.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const header = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';

t.test('help has every flag on a line of its own', async (t) => {
  const lines = helpText('kubelet-ts').split('\n');
  for (const { name, shorthand } of flagTable) {
    const start = shorthand === null ? `      --${name}` : `  -${shorthand}, --${name}`;
    t.ok(
      lines.some((line) => line === start || line.startsWith(`${start} `)),
      name,
    );
  }
  t.ok(lines.some((line) => line.trim() === 'MemoryQoS=true|false (ALPHA - default=false)'));
});

t.test('the manual page in the tree is the one of this table', async (t) => {
  t.equal(readFileSync(join(root, 'docs/kubelet.8'), 'utf8'), manualPage(), 'run: node scripts/man.mjs');
  const man = spawnSync('man', ['--warnings', '-l', join(root, 'docs/kubelet.8')], { encoding: 'utf8', env: { ...process.env, MANPAGER: 'cat', MANWIDTH: '100' } });
  if (man.error !== undefined) return;
  t.equal(man.stderr, '');
  t.match(man.stdout, /evictionHard/);
});

interface Answer {
  readonly status: number;
  readonly out: string;
  readonly error: string;
}

function check(directory: string, ...words: readonly string[]): Answer {
  let out = '';
  let error = '';
  const status = checkConfig(words, {
    source: new FileConfigurationSource(directory),
    cgroupVersion: 2,
    onlineCpus: [0, 1],
    writeOut: (text) => {
      out += text;
    },
    writeError: (text) => {
      error += text;
    },
  });
  return { status, out, error };
}

t.test('check-config shows what is in force', async (t) => {
  const directory = t.testdir({
    'k.yaml': `${header}maxPods: 5\nfoo: 1\nstaticPodPath: m\nclusterDNS: [10.0.0]\nsyncFrequency: 0.5ms\n`,
    'd.conf': { 'a.conf': `${header}port: 7\n`, 'a.txt': 'x' },
  });
  const got = check(directory, 'k.yaml', '--config-dir=d.conf', '--max-pods=9');
  t.equal(got.status, 0, got.error);
  const shown = parseYaml(got.out);
  t.match(shown.ok && shown.value, { maxPods: 9, port: 7, staticPodPath: join(directory, 'm'), evictionHard: { 'memory.available': '100Mi' }, healthzPort: 10248 });
  t.match(got.error, /note: strict decoding error: unknown field "foo"\n/);
  t.match(got.error, /note: Flag --max-pods has been deprecated/);
  t.match(got.error, /note: clusterDNS: "10\.0\.0" is no IP address and is left out\nnote: syncFrequency is too short a period, 100ms is taken\n/);
  t.match(got.error, /note: d\.conf\/a\.txt does not end in \.conf and is skipped\n/);
});

const refusals: readonly (readonly [string, string, RegExp])[] = [
  ['a type', 'maxPods: many\n', /^failed to load .*KubeletConfiguration\.maxPods.*\n$/],
  ['a rule', 'maxPods: -1\n', /^failed to validate .*maxPods \(--max-pods\) -1 must not be a negative number\n$/],
  ['a gate', 'featureGates: {Nope: true}\n', /unrecognized feature gate: Nope\n$/],
  ['syntax', 'maxPods: [\n', /failed to decode: .*line \d+: .*\n$/],
  ['a start-up check', 'reservedSystemCPUs: 0-2\n', /reserved-cpus: 0-2 is not a subset of online-cpus: 0-1\n$/],
  ['a deep one', 'authentication: {anonymous: {enabled: maybe}}\n', /KubeletConfiguration\.authentication\.anonymous\.enabled.*\n$/],
];

t.test('check-config refuses in one line that names the field', async (t) => {
  for (const [name, text, message] of refusals) {
    const got = check(t.testdir({ 'k.yaml': header + text }), 'k.yaml');
    t.equal(got.status, 1, name);
    t.match(got.error, message, name);
    t.equal(got.error.trimEnd().split('\n').length, 1, name);
    t.equal(got.out, '', name);
  }
  t.equal(
    check(t.testdir({ 'k.yaml': 'a: |\n  1\n  2\n' }), 'k.yaml')
      .error.trimEnd()
      .split('\n').length,
    1,
    'a quoted file stays one line',
  );
  t.equal(check('/', '').status, 2);
  t.match(check('/'), { status: 2, error: /^usage: / });
  t.match(check(t.testdir({ 'k.yaml': header }), 'k.yaml', '--max-pods=x'), { status: 1, error: /^failed to parse kubelet flag: invalid argument "x" for "--max-pods" flag/ });
});

t.test('drop-in directories', async (t) => {
  const directory = t.testdir({ d: { 'b.conf': 'b', B: { 'z.conf': 'B/z' }, 'a.conf': { 'x.conf': 'a/x', 'x.txt': '' }, '.conf': 'hidden' }, file: '' });
  symlinkSync('b.conf', join(directory, 'd/link.conf'));
  symlinkSync('gone', join(directory, 'd/dangling.conf'));
  symlinkSync('B', join(directory, 'd/to-directory.conf'));
  const source = new FileConfigurationSource(directory);
  const { files, skipped, error } = source.readDropIns('./d/');
  t.strictSame(
    files.map((file) => [file.path, file.ok ? file.text : file.error]),
    [
      ['d/.conf', 'hidden'],
      ['d/B/z.conf', 'B/z'],
      ['d/a.conf/x.conf', 'a/x'],
      ['d/b.conf', 'b'],
      ['d/dangling.conf', `open ${directory}/d/dangling.conf: no such file or directory`],
      ['d/link.conf', 'b'],
      ['d/to-directory.conf', `read ${directory}/d/to-directory.conf: is a directory`],
    ],
    'byte order, directories where their name stands',
  );
  t.strictSame(skipped, ['d/a.conf/x.txt']);
  t.equal(error, null);
  t.equal(source.readDropIns('none').error, 'lstat none: no such file or directory');
  t.strictSame(source.readDropIns('file').skipped, ['file']);
  mkdirSync(join(directory, 'empty'));
  t.strictSame(source.readDropIns('empty'), { files: [], skipped: [], error: null });
});

const dropInFiles: readonly (readonly [string, string, RegExp | null])[] = [
  ['10-a.conf', `${header}maxPods: 7\nallowedUnsafeSysctls: [kernel.a]\n`, null],
  ['20-b.conf', '', /20-b\.conf/],
  ['30-c.conf', '# nothing\n', /30-c\.conf/],
  ['40-d.conf', 'maxPods: 9\n', /40-d\.conf/],
  ['50-e.yaml', 'not: [read', null],
  ['60-f.conf', `${header}allowedUnsafeSysctls: [kernel.b]\n`, null],
];

t.test('KB015: a drop-in that is empty or has no kind is refused in one line with its name; the others apply in order', async (t) => {
  for (const [name, text, refusal] of dropInFiles) {
    const got = check(t.testdir({ 'k.yaml': header, d: { [name]: text } }), 'k.yaml', '--config-dir=d');
    t.equal(got.status, refusal === null ? 0 : 1, `${name}: ${got.error}`);
    if (refusal === null) continue;
    t.match(got.error, refusal);
    t.equal(got.error.trimEnd().split('\n').length, 1, name);
  }
  const good = Object.fromEntries(dropInFiles.filter(([, , refusal]) => refusal === null).map(([name, text]) => [name, text]));
  const { status, out } = check(t.testdir({ 'k.yaml': header, d: good }), 'k.yaml', '--config-dir=d');
  const shown = parseYaml(out);
  t.equal(status, 0);
  t.match(shown.ok && shown.value, { maxPods: 7, allowedUnsafeSysctls: ['kernel.b'] });
  t.match(check(t.testdir({ 'k.yaml': header, d: Object.fromEntries(dropInFiles) }), 'k.yaml', '--config-dir=d'), { status: 1, error: /20-b\.conf/ });
});

t.test('files that are none', async (t) => {
  const directory = t.testdir({ bytes: '' });
  writeFileSync(join(directory, 'bytes'), Uint8Array.of(0x61, 0x3a, 0x20, 0xff));
  const source = new FileConfigurationSource(directory);
  t.match(source.readFile('/dev/zero'), { ok: true, parsed: { ok: false, message: /larger than/ } }, 'a device is read up to the limit');
  t.match(source.readFile('bytes'), { ok: true, parsed: { ok: false, message: 'yaml: invalid UTF-8' } });
  t.match(source.readFile('.'), { ok: false, path: directory, error: `read ${directory}: is a directory` });
});
