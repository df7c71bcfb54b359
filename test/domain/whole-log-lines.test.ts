// Whole lines of a log: the beginning of the last ones against plain counting, and KB047, interleaved parts of lines of two streams.
import fc from 'fast-check';
import t from 'tap';
import { containerOfLogs } from '../../src/domain/logs/log-container.js';
import type { LogReadOptions, LogStream } from '../../src/domain/values/log-read-options.js';
import { endWholeLines, readWholeLine, startWholeLines, unsupportedLog, wantsWholeLine } from '../../src/domain/values/whole-log-lines.js';
import { nextTailBlock, searchWholeLineTail, startWholeLineTail } from '../../src/domain/values/whole-log-tail.js';
import type { ContainerStatus } from '../../src/ports/model/pod-status.js';

const everything: LogReadOptions = { tailLines: null, limitBytes: null, since: null, timestamps: false, streams: ['stdout', 'stderr'], follow: false };

/** The content of a file, with its tail searched from the end, as pieces of one stream each. */
function read(file: Buffer, over: Partial<LogReadOptions> = {}): { readonly stream: LogStream; readonly text: string }[] {
  const options = { ...everything, ...over };
  let from = 0;
  let reading = startWholeLines(options);
  if (options.tailLines !== null) {
    const tail = startWholeLineTail(options.tailLines, file.length);
    let step = nextTailBlock(tail);
    while (step.kind === 'read') step = searchWholeLineTail(tail, file.subarray(step.offset, step.offset + step.length));
    from = step.offset;
    reading = startWholeLines(options, step.skip);
  }
  const pieces: { stream: LogStream; text: string }[] = [];
  for (let at = from; at < file.length && wantsWholeLine(reading); ) {
    const newline = file.indexOf('\n', at);
    const end = newline < 0 ? file.length : newline + 1;
    const step = readWholeLine(reading, file.subarray(at, end));
    at = end;
    for (const { stream, bytes } of step.chunks) pieces.push({ stream, text: Buffer.from(bytes).toString() });
    if (step.isDone) return pieces;
  }
  const problem = unsupportedLog(reading);
  if (problem !== null) throw new Error(problem);
  for (const { stream, bytes } of endWholeLines(reading)) pieces.push({ stream, text: Buffer.from(bytes).toString() });
  return pieces;
}

const textOf = (file: Buffer, over: Partial<LogReadOptions> = {}): string =>
  read(file, over)
    .map(({ text }) => text)
    .join('');

/** A record of second `at`. */
const record = (at: number, stream: LogStream, tag: 'P' | 'F', text: string): string => `2026-01-01T00:00:${String(at).padStart(2, '0')}Z ${stream} ${tag} ${text}\n`;
const time = (at: number): string => `2026-01-01T00:00:${String(at).padStart(2, '0')}.000000000Z`;

const k16 = 16 * 1024;
const [a, b, c, x, y, last] = ['a', 'b', 'c', 'x', 'y', 'l'].map((letter) => letter.repeat(k16)) as [string, string, string, string, string, string];
/** A line of stdout in three parts with one of stderr in two between them, then a whole one, and the beginning of one. */
const split = Buffer.from(
  [
    record(1, 'stdout', 'P', a),
    record(2, 'stderr', 'P', x),
    record(3, 'stdout', 'P', b),
    record(4, 'stderr', 'F', y),
    record(5, 'stdout', 'F', c),
    record(6, 'stdout', 'F', 'short'),
    record(7, 'stdout', 'P', last),
  ].join(''),
);

t.test('KB047 parts of long lines', async (t) => {
  t.equal(textOf(split), `${x}${y}\n${a}${b}${c}\nshort\n${last}`, 'streams are kept apart, the end gets no newline');
  t.equal(textOf(split, { timestamps: true }), `${time(2)} ${x}${y}\n${time(1)} ${a}${b}${c}\n${time(6)} short\n${time(7)} ${last}`, 'one timestamp a line');
  t.equal(textOf(split, { tailLines: 1, timestamps: true }), `${time(7)} ${last}`, 'the line that has not ended counts');
  t.equal(textOf(split, { tailLines: 2 }), `short\n${last}`);
  t.equal(
    textOf(split, { tailLines: 3, timestamps: true }),
    `${time(1)} ${a}${b}${c}\n${time(6)} short\n${time(7)} ${last}`,
    'a line counts with all its parts, and nothing between them',
  );
  t.equal(textOf(split, { tailLines: 3, streams: ['stdout'] }), `${a}${b}${c}\nshort\n${last}`);
  t.equal(textOf(split, { tailLines: 4 }), textOf(split));
  t.equal(textOf(split, { tailLines: 0 }), '');
  t.equal(textOf(split, { since: time(2), timestamps: true }), `${time(2)} ${x}${y}\n${time(6)} short\n${time(7)} ${last}`, 'a line is as old as its first part');
  t.equal(textOf(split, { limitBytes: 100, timestamps: true }), `${time(2)} ${x}`.slice(0, 100));
  t.equal(textOf(split, { tailLines: 1, limitBytes: 100, timestamps: true, since: time(7) }), `${time(7)} ${last}`.slice(0, 100), 'all of it at once');
});

t.test('what is no line, and lines without end', async (t) => {
  t.equal(textOf(Buffer.from(`${record(1, 'stdout', 'F', 'one')}junk\n${record(2, 'stdout', 'F', 'two')}`), { tailLines: 2 }), 'one\ntwo\n', 'junk does not count');
  t.throws(() => read(Buffer.from('junk\nmore junk\n'), { tailLines: 1 }), /unsupported log format: "junk\\n"/);
  t.throws(() => read(Buffer.from('junk\n')), /unsupported log format/);
  t.equal(textOf(Buffer.from(`${record(1, 'stdout', 'F', 'one')}2026-01-01T00:00:02Z stdout F tw`), { tailLines: 1 }), 'tw', 'a record that is being written');
  const json = (at: number, log: string): string => `${JSON.stringify({ log, stream: 'stdout', time: `2026-01-01T00:00:0${at}Z` })}\n`;
  const docker = json(1, 'one\n') + json(2, 'tw') + json(3, 'o\n');
  t.equal(textOf(Buffer.from(docker), { tailLines: 1, timestamps: true }), `${time(2)} two\n`);
  const endless = Buffer.from(Array.from({ length: 100 }, () => record(1, 'stdout', 'P', a)).join(''));
  t.ok(
    read(endless).every(({ text }) => text.length <= 1024 * 1024 + k16),
    'a line of many parts is not held for ever',
  );
  t.equal(textOf(endless).length, 100 * k16);
});

t.test('the tail, whatever the parts', async (t) => {
  const part = fc.tuple(
    fc.constantFrom<LogStream>('stdout', 'stderr'),
    fc.constantFrom<'P' | 'F'>('P', 'F'),
    fc.string({ unit: fc.constantFrom('a', 'é', ' '), minLength: 1, maxLength: 9 }),
  );
  const whole = part.map(([stream, tag, text]) => record(1, stream, tag, text));
  const torn = fc.tuple(whole, fc.integer({ min: 1, max: 12 })).map(([text, cut]) => `${text.slice(0, -cut)}\0\0\0`);
  const logs = fc.array(fc.oneof({ weight: 9, arbitrary: whole }, torn, fc.constantFrom('junk\n', '\n', '\0\0', '\0\n')), {
    minLength: 1,
    maxLength: 40,
  });
  const property = fc.property(logs, fc.nat({ max: 20 }), fc.boolean(), (records, lines, timestamps) => {
    // A line that never ends counts where its last part is, but is given at the end: so both streams come to the end of a line.
    const file = Buffer.from([record(0, 'stdout', 'F', 'first'), ...records, record(2, 'stderr', 'F', 'x'), record(2, 'stdout', 'F', 'y'), record(3, 'stderr', 'P', 'z')].join(''));
    const all = read(file, { timestamps });
    const some = read(file, { timestamps, tailLines: lines });
    return JSON.stringify(some) === JSON.stringify(all.slice(Math.max(0, all.length - lines)));
  });
  t.doesNotThrow(() => fc.assert(property, { numRuns: 500 }), 'the last whole lines of all');
  const blocks = Buffer.from(Array.from({ length: 20_000 }, (_, i) => record(1, i % 3 === 0 ? 'stderr' : 'stdout', 'F', `line ${i}`)).join(''));
  t.equal(textOf(blocks, { tailLines: 15_000 }).split('\n')[0], 'line 5000', 'over many blocks');
});

t.test('a host that lost power: what is not there hides nothing but itself', async (t) => {
  const one = record(1, 'stdout', 'F', 'one');
  const two = record(2, 'stdout', 'F', 'two');
  const docker = `${JSON.stringify({ log: 'one\n', stream: 'stdout', time: '2026-01-01T00:00:01Z' })}\n`;
  const nuls = (count: number): string => '\0'.repeat(count);
  const rows: readonly (readonly [string, string, string])[] = [
    ['NULs before the first record', nuls(4096) + one, 'one\n'],
    ['one NUL', nuls(1) + one, 'one\n'],
    ['NULs, and nothing on their line', `${nuls(9)}\n${one}`, 'one\n'],
    ['a blank line', `\n\r\n \n${one}`, 'one\n'],
    ['the end of a record', `rest of a record\n${one}`, 'one\n'],
    ['NULs in the middle', one + nuls(300) + two, 'one\ntwo\n'],
    ['NULs several times', nuls(3) + one + nuls(3) + two + nuls(3), 'one\ntwo\n'],
    ['a record that is cut off', one + two.slice(0, -2) + nuls(3) + two, 'one\ntw\ntwo\n'],
    ['a part that is cut off', record(1, 'stdout', 'P', 'par').slice(0, -2) + nuls(3) + two, 'pa\ntwo\n'],
    ['a time that is cut off', one + two.slice(0, 9) + nuls(3) + two, 'one\ntwo\n'],
    ['NULs of the container', record(1, 'stdout', 'F', `a${nuls(2)}b 1 2`), `a${nuls(2)}b 1 2\n`],
    ['a record of Docker', nuls(70) + docker + nuls(7) + docker, 'one\none\n'],
    ['nothing but NULs', nuls(5000), ''],
    ['nothing but blank lines', '\n\n', ''],
  ];
  for (const [what, file, expected] of rows) {
    t.equal(textOf(Buffer.from(file)), expected, what);
    const texts = expected.split('\n').slice(0, -1);
    for (let lines = 0; lines <= texts.length; lines++) {
      const tail = texts.slice(texts.length - lines).map((text) => `${text}\n`);
      t.equal(textOf(Buffer.from(file), { tailLines: lines }), tail.join(''), `${what}, the last ${lines}`);
    }
  }
  const long = Buffer.concat([Buffer.from(one + two.slice(0, -2)), Buffer.alloc(5 * 1024 * 1024), Buffer.from(two)]);
  t.equal(textOf(long, { tailLines: 1 }), 'two\n', 'five megabytes of them');
});

t.test('which container is meant', async (t) => {
  const container = (state: ContainerStatus['state'], last: ContainerStatus['lastState'] = undefined, containerID = 'x://now'): ContainerStatus => ({
    name: 'c',
    ready: false,
    restartCount: 0,
    image: '',
    imageID: '',
    containerID,
    ...(state === undefined ? {} : { state }),
    ...(last === undefined ? {} : { lastState: last }),
  });
  const ended = (containerID?: string) => ({ terminated: { exitCode: 0, ...(containerID === undefined ? {} : { containerID }) } });
  const rows: readonly (readonly [string, ContainerStatus | null, boolean, string])[] = [
    ['one that runs', container({ running: {} }), false, 'x://now'],
    ['one that ended', container(ended('x://then')), false, 'x://then'],
    ['one that ended without an id, and ran before', container(ended(), ended('x://last')), false, 'x://last'],
    ['one that ended without any id', container(ended()), false, 'container "c" in pod "p" is terminated'],
    ['one that waits after it ran', container({ waiting: { reason: 'CrashLoopBackOff' } }, ended('x://last')), false, 'x://last'],
    ['one that waits', container({ waiting: { reason: 'ContainerCreating' } }), false, 'container "c" in pod "p" is waiting to start: ContainerCreating'],
    ['an image that fails', container({ waiting: { reason: 'ErrImagePull' } }), false, 'container "c" in pod "p" is waiting to start: image can\'t be pulled'],
    ['an image that failed', container({ waiting: { reason: 'ImagePullBackOff' } }), false, 'container "c" in pod "p" is waiting to start: trying and failing to pull image'],
    ['one without a state', container(undefined), false, 'container "c" in pod "p" is waiting to start - no logs yet'],
    ['one without a status', null, false, 'container "c" in pod "p" is not available'],
    ['the previous one', container({ running: {} }, ended('x://last')), true, 'x://last'],
    ['no previous one', container({ running: {} }), true, 'previous terminated container "c" in pod "p" not found'],
  ];
  for (const [what, status, previous, expected] of rows) {
    const found = containerOfLogs('p', { containerStatuses: status === null ? [] : [status] }, 'c', previous);
    t.equal(found.kind === 'found' ? found.containerId : found.message, expected, what);
  }
  t.match(containerOfLogs('p', { initContainerStatuses: [container({ running: {} })] }, 'c', false), { kind: 'found' });
});
