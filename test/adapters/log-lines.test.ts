// Log lines in klog's format: each kind of value, verbosity, and destinations.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { type LoggerOptions, PinoLogger } from '../../src/adapters/logging/index.js';

const now = new Date(2026, 0, 2, 15, 4, 5, 6).getTime() * 1000 + 7;

function logging(options: Partial<LoggerOptions> = {}) {
  const errors: string[] = [];
  const others: string[] = [];
  const destination = { write: (line: string) => void errors.push(line) };
  const othersTo = { write: (line: string) => void others.push(line) };
  return { errors, others, logger: PinoLogger.create({ format: 'text', verbosity: 0, now: () => now, pid: 7, destination, othersTo, ...options }, 'kubelet') };
}

/** What klog's own readers take a header for. */
const header = /^([IWEF])(\d{4}) (\d{2}:\d{2}:\d{2}\.\d{6}) +(\d+) ([\w.-]+):(\d+)\] /;

t.test('values as klog writes them', (t) => {
  const rows: readonly (readonly [what: string, key: string, value: unknown, shown: string])[] = [
    ['a text', 'k', 'a b', 'k="a b"'],
    ['a text that is empty', 'k', '', 'k=""'],
    ['quotes and backslashes', 'k', 'say "x\\y"', 'k="say \\"x\\\\y\\""'],
    ['line ends and tabs', 'k', 'a\nb\tc\r', 'k="a\\nb\\tc\\r"'],
    ['control characters', 'k', '\u0000\u0007\u001b[31m\u007f', 'k="\\x00\\a\\x1b[31m\\x7f"'],
    ['what some take for an end of a line', 'k', 'a\u2028b\u0085c', 'k="a\\u2028b\\u0085c"'],
    ['letters of everywhere', 'k', 'ä日🙂', 'k="ä日🙂"'],
    ['a number', 'n', 1.5, 'n=1.5'],
    ['a large number', 'n', 12345678901234567890n, 'n="12345678901234567890"'],
    ['yes and no', 'b', false, 'b=false'],
    ['nothing', 'x', null, 'x=null'],
    ['a list', 'l', ['a', 'b'], 'l=["a","b"]'],
    ['an object', 'o', { a: 1 }, 'o={"a":1}'],
    ['an error', 'err', new Error('went\nwrong'), 'err="went\\nwrong"'],
    ['a pod', 'pod', 'default/web', 'pod="default/web"'],
    ['its uid', 'podUID', '1-2', 'podUID="1-2"'],
    ['a container', 'containerName', 'app', 'containerName="app"'],
    ['a key that is odd', 'a b=c', 1, '"a b=c"=1'],
    ['a key with a line end', 'a\nb', 1, '"a\\nb"=1'],
  ];
  const { others, logger } = logging();
  for (const [what, key, value, shown] of rows) {
    logger.log('info', 'Said "it"', { [key]: value });
    t.equal(others.pop(), `I0102 15:04:05.006007       7 kubelet.ts:1] "Said \\"it\\"" ${shown}\n`, what);
  }
  t.end();
});

t.test('headers, and the stream that each level goes to', (t) => {
  for (const [level, letter, stream] of [
    ['error', 'E', 'errors'],
    ['warn', 'W', 'others'],
    ['info', 'I', 'others'],
    ['debug', 'I', 'others'],
  ] as const) {
    const { errors, others, logger } = logging({ verbosity: 4 });
    logger.log(level, 'm');
    const [line = ''] = stream === 'errors' ? errors : others;
    t.equal(errors.length + others.length, 1, level);
    t.equal(header.exec(line)?.[1], letter, `${level}: ${line}`);
    const json = logging({ verbosity: 4, format: 'json' });
    json.logger.log(level, 'm', { pod: 'a/b' });
    const parsed = JSON.parse((stream === 'errors' ? json.errors : json.others)[0] ?? '') as Record<string, unknown>;
    t.match(parsed, { ts: now / 1000, caller: 'kubelet.ts:1', msg: 'm', pod: 'a/b', ...(level === 'error' ? {} : { v: level === 'debug' ? 4 : 0 }) });
    t.equal('v' in parsed, level !== 'error', 'errors have no verbosity');
  }
  t.end();
});

t.test('who logs how much', (t) => {
  const rows: readonly (readonly [verbosity: number, pattern: string, of: number, source: string, shown: boolean])[] = [
    [0, 'probe', 4, 'probe', true],
    [0, 'probe', 4, 'probe.ts', true],
    [0, 'probe', 3, 'probe', false],
    [0, 'prob', 4, 'probe', false],
    [0, 'pro*', 9, 'probe', true],
    [0, 'pro??', 4, 'probe', true],
    [0, 'pro?', 4, 'probe', false],
    [0, '[a-p]robe', 4, 'probe', true],
    [0, '[^p]robe', 4, 'probe', false],
    [0, '*', 4, 'anything', true],
    [0, 'a.b', 4, 'axb', false],
    [0, '[', 4, '[', true],
    [4, 'probe', 0, 'probe', false],
    [4, 'probe', 0, 'other', true],
  ];
  for (const [verbosity, filePattern, of, source, shown] of rows) {
    const { logger } = logging({ verbosity, vmodule: [{ filePattern, verbosity: of }] });
    t.equal(logger.named(source).shows('debug'), shown, `-v=${verbosity} --vmodule=${filePattern}=${of}: ${source}`);
  }
  const { logger } = logging({
    vmodule: [
      { filePattern: 'a*', verbosity: 0 },
      { filePattern: '*', verbosity: 4 },
    ],
  });
  t.notOk(logger.named('ab').shows('debug'), 'the first that matches counts');
  logger.setVerbosity(9);
  t.notOk(logger.named('ab').shows('debug'), 'also when -v is raised');
  t.end();
});

/** Runs some lines in a process of its own, whose streams are seen from outside. */
function written(script: string): { readonly stdout: string; readonly stderr: string } {
  const face = fileURLToPath(new URL('../../src/adapters/logging/index.js', import.meta.url));
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', `import { standardDestinations } from ${JSON.stringify(face)};\n${script}`], {
    encoding: 'utf8',
  });
  return { stdout, stderr };
}

t.test('the streams of a process', (t) => {
  const lines = "errors.write('E one\\n'); others.write('I two\\n');";
  t.strictSame(written(`const { errors, others } = standardDestinations(null, () => {}); ${lines}`), { stdout: '', stderr: 'E one\nI two\n' });
  const split = (more: string, bufferBytes = 1_000_000) =>
    written(`const { errors, others } = standardDestinations({ bufferBytes: ${bufferBytes}, flushMillis: 10 }, () => {}); ${lines} ${more}`);
  t.strictSame(split('', 0), { stdout: 'I two\n', stderr: 'E one\n' }, 'without a buffer');
  t.strictSame(split(''), { stdout: 'I two\n', stderr: 'E one\n' }, 'what waits is written at the end');
  t.strictSame(split('process.exit(3);'), { stdout: 'I two\n', stderr: 'E one\n' }, 'at any end');
  t.strictSame(split("setTimeout(() => process.kill(process.pid, 'SIGKILL'), 500);"), { stdout: 'I two\n', stderr: 'E one\n' }, 'and after a while anyway');
  t.end();
});
