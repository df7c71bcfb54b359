// The reflector alone: the test gives the server's answers, and rows advance the time.
import t from 'tap';
import {
  newReflector,
  type ObjectChange,
  objectKey,
  pageLimit,
  type ReflectorContext,
  type ReflectorOperations,
  type ReflectorState,
  reflectorOfWatch,
  reflectorReplied,
  reflectorSaw,
  reflectorWoken,
  runReflector,
  stopReflector,
} from '../../src/domain/api-cache/reflector.js';
import { Kernel, type Output } from '../../src/domain/kernel/kernel.js';
import type { Command, Reply, Turn } from '../../src/domain/kernel/machine.js';
import { instantOf } from '../../src/domain/values/instant.js';
import type { ApiObject, UnusableObject } from '../../src/ports/model/api-object.js';
import type { ApiWatchEvent } from '../../src/ports/outbound/apiserver.js';
import type { PortErrorKind } from '../../src/ports/port-error.js';

type Event = { readonly type: 'run' | 'stop' } | { readonly type: 'saw'; readonly watch: string; readonly events: readonly ApiWatchEvent[] };

const pods = { group: '', version: 'v1', plural: 'pods' };

/** `name@version` or `name@version/uid`; the uid is the name's own by default. */
function object(text: string): ApiObject {
  const [, name = '', resourceVersion = '', uid = name] = /^([^@]+)@(\d+)(?:\/(.+))?$/.exec(text) ?? [];
  return { metadata: { name, namespace: 'ns', uid, resourceVersion } };
}

/** `name@version/uid: problem`; a name of `?` can't be read. */
function unusable(text: string): UnusableObject {
  const [, key = '', problem = ''] = /^([^:]+): (.*)$/.exec(text) ?? [];
  const { name, uid = null, resourceVersion = null } = object(key).metadata;
  return { apiVersion: 'v1', kind: 'Pod', namespace: 'ns', name: name === '?' ? null : name, uid, resourceVersion, problem };
}

class Run {
  readonly reflector: ReflectorState;
  /** The owner's notifications: `+a@1`, `~a@2`, `-a@2`; `=` precedes those that follow from a list. */
  told: string[] = [];
  now = 1_000_000_000;
  private readonly kernel: Kernel<null, Event, ReflectorOperations>;
  private asked: Command<ReflectorOperations>[] = [];
  cancelled: number[] = [];

  constructor(newest = false) {
    this.reflector = newReflector('pods', { resource: pods, namespace: null, fieldSelector: 'spec.nodeName=n', labelSelector: null }, newest);
    const context = (turn: Turn<ReflectorOperations>): ReflectorContext => ({
      turn,
      changed: (changes, replaced) => this.told.push(...(replaced ? ['='] : []), ...changes.map(changeText)),
      unusable: ({ name, problem }) => this.told.push(`!${name}: ${problem}`),
    });
    const step = (_state: null, input: Event | Reply<ReflectorOperations> | { readonly type: 'wake' }, turn: Turn<ReflectorOperations>): void => {
      if (input.type === 'run') runReflector(this.reflector, context(turn));
      else if (input.type === 'stop') stopReflector(this.reflector, context(turn));
      else if (input.type === 'saw') reflectorSaw(this.reflector, input.watch, input.events, context(turn));
      else if (input.type === 'reply') reflectorReplied(this.reflector, input, context(turn));
      else reflectorWoken(this.reflector, context(turn));
    };
    this.kernel = new Kernel({ step }, null, 1);
  }

  give(event: Event): this {
    return this.take(this.kernel.deliver(event, this.now, instantOf(this.now)));
  }

  /** What is in flight, in a few words, e.g. `list 0` or `watch 12`. */
  get waits(): string[] {
    return this.asked.map((command) => {
      if (command.op === 'apiReader.list')
        return `list ${command.request.resourceVersion ?? 'newest'}${command.request.continueToken === null ? '' : ` after ${command.request.continueToken}`}`;
      return command.op === 'apiReader.watch' ? `watch ${command.request.resourceVersion}` : command.op;
    });
  }

  get watch(): Extract<Command<ReflectorOperations>, { op: 'apiReader.watch' }>['request'] {
    const [command] = this.asked;
    if (command?.op !== 'apiReader.watch') throw new Error('no watch is in flight');
    return command.request;
  }

  page(resourceVersion: string, items: readonly string[], continueToken: string | null = null): this {
    const isUsable = (text: string): boolean => !text.includes(':');
    const bad = items.filter((text) => !isUsable(text)).map(unusable);
    return this.reply({ ok: true, value: { items: items.filter(isUsable).map(object), unusable: bad, resourceVersion, continueToken } });
  }

  watchEnds(): this {
    return this.reply({ ok: true, value: null });
  }

  fails(kind: PortErrorKind, retryAfterMicros: number | null = null): this {
    return this.reply({ ok: false, error: { kind, message: kind, operation: '', subject: '', retryAfterMicros } });
  }

  saw(...events: readonly string[]): this {
    return this.give({ type: 'saw', watch: this.watch.watch, events: events.map(watchEvent) });
  }

  /** Seconds until the next wake-up, which it delivers. */
  wakes(): number {
    const at = this.kernel.nextWakeAt();
    if (at === null) throw new Error('nothing is due');
    const seconds = (at - this.now) / 1_000_000;
    this.now = at;
    const output = this.kernel.wake(this.now, instantOf(this.now));
    if (output !== null) this.take(output);
    return seconds;
  }

  pass(seconds: number): this {
    this.now += seconds * 1_000_000;
    return this;
  }

  since(): string[] {
    return this.told.splice(0);
  }

  private reply(outcome: unknown): this {
    const command = this.asked.shift();
    if (command === undefined) throw new Error('nothing is in flight');
    const { id, op, address, slot } = command;
    return this.take(this.kernel.deliver({ type: 'reply', id, op, address, slot, outcome } as Reply<ReflectorOperations>, this.now, instantOf(this.now)));
  }

  private take(output: Output<ReflectorOperations>): this {
    this.asked.push(...output.commands);
    this.cancelled.push(...output.cancelled);
    return this;
  }
}

function changeText(change: ObjectChange): string {
  const { name, resourceVersion, uid } = change.object.metadata;
  const sign = change.type === 'delete' ? '-' : change.previous === null ? '+' : '~';
  return `${sign}${name}@${resourceVersion}${uid === name ? '' : `/${uid}`}`;
}

function watchEvent(text: string): ApiWatchEvent {
  const rest = text.slice(1);
  if (text.startsWith('#')) return { type: 'BOOKMARK', resourceVersion: rest };
  if (text.includes(':')) return { type: 'UNUSABLE', isDeleted: text.startsWith('-'), object: unusable(rest) };
  return { type: text.startsWith('+') ? 'ADDED' : text.startsWith('~') ? 'MODIFIED' : 'DELETED', object: object(rest) };
}

/** Listed `a@1`, watching from 5. */
function watching(): Run {
  const run = new Run().give({ type: 'run' }).page('5', ['a@1']);
  run.since();
  return run;
}

t.test('lists, then watches from the version of the list', async (t) => {
  const run = new Run().give({ type: 'run' });
  t.strictSame(run.waits, ['list 0']);
  t.equal(run.reflector.synced, false);
  run.page('5', ['a@1', 'b@2']);
  t.strictSame(run.since(), ['=', '+a@1', '+b@2']);
  t.strictSame(run.waits, ['watch 5']);
  t.equal(run.reflector.synced, true);
  t.equal(reflectorOfWatch(run.watch.watch), 'pods');
  t.ok(run.watch.timeoutSeconds >= 300 && run.watch.timeoutSeconds < 600);
  run.saw('+c@6', '~a@7', '-b@8');
  t.strictSame(run.since(), ['+c@6', '~a@7', '-b@8']);
  run.pass(400).watchEnds();
  t.strictSame(run.waits, ['watch 8'], 'goes on where it was');
});

t.test('the newest from the first list on, where that was asked for', async (t) => {
  const run = new Run(true).give({ type: 'run' });
  t.strictSame(run.waits, ['list newest']);
  t.strictSame(run.page('5', ['a@1']).waits, ['watch 5']);
});

t.test('an object that cannot be used stays what it was, and is reported once for each problem', async (t) => {
  const run = watching();
  run.saw('~a@6: spec', '+b@7: spec', '+c@8');
  t.strictSame(run.since(), ['!a: spec', '!b: spec', '+c@8']);
  run.saw('~a@9: spec', '~a@10: status', '~b@11');
  t.strictSame(run.since(), ['!a: status', '+b@11'], 'usable again');
  t.equal(run.reflector.objects.get('ns/a')?.metadata.resourceVersion, '1');
  run.saw('-a@12: status', '-x@13: spec');
  t.strictSame(run.since(), ['-a@1'], 'a deletion holds whatever the object holds');
  t.strictSame(run.pass(400).watchEnds().waits, ['watch 13'], 'their versions count');
  run.saw('+a@14: spec');
  t.strictSame(run.since(), ['!a: spec'], 'reported again after it was gone');
});

t.test('a list with objects that cannot be used', async (t) => {
  const relist = (...items: readonly string[]): readonly string[] => {
    const run = new Run().give({ type: 'run' }).page('5', ['a@1', 'b@1', 'c@1']);
    run.since();
    run.fails('out-of-range').wakes();
    run.page('20', items);
    return [...run.since(), [...run.reflector.objects.values()].map(({ metadata }) => `${metadata.name}@${metadata.resourceVersion}`).join(' ')].sort();
  };
  t.strictSame(relist('a@1', 'b@6/b: spec'), ['=', '-c@1', '!b: spec', 'b@1 a@1'].sort(), 'it is there, the other is gone');
  t.strictSame(relist('a@1', 'b@6/other: spec', 'c@1'), ['!b: spec', '=', '-b@1', 'a@1 c@1'].sort(), 'another object of its name');
  t.strictSame(relist('a@1', '?@6: metadata'), ['!null: metadata', '=', 'b@1 c@1 a@1'].sort(), 'any of them may be the one without a name');
});

t.test('an empty first list is told', async (t) => {
  t.strictSame(new Run().give({ type: 'run' }).page('1', []).since(), ['=']);
});

t.test('pages are one list', async (t) => {
  const run = new Run().give({ type: 'run' }).page('5', ['a@1'], 'p2');
  t.strictSame([run.since(), run.waits], [[], ['list newest after p2']]);
  run.page('5', ['b@1'], 'p3').page('5', ['c@1']);
  t.strictSame([run.since(), run.waits], [['=', '+a@1', '+b@1', '+c@1'], ['watch 5']]);
  t.equal(pageLimit, 500);
});

t.test('a continue token that is too old begins the list again, from the newest', async (t) => {
  const run = new Run().give({ type: 'run' }).page('5', ['a@1'], 'p2').fails('out-of-range');
  t.strictSame(run.waits, []);
  run.wakes();
  t.strictSame(run.waits, ['list newest']);
  t.strictSame(run.page('9', ['b@8']).since(), ['=', '+b@8'], 'nothing of the first try is left');
});

t.test('bookmarks move the version on', async (t) => {
  const run = watching().saw('#40').pass(300).watchEnds();
  t.strictSame([run.since(), run.waits], [[], ['watch 40']]);
});

t.test('a version that is too old: listed anew, only differences are told', async (t) => {
  const run = watching().saw('+b@6', '+c@7');
  const before = run.reflector.objects.get(objectKey('ns', 'b'));
  run.since();
  run.fails('out-of-range');
  t.strictSame(run.waits, []);
  run.wakes();
  t.strictSame(run.waits, ['list newest']);
  run.page('20', ['b@6', 'c@15', 'd@16']);
  t.strictSame(run.since(), ['=', '-a@1', '~c@15', '+d@16']);
  t.equal(run.reflector.objects.get(objectKey('ns', 'b')), before, 'what did not change is the same object');
});

t.test('a new uid under an old name is a deletion and an addition', async (t) => {
  t.strictSame(watching().saw('~a@6/a2').since(), ['-a@1', '+a@6/a2'], 'in a watch');
  const run = watching().fails('out-of-range');
  run.wakes();
  t.strictSame(run.page('9', ['a@8/a2']).since(), ['=', '-a@1', '+a@8/a2'], 'in a list');
});

t.test('a deletion of another uid than the known one says nothing', async (t) => {
  t.strictSame(watching().saw('-a@6/other', '-x@7').since(), []);
});

t.test('the same version again says nothing', async (t) => {
  t.strictSame(watching().saw('+a@1').since(), []);
});

t.test('what a watch that is over still says is not believed', async (t) => {
  const run = watching();
  const { watch } = run.watch;
  run.pass(300).watchEnds();
  run.give({ type: 'saw', watch, events: [watchEvent('+z@9')] });
  t.strictSame([run.since(), run.waits], [[], ['watch 5']]);
});

t.test('failures of a watch: which ones need a list, and how long they wait', async (t) => {
  const rows: readonly (readonly [kind: PortErrorKind, next: string])[] = [
    ['unavailable', 'watch 5'],
    ['resource-exhausted', 'watch 5'],
    ['deadline-exceeded', 'watch 5'],
    ['out-of-range', 'list newest'],
    ['internal', 'list newest'],
    ['permission-denied', 'list newest'],
    ['unauthenticated', 'list newest'],
  ];
  for (const [kind, next] of rows) {
    const run = watching().fails(kind);
    const seconds = run.wakes();
    t.strictSame([run.waits, run.since()], [[next], []], kind);
    t.ok(seconds >= 0.8 && seconds < 1.6, `${kind}: ${seconds} s`);
  }
});

t.test('a server that is gone is asked ever more rarely, and soon again once it was there for two minutes', async (t) => {
  const run = watching();
  const waits: number[] = [];
  for (let i = 0; i < 10; i++) {
    run.fails('unavailable');
    waits.push(run.wakes());
  }
  const bases = [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30, 30, 30, 30];
  for (const [i, base] of bases.entries()) t.ok((waits[i] ?? 0) >= base && (waits[i] ?? 0) < 2 * base, `wait ${i} is ${waits[i]}, between ${base} and ${2 * base}`);
  t.ok(run.pass(130).fails('unavailable').wakes() < 1.6);
});

t.test('a server says how long to wait', async (t) => {
  t.equal(watching().fails('resource-exhausted', 45_000_000).wakes(), 45);
});

t.test('the first list is tried until it comes', async (t) => {
  const run = new Run().give({ type: 'run' });
  for (let i = 0; i < 5; i++) {
    run.fails('unavailable').wakes();
    t.strictSame(run.waits, ['list 0']);
  }
  t.strictSame(run.page('1', ['a@1']).since(), ['=', '+a@1']);
});

t.test('a watch that ends at once is not asked for at once', async (t) => {
  const run = watching().watchEnds();
  t.strictSame(run.waits, []);
  run.wakes();
  t.strictSame(run.waits, ['watch 5']);
  run.saw('+b@6').watchEnds();
  t.strictSame(run.waits, ['watch 6'], 'but one that said something is');
});

t.test('a watch that says nothing for three minutes is broken off', async (t) => {
  const run = watching().pass(100).saw('#6');
  t.equal(run.wakes(), 80);
  t.strictSame(run.cancelled, [], 'it spoke meanwhile');
  t.equal(run.wakes(), 100);
  t.equal(run.cancelled.length, 1);
  run.fails('cancelled');
  t.strictSame(run.waits, ['watch 6']);
});

t.test('stopped and begun again while its watch is still under way', async (t) => {
  const run = watching().give({ type: 'stop' });
  t.equal(run.cancelled.length, 2 - 1);
  run.give({ type: 'run' });
  t.strictSame(run.waits, ['watch 5'], 'the place is not free yet');
  run.fails('cancelled');
  t.strictSame([run.waits, run.since()], [['watch 5'], []]);
  run.saw('+b@6');
  t.strictSame(run.since(), ['+b@6']);
});

t.test('stopped for good', async (t) => {
  const run = watching().give({ type: 'stop' }).fails('cancelled');
  t.strictSame([run.waits, run.reflector.phase], [[], 'stopped']);
});
