// Events on their way to the API: combined, counted, silenced, tried again, dropped.

import t from 'tap';
import { type Correlated, cacheEntriesMax, correlate, distinctMessagesMax, newEventCorrelator, spamBurst } from '../../src/domain/events/event-correlator.js';
import { eventOf } from '../../src/domain/events/event-object.js';
import {
  type EventRecorder,
  type EventReply,
  type EventWriting,
  eventQueueMax,
  eventReplied,
  eventsWoken,
  eventTriesMax,
  newEventRecorder,
  recordEvent,
} from '../../src/domain/events/event-recorder.js';
import type { Machine } from '../../src/domain/kernel/machine.js';
import { instantOf } from '../../src/domain/values/instant.js';
import { microsPerSecond } from '../../src/domain/values/time.js';
import type { Event } from '../../src/ports/model/event.js';
import type { EventRecord } from '../../src/ports/outbound/event-sink.js';
import { type Answerer, failure, MachineRun, ok } from './machine-run.js';

const second = microsPerSecond;
const start = 1_800_000_000_000_000;
const pod = { apiVersion: 'v1', kind: 'Pod', namespace: 'shop', name: 'web', uid: 'u1' };
const record = (given: Partial<EventRecord> = {}): EventRecord => ({ involvedObject: pod, type: 'Normal', reason: 'Pulled', message: 'm', ...given });
const random = () => 0.5;

t.test('an event as an object', async (t) => {
  const rows: readonly [string, Partial<EventRecord>, (event: Event) => unknown, unknown][] = [
    ['of a pod it is in the namespace of the pod', {}, ({ metadata }) => metadata.namespace, 'shop'],
    ['of a node it is in the namespace default', { involvedObject: { kind: 'Node', name: 'n1' } }, ({ metadata }) => metadata.namespace, 'default'],
    ['is named by object and time in nanoseconds', {}, ({ metadata }) => metadata.name, `web.${(BigInt(start) * 1000n + 7n).toString(16)}`],
    [
      'of an object with a name that is no DNS name gets a UUID',
      { involvedObject: { ...pod, name: 'A_b' } },
      ({ metadata }) => /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab]/.test(metadata.name),
      true,
    ],
    [
      'is reported by the kubelet of the node',
      {},
      ({ source, reportingComponent, reportingInstance }) => [source, reportingComponent, reportingInstance],
      [{ component: 'kubelet', host: 'n1' }, 'kubelet', 'n1'],
    ],
    ['is counted once', {}, ({ count, firstTimestamp, lastTimestamp }) => [count, firstTimestamp, lastTimestamp], [1, '2027-01-15T08:00:00Z', '2027-01-15T08:00:00Z']],
  ];
  for (const [sentence, given, seen, expected] of rows) t.strictSame(seen(eventOf(record(given), 'n1', instantOf(start), 7, random)), expected, sentence);
  t.not(eventOf(record(), 'n1', instantOf(start), 1, random).metadata.name, eventOf(record(), 'n1', instantOf(start), 2, random).metadata.name, 'two of one moment have two names');
});

/** Correlates events one after the other, a second apart. */
function correlated(records: readonly EventRecord[], apart = second): Correlated[] {
  const correlator = newEventCorrelator();
  return records.map((given, i) =>
    correlate(correlator, eventOf(given, 'n1', instantOf(start + i * apart), i, random), () => `combined-${i}`, { now: i * apart, wall: instantOf(start + i * apart) }),
  );
}

const kinds = (list: readonly Correlated[]): string => list.map(({ kind }) => kind[0]).join('');
const messages = (count: number): EventRecord[] => Array.from({ length: count }, (_, i) => record({ message: `m${i}` }));

t.test('few writes are made of many events', async (t) => {
  const equal = correlated([record(), record(), record()]);
  t.equal(kinds(equal), 'cpp', 'equal events patch the first one');
  t.strictSame(equal[2], { ...equal[2], body: { count: 3, lastTimestamp: '2027-01-15T08:00:02Z', message: 'm' } }, 'its count, last time and message');
  t.equal(equal[2]?.kind === 'patch' && equal[2].event.metadata.name, equal[0]?.kind === 'create' && equal[0].event.metadata.name, 'by its name');
  t.equal(kinds(correlated([record(), record({ reason: 'Killing' }), record({ involvedObject: { ...pod, uid: 'u2' } })])), 'ccc', 'other reasons and other pods are other events');

  const similar = correlated(messages(distinctMessagesMax + 2));
  t.equal(kinds(similar), 'ccccccccccpp', 'from the tenth distinct message on there is one combined event');
  t.match(similar[9], {
    event: { metadata: { name: 'combined-9', namespace: 'shop' }, message: '(combined from similar events): m9', count: 1, reportingComponent: '', reportingInstance: '' },
  });
  t.match(similar[11], { event: { metadata: { name: 'combined-9' }, count: 3 }, body: { message: '(combined from similar events): m11', count: 3 } });
  t.equal(kinds(correlated(messages(12), 601 * second)), 'c'.repeat(12), 'what is ten minutes apart is not combined');

  const spam = correlated(Array.from({ length: spamBurst + 5 }, () => record()));
  t.equal(kinds(spam), `c${'p'.repeat(spamBurst - 1)}sssss`, 'an object that has too many is silenced');
  const both = correlated([...Array.from({ length: spamBurst + 1 }, () => record()), record({ type: 'Warning' })]);
  t.equal(both.at(-1)?.kind, 'create', 'by type');
  const later = correlated([...Array.from({ length: spamBurst }, () => record()), ...Array.from({ length: 3 }, () => record())], 150 * second);
  t.equal(kinds(later).includes('s'), false, 'and one more is allowed in five minutes');
});

t.test('caches are bounded', async (t) => {
  const correlator = newEventCorrelator();
  for (let i = 0; i < cacheEntriesMax + 50; i++) {
    correlate(correlator, eventOf(record({ involvedObject: { ...pod, uid: `u${i}` } }), 'n1', instantOf(start), i, random), () => '', { now: 0, wall: instantOf(start) });
  }
  t.strictSame([correlator.similar.size, correlator.observed.size, correlator.buckets.size], [cacheEntriesMax, cacheEntriesMax, cacheEntriesMax]);
});

type Said = { readonly type: 'said'; readonly record: EventRecord };

function recorder(answer: Answerer<EventWriting>) {
  const machine: Machine<EventRecorder, Said, EventWriting> = {
    step(state, input, turn) {
      if (input.type === 'said') recordEvent(state, (input as Said).record, turn);
      else if (input.type === 'wake') eventsWoken(state, turn);
      else eventReplied(state, input as EventReply, turn);
    },
  };
  return new MachineRun<EventRecorder, Said, EventWriting>(machine, newEventRecorder('n1'), answer);
}
const said = (given: Partial<EventRecord> = {}): Said => ({ type: 'said', record: record(given) });

t.test('events are written one by one', async (t) => {
  const run = recorder(() => null);
  run
    .feed(said())
    .feed(said({ reason: 'Created' }))
    .feed(said());
  t.strictSame(run.asked, ['apiWriter.create'], 'one at a time');
  run.reply(ok({})).reply(ok({})).reply(ok({}));
  t.strictSame(run.asked, ['apiWriter.create', 'apiWriter.create', 'apiWriter.patch'], 'in order');
  t.match(run.commands[0]?.command.request, { client: 'events', namespace: 'shop', resource: { plural: 'events' }, object: { apiVersion: 'v1', kind: 'Event' } });
  t.match(run.commands[2]?.command.request, { patch: 'strategic-merge-patch', body: { count: 2 } });
});

t.test('what an answer leads to', async (t) => {
  const rows: readonly [string, Answerer<EventWriting>, readonly string[], number][] = [
    ['one that is gone is created anew', (c) => (c.op === 'apiWriter.patch' ? failure('not-found') : ok({})), ['apiWriter.create', 'apiWriter.patch', 'apiWriter.create'], 0],
    ['one that the server refuses is given up', () => failure('permission-denied'), ['apiWriter.create', 'apiWriter.patch'], 0],
    [
      'where nobody answers it is tried twelve times',
      () => failure('unavailable'),
      Array.from({ length: eventTriesMax }, () => 'apiWriter.create').concat(Array.from({ length: eventTriesMax }, () => 'apiWriter.patch')),
      2,
    ],
  ];
  for (const [sentence, answer, asked, lost] of rows) {
    const run = recorder(answer)
      .feed(said())
      .feed(said())
      .pass(600 * second);
    t.strictSame(run.asked, asked, sentence);
    t.equal(run.kernel.state.dropped, lost, `${sentence}: dropped`);
    t.equal(run.kernel.inFlight.size, 0);
  }
});

t.test('pauses', async (t) => {
  const run = recorder(() => failure('unavailable'))
    .feed(said())
    .pass(60 * second);
  const times = run.commands.map(({ at }) => at - start);
  t.ok(times[1]! <= 10 * second, 'the first pause is shorter than ten seconds');
  t.same(
    times.slice(2).map((at, i) => at - times[i + 1]!),
    Array.from({ length: times.length - 2 }, () => 10 * second),
    'then ten seconds each',
  );
  const told = recorder(() => failure('resource-exhausted', '', 25 * second))
    .feed(said())
    .pass(60 * second);
  t.equal(told.commands.length, 3, 'a server that says when is asked then');
});

t.test('a full queue drops and counts', async (t) => {
  const run = recorder(() => null);
  for (let i = 0; i < eventQueueMax + 11; i++) run.feed(said({ message: `m${i}` }));
  t.equal(run.kernel.state.dropped, 10);
  t.ok(run.log.includes('error Event dropped'));
});
