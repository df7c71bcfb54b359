// Warnings and errors that repeat: the first is logged, then one in five minutes, with how many were left out.
import t from 'tap';
import { Kernel } from '../../src/domain/kernel/kernel.js';
import type { LogFields, LogLevel, Machine } from '../../src/domain/kernel/machine.js';
import { instantOf } from '../../src/domain/values/instant.js';

interface Said {
  readonly type: 'said';
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: LogFields;
}

const machine: Machine<null, Said, Record<string, never>> = {
  step(_state, input, turn) {
    if (input.type === 'said') turn.log(input.level, input.message, input.fields);
  },
};
const newKernel = () => new Kernel<null, Said, Record<string, never>>(machine, null, 1);
const second = 1_000_000;

class Speaker {
  kernel = newKernel();

  /** @returns the fields of the line; null: it was left out */
  say(at: number, message: string, fields: LogFields = {}, level: LogLevel = 'error'): LogFields | null {
    const { log } = this.kernel.deliver({ type: 'said', level, message, fields }, at * second, instantOf(0));
    return log[0]?.fields ?? null;
  }
}

t.test('the first at once, then one in five minutes with the number of those left out', async (t) => {
  const speaker = new Speaker();
  const shown: [number, LogFields][] = [];
  for (let at = 0; at <= 1800; at += 10) {
    const fields = speaker.say(at, 'Failed to remove', { podUID: 'a', err: `try ${at}` });
    if (fields !== null) shown.push([at, fields]);
  }
  t.strictSame(shown, [[0, { podUID: 'a', err: 'try 0' }], ...[300, 600, 900, 1200, 1500, 1800].map((at) => [at, { podUID: 'a', err: `try ${at}`, repeated: 29 }])]);
});

t.test('what a line is about tells it from others; its numbers do not', async (t) => {
  const speaker = new Speaker();
  t.not(speaker.say(0, 'x', { podUID: 'a', err: '1', tries: 1 }), null);
  const rows: [string, string, LogFields, LogLevel, boolean][] = [
    ['another number in the error', 'x', { podUID: 'a', err: '2', tries: 1 }, 'error', false],
    ['another number', 'x', { podUID: 'a', err: '1', tries: 2 }, 'error', false],
    ['another pod', 'x', { podUID: 'b', err: '1', tries: 1 }, 'error', true],
    ['another message', 'y', { podUID: 'a', err: '1', tries: 1 }, 'error', true],
    ['another level', 'x', { podUID: 'a', err: '1', tries: 1 }, 'warn', true],
    ['the same warning', 'x', { podUID: 'a', err: '1', tries: 1 }, 'warn', false],
  ];
  for (const [what, message, fields, level, isShown] of rows) t.equal(speaker.say(1, message, fields, level) !== null, isShown, what);
  for (const level of ['info', 'debug'] as const) for (let i = 0; i < 3; i++) t.not(speaker.say(2, 'news', {}, level), null, level);
});

t.test('another error is news, up to eight in five minutes', async (t) => {
  const speaker = new Speaker();
  const say = (at: number, err: string) => speaker.say(at, 'Failed to remove', { podUID: 'a', err });
  t.strictSame(say(0, 'timed out after 3 s'), { podUID: 'a', err: 'timed out after 3 s' });
  t.equal(say(1, 'timed out after 7 s'), null, 'numbers are no news');
  t.strictSame(say(2, 'refused'), { podUID: 'a', err: 'refused', repeated: 1 });
  t.equal(say(3, 'timed out after 9 s'), null);
  t.equal(say(4, 'refused'), null);
  const others = ['denied', 'busy', 'stale', 'gone', 'full', 'late'];
  t.strictSame(
    others.map((err) => say(5, err)),
    [{ podUID: 'a', err: 'denied', repeated: 2 }, ...others.slice(1).map((err) => ({ podUID: 'a', err }))],
  );
  t.equal(say(6, 'the ninth'), null);
  t.strictSame(say(300, 'the ninth'), { podUID: 'a', err: 'the ninth', repeated: 1 });
});

t.test('what stopped failing is shown at once when it fails again later', async (t) => {
  const speaker = new Speaker();
  t.strictSame(speaker.say(0, 'x'), {});
  t.equal(speaker.say(299, 'x'), null);
  t.strictSame(speaker.say(10_000, 'x'), { repeated: 1 });
});

t.test('with more kinds than are remembered, each message is logged once in five minutes', async (t) => {
  const speaker = new Speaker();
  let shown = 0;
  for (let round = 0; round < 4; round++) for (let i = 0; i < 6000; i++) if (speaker.say(round, 'x', { podUID: `${i}` }) !== null) shown++;
  t.equal(shown, 4096 + 1);
  t.equal(speaker.kernel.data().lines.size, 4097);
  shown = 0;
  for (let i = 0; i < 6000; i++) if (speaker.say(400, 'y', { podUID: `${i}` }) !== null) shown++;
  t.ok(shown >= 4096, 'those of before have made room');
  t.ok(speaker.kernel.data().lines.size <= 4098);
});

t.test('a kernel that goes on from a copy leaves out what the first one would have', async (t) => {
  const speaker = new Speaker();
  speaker.say(0, 'x');
  speaker.say(1, 'x');
  const copy = new Kernel<null, Said, Record<string, never>>(machine, null, speaker.kernel.data());
  t.equal(speaker.say(2, 'x'), null);
  speaker.kernel = copy;
  t.strictSame(speaker.say(300, 'x'), { repeated: 1 });
});
