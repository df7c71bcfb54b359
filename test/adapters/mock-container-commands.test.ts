// The programs and the shell of mock containers, run as kubectl would run them.
import t from 'tap';
import { until } from '../support/until.js';
import { codeOf, run, stand } from './mock-streams.js';

t.setTimeout(300_000);

/** Command, input, exit code, output, errors. */
const commands: readonly (readonly [command: readonly string[], input: string | null, code: number, stdout: string | RegExp, stderr: string | RegExp])[] = [
  [['true'], null, 0, '', ''],
  [['/bin/false'], null, 1, '', ''],
  [['echo', '-n', 'a', 'b c'], null, 0, 'a b c', ''],
  [['cat'], 'hello', 0, 'hello', ''],
  [['cat', '/none'], null, 1, '', "cat: can't open '/none': No such file or directory\n"],
  [['env'], null, 0, /^PATH=.*\nHOSTNAME=p\nHOME=\/root\nCOLOUR=green\n$/, ''],
  [['printenv', 'COLOUR'], null, 0, 'green\n', ''],
  [['printenv', 'SHAPE'], null, 1, '', ''],
  [['hostname'], null, 0, 'p\n', ''],
  [['pwd'], null, 0, '/\n', ''],
  [['nope', '-x'], null, 127, '', /^nope: not found: a mock container has no such program, only sh .*cat/],
  [['sleep', 'x'], null, 1, '', "sleep: invalid number 'x'\n"],
  [['tty'], null, 1, 'not a tty\n', ''],
  [['sh', '-c', 'exit 7'], null, 7, '', ''],
  [['sh', '-c', 'echo out; echo err >&2; exit 3'], null, 3, 'out\n', 'err\n'],
  [['sh', '-c', 'true && echo yes || echo no'], null, 0, 'yes\n', ''],
  [['sh', '-c', 'false && echo yes || echo "no $?"'], null, 0, 'no 1\n', ''],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a shell's own
  [['sh', '-c', "X='a b'; echo \"$X\" ${X}c '$X'"], null, 0, 'a b a bc $X\n', ''],
  [['sh', '-c', 'seq 5 | head -n 2 | wc -l'], null, 0, '2\n', ''],
  [['sh', '-c', 'seq 1 100000 | head -n 1'], null, 0, '1\n', ''],
  [['sh', '-c', 'cat > /tmp/f; wc -c < /tmp/f; echo more >> /tmp/f; cat /tmp/f; rm /tmp/f; ls /tmp'], 'four', 0, '4\nfourmore\n', ''],
  [['sh', '-c', 'echo x > /no/where'], null, 1, '', /can't create a file: No such file or directory/],
  [['sh', '-c', 'cd /tmp && pwd; cd /none'], null, 2, '/tmp\n', /can't cd to \/none/],
  [['sh', '-c', 'read A; read B; echo $B$A'], 'one\ntwo\n', 0, 'twoone\n', ''],
  [['sh', '-c', 'nope 2>/dev/null; echo $?'], null, 0, '127\n', ''],
  [['sh', '-c', 'echo $(date)'], null, 2, '', /does not know \(/],
  [['sh', '-c', 'sleep 1 &'], null, 2, '', /does not know &/],
  [['sh', '-c', 'sh -c "sh -c \\"exit 9\\""'], null, 9, '', ''],
  [['sh'], 'echo from input\nexit 4\n', 4, 'from input\n', ''],
  [['sh', '-c', 'test -d /tmp && [ a = a ] && test -f /x'], null, 1, '', ''],
  [['tar', 'xf', '-', '-C', '/tmp'], 'no archive, but long enough to be looked at '.repeat(20), 1, '', ''],
];

t.test('commands', async (t) => {
  const at = await stand(t);
  for (const [command, input, code, stdout, stderr] of commands.slice(0, -1)) {
    const ran = await run(at, command, input);
    const sentence = command.join(' ');
    t.equal(codeOf(ran), code, sentence);
    for (const [got, want] of [
      [ran.stdout, stdout],
      [ran.stderr, stderr],
    ] as const) {
      if (typeof want === 'string') t.equal(got, want, sentence);
      else t.match(got, want, sentence);
    }
  }
  const failed = await run(at, ['sh', '-c', 'exit 7']);
  t.match(failed.status, {
    status: 'Failure',
    reason: 'NonZeroExitCode',
    message: 'command terminated with non-zero exit code: error executing command [sh -c exit 7], exit code 7',
  });
  const spoiled = await run(at, ['tar', 'xf', '-'], commands.at(-1)?.[1] ?? '');
  t.match(spoiled.status, { status: 'Failure' }, 'what is no archive is an error');
  const large = Buffer.alloc(3_000_000, 'some input ');
  t.ok((await run(at, ['cat'], large)).stdout === large.toString(), 'three megabytes there and back');
  t.equal((await run(at, ['sh', '-c', 'echo done'], large)).stdout, 'done\n', 'input that nobody reads holds up nothing');
  await until('no connection is left', () => at.server.streams.connections === 0);
});

t.test('the model says how commands end, as for probes', async (t) => {
  const failing = await stand(t, 'exec-exit=3');
  t.match(await run(failing, ['echo', 'x']), { stdout: '', stderr: 'echo x: failed\n', status: { status: 'Failure' } });
  t.equal(codeOf(await run(failing, ['echo', 'x'])), 3);
  const unhealthy = await stand(t, 'healthy=1h');
  t.equal(codeOf(await run(unhealthy, ['true'])), 1, 'what is unhealthy fails');
  const slow = await stand(t, 'exec=300ms');
  const began = performance.now();
  t.equal((await run(slow, ['echo', 'x'])).stdout, 'x\n');
  t.ok(performance.now() - began > 250);
});
