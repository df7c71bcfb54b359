// `kubelet-ctl logs` against a daemon in this process on the mock runtime, whose logs are rotated meanwhile.
import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import t from 'tap';
import { logs } from '../../src/app/cli/logs.js';
import type { Daemon } from '../../src/app/daemon/start-daemon.js';
import { until } from '../support/until.js';
import { phaseOf, podNamed, Stage } from './stage.js';

t.setTimeout(120_000);

class Output {
  text = '';

  write(bytes: string | Uint8Array): boolean {
    this.text += typeof bytes === 'string' ? bytes : Buffer.from(bytes).toString();
    return true;
  }

  readonly destroyed = false;
  readonly writableNeedDrain = false;
  on(): void {}
  off(): void {}
}

function asking(stage: Stage, daemon: Daemon) {
  const links = join(stage.directory, 'links');
  return async (words: readonly string[], signal?: AbortSignal, output = new Output()) => {
    const error = new Output();
    const code = await logs([...words, '--agent', `http://${daemon.address}`, '--links', links], output, error, signal);
    return { code, out: output.text, err: error.text };
  };
}

t.test('what a container has written', async (t) => {
  const stage = await Stage.open();
  t.teardown(() => stage.close());
  stage.manifest('a.yaml', stage.pod('a', 'busybox', 'log=100/s'));
  stage.manifest('b.yaml', stage.pod('b', 'busybox', 'run=300ms,exit=1,log=20/s; run=forever,log=10/s'));
  stage.manifest('c.yaml', stage.pod('c', 'nowhere.invalid/x', 'log=1/s'));
  const daemon = await stage.start();
  const ask = asking(stage, daemon);
  await until('a runs and b was restarted', () => phaseOf(daemon, 'a-n1') === 'Running' && podNamed(daemon, 'b-n1')?.status?.containerStatuses?.[0]?.restartCount === 1);
  await until('a has written', async () => (await ask(['a'])).out.split('\n').length > 5);

  const { out } = await ask(['a', '--tail', '2']);
  t.match(out, /^line (\d+) of c\nline \d+ of c\n$/);
  t.match((await ask(['a-n1', '-c', 'c', '--limit-bytes=6', '--since', '1h'])).out, 'line 1');
  t.match((await ask(['a', '--tail=1', '--timestamps'])).out, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z line \d+ of c\n$/);
  const before = await ask(['b', '-p']);
  t.match(before, { code: 0, err: '' });
  t.match(before.out, /^line 1 of c\n/);
  await until('c waits', () => podNamed(daemon, 'c-n1')?.status?.containerStatuses?.[0]?.state?.waiting?.reason === 'ImagePullBackOff');
  const rows: readonly (readonly [readonly string[], number, RegExp])[] = [
    [['c'], 1, /container "c" in pod "c-n1" is waiting to start: trying and failing to pull image/],
    [['a', '-p'], 1, /previous terminated container "c" in pod "a-n1" not found/],
    [['a', '-c', 'x'], 1, /container "x" not found in pod "a-n1"/],
    [['nobody'], 1, /pod "nobody" does not exist/],
    [['a', '-n', 'other'], 1, /pod "a" does not exist/],
    [['a', '--tail', 'x'], 2, /--tail: a number of lines/],
    [['a', '--since', '5'], 2, /--since: a time such as/],
    [['a', 'b'], 2, /one pod at a time/],
    [[], 2, /which pod\?/],
    [['a', '--colour'], 2, /unknown option --colour/],
  ];
  for (const [words, code, message] of rows) {
    const answer = await ask(words);
    t.equal(answer.code, code, words.join(' '));
    t.match(answer.err, message);
    t.equal(answer.out, '');
  }
});

t.test('followed across rotations, no line is missing and none is doubled', async (t) => {
  const stage = await Stage.open();
  t.teardown(() => stage.close());
  stage.configurationMore = 'containerLogMaxSize: 2Ki\ncontainerLogMaxFiles: 3\ncontainerLogMonitorInterval: 3s\n';
  stage.manifest('a.yaml', stage.pod('a', 'busybox', 'log=200/s'));
  const daemon = await stage.start();
  await until('it runs', () => phaseOf(daemon, 'a-n1') === 'Running' && existsSync(join(stage.directory, 'links')) && readdirSync(join(stage.directory, 'links')).length === 1);
  const output = new Output();
  const abort = new AbortController();
  const following = asking(stage, daemon)(['a', '-f'], abort.signal, output);
  const [link = ''] = readdirSync(join(stage.directory, 'links'));
  const directory = dirname(readlinkSync(join(stage.directory, 'links', link)));
  await until(
    'it was rotated twice',
    () => readdirSync(directory).filter((name) => /^0\.log\.\d{8}-\d{6}(\.gz)?$/.test(name)).length === 2 && readdirSync(directory).some((name) => name.endsWith('.gz')),
  );
  const written = output.text.length;
  await until('it goes on', () => output.text.length > written + 500);
  abort.abort();
  t.match(await following, { code: 0, err: '' });
  const numbers = output.text
    .split('\n')
    .slice(0, -1)
    .map((line) => Number(/^line (\d+) of c$/.exec(line)?.[1]));
  t.strictSame(
    numbers,
    numbers.map((_, i) => i + 1),
    `${numbers.length} lines`,
  );
  t.equal(stage.log.find('Failed to rotate'), undefined);
});
