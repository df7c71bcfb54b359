// The writer of one state file: each way a write can end, and that it never takes for written what may not be on disk.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import {
  firstWritePause,
  forgetUnsaved,
  isUnsaved,
  longestWritePause,
  mayWrite,
  newStateFileWriter,
  type StateFileWriter,
  stateFileWritten,
  unwrittenSeconds,
  writeStateFile,
} from '../../src/domain/checkpoints/state-file-writer.js';
import type { Machine, ReplyFor } from '../../src/domain/kernel/machine.js';
import { microsPerSecond } from '../../src/domain/values/time.js';
import type { AgentOperations } from '../../src/ports/outbound/outbound-ports.js';
import { failure, MachineRun, ok } from './machine-run.js';
import { Random32 } from './random-32.js';

interface Owner {
  readonly file: StateFileWriter<string>;
  content: string;
  isUrgent: boolean;
}
type Event = { readonly type: 'change'; readonly content: string; readonly uid?: string } | { readonly type: 'urgent' };

const machine: Machine<Owner, Event, AgentOperations> = {
  step(owner, input, turn) {
    const { file } = owner;
    if (input.type === 'change') {
      owner.content = input.content;
      if (input.uid !== undefined) file.unsaved.add(input.uid);
    }
    if (input.type === 'reply') stateFileWritten(file, input as ReplyFor<AgentOperations, 'stateFiles.write'>, turn);
    owner.isUrgent = input.type === 'urgent';
    if (mayWrite(file, turn.now, owner.isUrgent)) writeStateFile(file, owner.content, owner.content, turn);
  },
};

/** An owner whose writes are answered by the test. */
function ownerOf({ onDisk = null, isRequired = true }: { readonly onDisk?: string | null; readonly isRequired?: boolean } = {}) {
  const owner: Owner = { file: newStateFileWriter<string>('f', { machine: 'owner', key: '' }, onDisk, { isRequired }), content: onDisk ?? '', isUrgent: false };
  const run = new MachineRun<Owner, Event, AgentOperations>(machine, owner, () => null);
  const written = (): string[] => run.commands.map(({ command }) => (command.request as { readonly text: string }).text);
  return { file: owner.file, run, written, change: (content: string, uid?: string) => run.feed({ type: 'change', content, ...(uid === undefined ? {} : { uid }) }) };
}

t.test('a write succeeds: the file is current, and pods that waited continue', async (t) => {
  const { file, run, written, change } = ownerOf();
  change('a', 'u');
  t.strictSame(written(), ['a']);
  t.ok(isUnsaved(file, 'u'));
  run.reply(ok(null));
  t.notOk(isUnsaved(file, 'u'));
  t.match(file, { onDisk: 'a', writing: null, failures: 0, problem: null, retryAt: null, outdatedSince: null });
});

t.test('the content that is on disk is not written again', async (t) => {
  const { file, run, written, change } = ownerOf({ onDisk: 'a' });
  change('a', 'u');
  t.strictSame(written(), []);
  t.notOk(isUnsaved(file, 'u'), 'no pod waits for a write that does not come');
  change('b');
  run.reply(ok(null));
  change('b');
  t.strictSame(written(), ['b']);
});

t.test('a change during a write is written after it; several are one write', async (t) => {
  const { file, run, written, change } = ownerOf();
  change('a', 'first');
  change('b', 'second');
  change('c', 'third');
  t.strictSame(written(), ['a']);
  run.reply(ok(null));
  t.notOk(isUnsaved(file, 'first'));
  t.ok(isUnsaved(file, 'second') && isUnsaved(file, 'third'));
  t.strictSame(written(), ['a', 'c']);
  run.reply(ok(null));
  t.notOk(isUnsaved(file, 'second') || isUnsaved(file, 'third'));
});

t.test('a change that is taken back during a write is written, too', async (t) => {
  const { run, written, change } = ownerOf({ onDisk: 'a' });
  change('b');
  change('a');
  run.reply(ok(null));
  t.strictSame(written(), ['b', 'a']);
});

t.test('a write fails: its pods wait on, and it is tried again after pauses that double', async (t) => {
  const { file, run, written, change } = ownerOf();
  change('a', 'u');
  const tries: number[] = [];
  for (let pause = firstWritePause; tries.length < 9; pause = Math.min(2 * pause, longestWritePause)) {
    run.reply(failure('internal', 'the disk is full'));
    t.match(file, { onDisk: null, problem: 'the disk is full', failures: tries.length + 1 });
    t.ok(isUnsaved(file, 'u'));
    run.pass(pause - 1);
    t.equal(written().length, tries.length + 1, `nothing before ${pause}`);
    run.pass(1);
    t.equal(written().length, tries.length + 2);
    tries.push(pause);
  }
  t.equal(tries.at(-1), longestWritePause);
  run.reply(ok(null));
  t.notOk(isUnsaved(file, 'u'));
  t.match(file, { onDisk: 'a', failures: 0, problem: null, retryAt: null });
  t.strictSame(new Set(run.log), new Set(['error Failed to save state']));
  t.strictSame(run.logFields[0], { file: 'f', err: 'the disk is full' });
});

t.test('a failed write of a file that is not required lets its pods continue', async (t) => {
  const { file, run, written, change } = ownerOf({ isRequired: false });
  change('a', 'first');
  change('b', 'second');
  run.reply(failure('internal'));
  t.notOk(isUnsaved(file, 'first'));
  t.ok(isUnsaved(file, 'second'), 'its entry was not in that write');
  run.pass(firstWritePause);
  t.strictSame(written(), ['a', 'b']);
});

t.test('after a failed write the earlier content is written again: the file may have been replaced', async (t) => {
  const { run, written, change } = ownerOf({ onDisk: 'a' });
  change('b');
  run.reply(failure('deadline-exceeded'));
  change('a');
  run.pass(firstWritePause);
  t.strictSame(written(), ['b', 'a']);
});

t.test('a change does not shorten the pause, an urgent one does', async (t) => {
  const { run, written, change } = ownerOf();
  change('a');
  run.reply(failure('internal'));
  change('b');
  t.strictSame(written(), ['a']);
  run.feed({ type: 'urgent' });
  t.strictSame(written(), ['a', 'b']);
});

t.test('for how long the file is out of date', async (t) => {
  const { file, run, change } = ownerOf({ onDisk: 'a' });
  const shown = (): number => unwrittenSeconds(file, run.now);
  run.pass(60 * microsPerSecond);
  t.equal(shown(), 0);
  change('b');
  run.pass(2 * microsPerSecond);
  t.equal(shown(), 2, 'a write that hangs counts');
  run.reply(failure('internal')).pass(firstWritePause);
  change('c');
  run.reply(failure('internal'));
  t.equal(shown(), 3, 'since the first change that is not on disk');
  run.pass(2 * firstWritePause).reply(ok(null));
  t.equal(shown(), 0);
});

t.test('a removed pod is forgotten', async (t) => {
  const { file, run, change } = ownerOf();
  change('a', 'u');
  forgetUnsaved(file, 'u');
  run.reply(failure('internal'));
  t.notOk(isUnsaved(file, 'u'));
});

t.test('an answer without a write, and a write during a write, are failed assertions', async (t) => {
  const { file, run, change } = ownerOf();
  t.throws(() => stateFileWritten(file, { outcome: { ok: true, value: null } }, null as never), /an answer came for a state file that is not being written: f/);
  change('a');
  t.throws(() => writeStateFile(file, 'b', 'b', null as never), /a state file is written while a write of it is in flight: f/);
  run.reply(ok(null));
});

t.test('in any order of changes, ends of writes and kills, what counts as written is on disk', async (t) => {
  for (let seed = 1; seed <= 300; seed++) {
    const random = new Random32(seed);
    let disk: string | null = null;
    let { file, run, change } = ownerOf();
    for (let step = 0; step < 40; step++) {
      const { writing } = file;
      const chance = random.below(10);
      if (chance < 4) change(`${random.below(5)}`, `u${random.below(3)}`);
      else if (chance < 6) run.pass(random.below(3 * firstWritePause));
      else if (writing !== null) {
        const isReplaced = chance < 8 || random.below(2) === 0;
        if (isReplaced) disk = writing;
        if (chance === 9 && random.below(2) === 0) ({ file, run, change } = ownerOf({ onDisk: disk }));
        else run.reply(chance < 8 ? ok(null) : failure('internal'));
      }
      if (file.onDisk !== null) t.equal(file.onDisk, disk, `seed ${seed}, step ${step}`);
    }
    change('last', 'u0');
    for (let round = 0; round < 5 && file.onDisk !== 'last'; round++) {
      if (file.writing !== null) run.reply(ok(null));
      else run.pass(longestWritePause);
    }
    t.match(file, { onDisk: 'last', outdatedSince: null, failures: 0 }, `seed ${seed}`);
    t.equal(file.unsaved.size + file.inWrite.size, 0);
  }
});

t.test('no other module of the domain writes state files', async (t) => {
  const domain = join(import.meta.dirname, '../../../src/domain');
  const sources = readdirSync(domain, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.ts'));
  const writers = sources.filter((path) => /\bask\(\s*'stateFiles\.write'/.test(readFileSync(join(domain, path), 'utf8')));
  t.strictSame(writers, ['checkpoints/state-file-writer.ts']);
});
