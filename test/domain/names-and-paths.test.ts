// Names, paths and durations beyond the vectors: what is built can be read back.
import fc from 'fast-check';
import t from 'tap';
import { containerHash } from '../../src/domain/values/container-hash.js';
import { formatGoDuration, parseGoDuration } from '../../src/domain/values/go-duration.js';
import { containerIdOfSymlink, legacyLogSymlink, podLogDirectory, podUidOfLogDirectory, restartCountOfLogDirectory } from '../../src/domain/values/log-paths.js';
import { formatContainerId, parseContainerId, parsePodFullName, podFullName } from '../../src/domain/values/pod-references.js';
import { cleanPath, joinPath } from '../../src/domain/values/slash-paths.js';

t.test('durations', async (t) => {
  const second = 1_000_000;
  const rows: readonly (readonly [number, string])[] = [
    [0, '0s'],
    [1, '1µs'],
    [1500, '1.5ms'],
    [-1_500_000, '-1.5s'],
    [second, '1s'],
    [80 * second, '1m20s'],
    [300 * second, '5m0s'],
    [3600 * second, '1h0m0s'],
    [90_061 * second + 1, '25h1m1.000001s'],
  ];
  for (const [micros, text] of rows) {
    t.equal(formatGoDuration(micros), text);
    t.equal(parseGoDuration(text), micros, text);
  }
  const parsed: readonly (readonly [string, number | null])[] = [
    ['0', 0],
    ['+5s', 5 * second],
    ['1.1s', 1_100_000],
    ['.5s', 500_000],
    ['5.s', 5 * second],
    ['1h1h', 7200 * second],
    ['1500us', 1500],
    ['1500μs', 1500],
    ['999ns', 0],
    ['1001ns', 1],
    ['-1ns', 0],
    ['', null],
    ['5', null],
    ['s', null],
    ['.s', null],
    ['1 s', null],
    ['1d', null],
    ['--1s', null],
    ['10000000h', null],
  ];
  for (const [text, micros] of parsed) t.equal(parseGoDuration(text), micros, `"${text}"`);
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(fc.maxSafeInteger(), (micros) => parseGoDuration(formatGoDuration(micros)) === micros),
      { numRuns: 2000 },
    ),
  );
});

t.test('paths', async (t) => {
  const rows: readonly (readonly [string, string])[] = [
    ['', '.'],
    ['/', '/'],
    ['//a/./b//', '/a/b'],
    ['/../a', '/a'],
    ['../a/..', '..'],
    ['a/../../b', '../b'],
  ];
  for (const [path, clean] of rows) t.equal(cleanPath(path), clean, path);
  t.strictSame([joinPath(), joinPath('', ''), joinPath('', 'a'), joinPath('/', 'a'), joinPath('/var/', '/a/')], ['', '', 'a', '/a', '/var/a']);
});

t.test('what is built can be read back', async (t) => {
  const label = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?$/);
  const id = fc.stringMatching(/^[0-9a-f]{64}$/);
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(label, label, label, label, id, (name, namespace, containerName, uid, containerId) => {
        const link = containerIdOfSymlink(legacyLogSymlink(containerId, containerName, name, namespace));
        const full = parsePodFullName(podFullName(name, namespace));
        const typed = parseContainerId(formatContainerId({ type: 'containerd', id: containerId }));
        return (
          link.kind === 'ok' &&
          link.value === containerId &&
          full.kind === 'ok' &&
          full.value.name === name &&
          full.value.namespace === namespace &&
          typed.kind === 'ok' &&
          typed.value.id === containerId &&
          podUidOfLogDirectory(podLogDirectory('/var/log/pods', namespace, name, uid).slice('/var/log/pods/'.length)) === uid
        );
      }),
    ),
  );
  const long = legacyLogSymlink('0123456789'.repeat(6), 'c'.repeat(63), 'p'.repeat(253), 'n');
  t.equal(long.length - '/var/log/containers/'.length, 255);
  t.ok(long.endsWith('.log'));
});

t.test('restart counts at the edge of int64', async (t) => {
  t.equal(restartCountOfLogDirectory(['9223372036854775808.log', '3.log']), 4);
  t.ok(restartCountOfLogDirectory(['9223372036854775807.log']) > 9e18);
});

t.test('the container hash', async (t) => {
  t.equal(containerHash({ name: 'test_container', image: 'foo/image:v1' }), '8e45cbd0');
  t.equal(containerHash({ name: 'c' }), containerHash({ name: 'c', image: '' }), 'no image is an empty one');
  t.equal(containerHash({ name: 'c', image: 'x', env: [{ name: 'A' }] } as { name: string; image: string }), containerHash({ name: 'c', image: 'x' }));
});
