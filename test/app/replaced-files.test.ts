// Files that are watched while the daemon runs: each way of replacing them is noticed long before the next poll, with the addon and without.
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { fallbackNativeLinux } from '../../src/adapters/native-linux/fallback.js';
import { openNativeLinux } from '../../src/adapters/native-linux/index.js';
import { ReplacedFiles } from '../../src/adapters/storage/replaced-files.js';
import { until } from '../support/until.js';
import { LogLines } from './stage.js';

const never = 10 * 60_000;
const options = { kernelLogPath: '/dev/null', service: { notifySocket: null, watchdogMicros: null, watchdogPid: null } };

/** A place with two files of `before`, and how they become files of `after`. */
interface Replacement {
  readonly name: string;
  readonly prepare: (directory: string) => readonly string[];
  readonly replace: (directory: string, text: string) => void;
}

const both = (directory: string): string[] => [join(directory, 'tls.crt'), join(directory, 'tls.key')];

function write(directory: string, text: string): readonly string[] {
  for (const file of both(directory)) writeFileSync(file, text);
  return both(directory);
}

/** As the kubelet writes a volume of a Secret. */
function volume(directory: string, text: string): readonly string[] {
  const data = mkdtempSync(join(directory, '..data-'));
  write(data, text);
  symlinkSync(data, join(directory, '..data_tmp'));
  renameSync(join(directory, '..data_tmp'), join(directory, '..data'));
  return both(directory);
}

const replacements: readonly Replacement[] = [
  { name: 'written in place', prepare: (directory) => write(directory, 'before'), replace: write },
  {
    name: 'other files moved into their place',
    prepare: (directory) => write(directory, 'before'),
    replace: (directory, text) => {
      for (const file of both(directory)) {
        writeFileSync(`${file}.new`, text);
        renameSync(`${file}.new`, file);
      }
    },
  },
  {
    name: 'removed and made again',
    prepare: (directory) => write(directory, 'before'),
    replace: (directory, text) => {
      for (const file of both(directory)) rmSync(file);
      write(directory, text);
    },
  },
  {
    name: 'a volume of a Secret',
    prepare: (directory) => {
      const files = volume(directory, 'before');
      for (const name of ['tls.crt', 'tls.key']) symlinkSync(join('..data', name), join(directory, name));
      return files;
    },
    replace: volume,
  },
  {
    name: 'a symbolic link whose target is written',
    prepare: (directory) => {
      mkdirSync(join(directory, 'real'));
      write(join(directory, 'real'), 'before');
      for (const name of ['tls.crt', 'tls.key']) symlinkSync(join(directory, 'real', name), join(directory, name));
      return both(directory);
    },
    replace: (directory, text) => write(join(directory, 'real'), text),
  },
  {
    name: 'the directory moved away and another one put there',
    prepare: (directory) => {
      mkdirSync(join(directory, 'pki'));
      return write(join(directory, 'pki'), 'before');
    },
    replace: (directory, text) => {
      mkdirSync(join(directory, 'next'));
      write(join(directory, 'next'), text);
      renameSync(join(directory, 'pki'), join(directory, 'old'));
      renameSync(join(directory, 'next'), join(directory, 'pki'));
    },
  },
];

for (const [kind, native] of [
  ['the addon', openNativeLinux(options, false)],
  ['the fallback', fallbackNativeLinux(options, 'wanted by the test')],
] as const) {
  for (const { name, prepare, replace } of replacements) {
    t.test(`${kind}: ${name}`, async (t) => {
      const directory = mkdtempSync(join(tmpdir(), 'kubelet-ts-test-'));
      t.teardown(() => rmSync(directory, { recursive: true, force: true }));
      const files = prepare(directory);
      const logger = new LogLines();
      const taken: string[] = [];
      const read = (): string => {
        const texts = new Set(files.map((file) => readFileSync(file, 'utf8')));
        if (texts.size !== 1 || texts.has('bad')) throw new Error(`not a pair: ${[...texts].join(', ')}`);
        return [...texts][0] ?? '';
      };
      const openFileWatch = native.openFileWatch;
      const followed = ReplacedFiles.follow({ what: 'pair', files, read, take: (text) => taken.push(text), logger, openFileWatch, pollMillis: never });
      t.teardown(() => followed.close());
      for (const text of ['second', 'third']) {
        replace(directory, text);
        await until(`${text} is in use`, () => taken.at(-1) === text);
        t.equal(taken.filter((one) => one === text).length, 1, `${text}: once`);
        if (name.startsWith('the directory')) return;
      }
      replace(directory, 'bad');
      await until('the unusable ones are logged', () => logger.find('the last good ones stay') !== undefined);
      t.equal(taken.at(-1), 'third');
      replace(directory, 'fourth');
      await until('the next good ones are in use', () => taken.at(-1) === 'fourth');
      t.equal(taken.filter((text) => text === 'fourth').length, 1, 'once');
    });
  }
}

t.test('where nothing can be watched the files are polled', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'kubelet-ts-test-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  const files = write(directory, 'before');
  const taken: string[] = [];
  const openFileWatch = () => {
    throw new Error('too many watches');
  };
  const followed = ReplacedFiles.follow({
    what: 'pair',
    files,
    read: () => readFileSync(files[0] ?? '', 'utf8'),
    take: (text) => taken.push(text),
    logger: new LogLines(),
    openFileWatch,
    pollMillis: 50,
  });
  t.teardown(() => followed.close());
  write(directory, 'after');
  await until('it is noticed', () => taken.at(-1) === 'after');
  t.strictSame(taken, ['after']);
});
