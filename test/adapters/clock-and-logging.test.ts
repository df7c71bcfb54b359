// The daemon's two clocks, and what log lines look like and leave out.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fc from 'fast-check';
import t from 'tap';
import { type LoggerOptions, LoggingEventSink, PinoLogger, RepeatLimitingLogger, redactedFields, redactedText } from '../../src/adapters/logging/index.js';
import { type ClockStep, WallAnchoredClock } from '../../src/adapters/time/index.js';
import { epochMicros } from '../../src/domain/values/instant.js';
import type { EventRecord } from '../../src/ports/outbound/event-sink.js';

const start = 1_700_000_000_000;

/** A clock over two hands that the test moves, in milliseconds. */
function clockOver(wall = start, monotonic = 5) {
  const hands = { wall, monotonic };
  const steps: ClockStep[] = [];
  const clock = new WallAnchoredClock((step) => steps.push(step), { wallMillis: () => hands.wall, monotonicMillis: () => hands.monotonic });
  return { hands, steps, clock };
}

t.test('the two clocks', async (t) => {
  const { hands, steps, clock } = clockOver();
  t.equal(clock.now(), start * 1000);
  hands.monotonic += 1.2345;
  t.equal(clock.now(), start * 1000 + 1234, 'microseconds come from the monotonic clock');
  for (const by of [900, -900]) hands.wall += by;
  clock.wall();
  t.strictSame(steps, [], 'less than a second apart is slewing');
  hands.wall += 7_200_000;
  t.equal(clock.now(), start * 1000 + 1234, 'intervals go on as if nothing was');
  t.equal(epochMicros(clock.wall()), hands.wall * 1000, 'stamps follow');
  clock.wall();
  t.match(steps, [{ direction: 'forward', by: 7_200_000_000 - 1234 }], 'and it is reported once');
  hands.wall -= 14_400_000;
  t.equal(clock.now(), start * 1000 + 1234);
  t.equal(epochMicros(clock.wall()), hands.wall * 1000);
  t.match(steps.slice(1), [{ direction: 'back', by: 14_400_000_000 }]);
  hands.wall -= 5_000;
  clock.wall();
  t.match(steps.slice(2), [{ direction: 'back', by: 5_000_000 }], 'a further one is reported again');
});

t.test('whatever the wall clock does, intervals are those of the monotonic clock', async (t) => {
  const moves = fc.array(fc.record({ wall: fc.integer({ min: -100_000, max: 100_000 }), monotonic: fc.double({ min: 0, max: 5_000, noNaN: true }) }), { maxLength: 60 });
  fc.assert(
    fc.property(moves, (list) => {
      const { hands, clock } = clockOver();
      const first = clock.now() - hands.monotonic * 1000;
      return list.every(({ wall, monotonic }) => {
        hands.wall += wall;
        hands.monotonic += monotonic;
        const now = clock.now();
        return Number.isSafeInteger(now) && Math.abs(now - first - hands.monotonic * 1000) < 2 && epochMicros(clock.wall()) === hands.wall * 1000;
      });
    }),
  );
  t.pass();
});

function logging(options: Partial<LoggerOptions> = {}) {
  const lines: string[] = [];
  const now = new Date(2026, 10, 27, 23, 39, 53, 123).getTime() * 1000 + 456;
  const logger = PinoLogger.create({ format: 'text', verbosity: 0, now: () => now, pid: 12345, destination: { write: (line) => lines.push(line) }, ...options }, 'agent.ts');
  return { lines, logger, now };
}

t.test('text as klog writes it', async (t) => {
  const { lines, logger } = logging();
  logger.log('info', 'Pod "web" started', { pod: 'default/web', attempt: 2, ready: false, ip: null, ids: ['a', 'b'], gone: undefined, 'odd key': 1 });
  logger.named('probe.ts').log('error', 'two\nlines\u2028', { err: new Error('no\nluck') });
  logger.log('warn', 'w');
  logger.log('debug', 'not shown');
  t.strictSame(lines, [
    'I1127 23:39:53.123456   12345 agent.ts:1] "Pod \\"web\\" started" pod="default/web" attempt=2 ready=false ip=null ids=["a","b"] "odd key"=1\n',
    'E1127 23:39:53.123456   12345 probe.ts:1] "two\\nlines\\u2028" err="no\\nluck"\n',
    'W1127 23:39:53.123456   12345 agent.ts:1] "w"\n',
  ]);
  t.notOk(logger.shows('debug'));
  const other = logger.named('other.ts');
  logger.setVerbosity(4);
  other.log('debug', 'shown');
  t.equal(lines.at(-1), 'I1127 23:39:53.123456   12345 other.ts:1] "shown"\n');
});

t.test('JSON', async (t) => {
  const { lines, logger, now } = logging({ format: 'json', verbosity: 4 });
  logger.named('probe.ts').log('debug', 'x', { pod: 'a/b', err: new Error('bad'), big: 12345678901234567890n });
  logger.log('error', 'y');
  const parsed = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  t.strictSame(parsed, [
    { level: 'debug', ts: now / 1000, pid: 12345, pod: 'a/b', err: 'bad', big: '12345678901234567890', caller: 'probe.ts:1', v: 4, msg: 'x' },
    { level: 'error', ts: now / 1000, pid: 12345, caller: 'agent.ts:1', msg: 'y' },
  ]);
});

const sentinel = 'S3CR3T';
const secretFields: readonly Record<string, unknown>[] = [
  { token: sentinel, bearerToken: sentinel, password: sentinel, identityTokens: [sentinel, sentinel] },
  { auth: { password: sentinel, nested: [{ apiKey: sentinel }] } },
  { env: [{ name: 'A', value: sentinel }, `B=${sentinel}`, sentinel] },
  { config: { envs: [{ key: 'A', value: sentinel }], environment: { A: sentinel } } },
  { container: { env: new Map([['A', sentinel]]) } },
  { object: { kind: 'Secret', data: { a: sentinel }, stringData: { b: sentinel } } },
  { command: ['run', `--token=${sentinel}`, `--db-password='${sentinel}'`, '--api-key', sentinel, `DB_PASSWORD=${sentinel}`] },
  { header: `Authorization: Bearer ${sentinel}` },
  { url: `https://user:${sentinel}@example.org/x` },
  { err: new Error(`login with password=${sentinel} failed`) },
  { text: `{"password":"${sentinel}"}` },
  { key: `-----BEGIN RSA PRIVATE KEY-----\n${sentinel}\n-----END RSA PRIVATE KEY-----` },
  { jwt: `eyJ${sentinel}.${sentinel}.${sentinel}` },
  { bytes: new TextEncoder().encode(sentinel), tokens: new Set([sentinel]), passwords: new Map([['a', sentinel]]) },
];

t.test('secrets are in neither format', async (t) => {
  for (const format of ['text', 'json'] as const) {
    const { lines, logger } = logging({ format });
    for (const fields of secretFields) logger.log('info', `password: ${sentinel}`, fields);
    t.equal(lines.length, secretFields.length);
    t.strictSame(
      lines.filter((line) => line.includes(sentinel)),
      [],
      format,
    );
  }
  t.strictSame(
    redactedFields({
      secret: { secretName: 'web-tls' },
      automountServiceAccountToken: true,
      imagePullSecrets: [{ name: 'reg' }],
      env: [{ name: 'A', valueFrom: { fieldRef: 'x' } }],
      tokenCount: 3,
    }),
    {
      secret: { secretName: 'web-tls' },
      automountServiceAccountToken: true,
      imagePullSecrets: [{ name: 'reg' }],
      env: [{ name: 'A', valueFrom: { fieldRef: 'x' } }],
      tokenCount: 3,
    },
    'what names a secret without being one is shown',
  );
});

t.test('what is logged has a bounded size, and nothing stops the caller', async (t) => {
  const { lines, logger } = logging();
  const loop: { self?: unknown } = {};
  loop.self = loop;
  const hostile = Object.defineProperty({}, 'x', { enumerable: true, get: () => JSON.parse('{') as unknown });
  logger.log('info', 'm'.repeat(1_000_000), { loop, list: Array.from({ length: 10_000 }, (_, i) => i), long: 'x'.repeat(1_000_000), call: () => 1 });
  t.ok(lines[0]!.length < 60_000, `${lines[0]!.length} characters`);
  t.equal(logger.failure, null);
  logger.log('info', 'hostile', { hostile });
  t.match(logger.failure, /JSON/, 'a line that could not be made is the log’s failure, not the caller’s');
  logger.log('info', 'fine');
  t.equal(logger.failure, null);
  const full = logging({
    destination: {
      write: () => {
        throw new Error('ENOSPC');
      },
    },
  });
  full.logger.log('info', 'lost');
  t.equal(full.logger.failure, 'ENOSPC');
  const began = performance.now();
  for (const text of ['MountVolume.SetUp failed for volume "api-token" : failed to sync', 'failed to fetch token: serviceaccounts "x" not found'])
    t.equal(redactedText(text), text);
  t.equal(redactedText('token: abc, secret = x'), 'token: [redacted], secret = [redacted]');
  for (const unit of ['volume "', 'token', 'eyJ.', '://a:', 'Bearer ', '-----BEGIN ', 'password=']) redactedText(unit.repeat(16_384 / unit.length));
  t.ok(performance.now() - began < 5_000, 'no pattern takes more than linear time');
});

const talker = `
  const { PinoLogger, standardErrorDestination } = await import(process.argv[1]);
  const errors = [];
  const destination = standardErrorDestination((error) => errors.push(error.code));
  const logger = PinoLogger.create({ format: process.argv[2], verbosity: 0, now: () => 0, pid: 1, destination }, 'talker.ts');
  logger.log('info', 'before');
  process.stdin.once('data', () => {
    for (let i = 0; i < 3; i++) logger.log('info', 'after');
    setImmediate(() => {
      console.log(JSON.stringify({ errors: errors.length > 0, failure: logger.failure !== null }));
      process.exit(7);
    });
  });`;

t.test('standard error: written at once, and a reader that went away does not end the program', async (t) => {
  const logging = new URL('../../src/adapters/logging/index.js', import.meta.url).href;
  for (const format of ['text', 'json']) {
    const child = spawn(process.execPath, ['--input-type=module', '-e', talker, logging, format], { stdio: ['pipe', 'pipe', 'pipe'] });
    const exited = once(child, 'exit');
    const [first] = (await once(child.stderr, 'data')) as [Buffer];
    t.match(first.toString(), format === 'text' ? / 1 talker\.ts:1\] "before"\n$/ : /"caller":"talker\.ts:1","v":0,"msg":"before"\}\n$/);
    child.stderr.destroy();
    await once(child.stderr, 'close');
    child.stdin.end('go');
    const [said] = (await once(child.stdout, 'data')) as [Buffer];
    t.match(JSON.parse(said.toString()), { errors: true }, 'and is told');
    t.strictSame(await exited, [7, null]);
  }
});

t.test('events go to the log, and the latest are kept', async (t) => {
  const { lines, logger, now } = logging();
  const sink = new LoggingEventSink(logger, () => now, 3);
  const event = (reason: string): EventRecord => ({
    involvedObject: { apiVersion: 'v1', kind: 'Pod', namespace: 'default', name: 'web', uid: 'u', fieldPath: 'spec.containers{app}' },
    type: reason === 'BackOff' ? 'Warning' : 'Normal',
    reason,
    message: 'm',
  });
  for (const reason of ['Pulled', 'Created', 'Started', 'BackOff', 'Killing']) t.equal(await sink.record(event(reason)), null);
  t.strictSame([sink.latest().map(({ at, record }) => [at, record.reason]), sink.dropped], [['Started', 'BackOff', 'Killing'].map((reason) => [now, reason]), 2]);
  const subject = 'object="default/web" fieldPath="spec.containers{app}" kind="Pod" apiVersion="v1"';
  t.equal(lines[3], `W1127 23:39:53.123456   12345 agent.ts:1] "Event occurred" ${subject} type="Warning" reason="BackOff" message="m"\n`);
  const none = new LoggingEventSink(logger, () => now, 0);
  await none.record(event('Pulled'));
  t.strictSame([none.latest(), none.dropped], [[], 1]);
});

t.test('warnings and errors that repeat are shown once in five minutes, of each source', async (t) => {
  const { lines, logger } = logging();
  let at = 0;
  const limited = RepeatLimitingLogger.around(logger, () => at);
  const event = limited.named('event.ts');
  const fields = { object: 'default/web', reason: 'FailedMount', err: 'x' };
  for (at = 0; at < 1800 * 1_000_000; at += 10_000_000) {
    event.log('warn', 'Event occurred', { ...fields, err: `try ${at}` });
    limited.named('other.ts').log('warn', 'Event occurred', fields);
    if (at < 30_000_000) limited.log('info', 'news');
  }
  t.equal(lines.filter((line) => line.includes('event.ts')).length, 6);
  t.equal(lines.filter((line) => line.includes('other.ts')).length, 6);
  t.equal(lines.filter((line) => line.includes('news')).length, 3);
  t.match(
    lines.findLast((line) => line.includes('event.ts')),
    /repeated=29/,
  );
  t.equal(limited.shows('debug'), false);
});
