// The shutdown manager: its table of phases and events, what it asks for, and the record of the last shutdown.

import t from 'tap';
import { parseShutdownState, writeShutdownState } from '../../src/domain/checkpoints/small-state-files.js';
import {
  advanceManager,
  newShutdownManager,
  type ShutdownAction,
  type ShutdownDecision,
  type ShutdownEvent,
  type ShutdownManager,
  stepShutdown,
} from '../../src/domain/node-shutdown/shutdown-manager.js';
import { instantOf } from '../../src/domain/values/instant.js';
import { pod } from '../support/pods.js';
import { walkGrid } from './walk-grid.js';

const second = 1_000_000;
const start = 1_000 * second;
const pods = [pod('a', { priority: 0 }), pod('b', { priority: 2_000_000_000 })];
const priorities = [
  { priority: 0, shutdownGracePeriodSeconds: 20 },
  { priority: 2_000_000_000, shutdownGracePeriodSeconds: 10 },
];

interface At {
  readonly manager: ShutdownManager;
  readonly now: number;
  readonly gone: ReadonlySet<string>;
  readonly done: readonly ShutdownAction[];
}

const applied = (at: At, { manager, actions }: ShutdownDecision): At => ({ ...at, manager, done: actions });
const on =
  (event: ShutdownEvent) =>
  (at: At): At =>
    applied(at, stepShutdown(at.manager, event, priorities, { now: at.now, wall: instantOf(at.now) }));
const looked = (at: At): At =>
  applied(
    at,
    advanceManager(at.manager, ({ metadata }) => at.gone.has(metadata.name), { now: at.now, wall: instantOf(at.now) }),
  );

t.test('every state and event', async (t) => {
  const walked = walkGrid<At>({
    starts: { new: () => ({ manager: newShutdownManager(), now: start, gone: new Set(), done: [] }) },
    events: {
      begun: on({ type: 'begun' }),
      inhibited: on({ type: 'inhibited', shuttingDown: false, pods }),
      'inhibited, going down': on({ type: 'inhibited', shuttingDown: true, pods }),
      refused: on({ type: 'refused', message: 'no' }),
      lost: on({ type: 'lost' }),
      'woken in time': (at) => on({ type: 'woken' })({ ...at, now: at.manager.retryAt ?? at.now }),
      'woken early': on({ type: 'woken' }),
      down: on({ type: 'signal', active: true, pods }),
      up: on({ type: 'signal', active: false, pods }),
      remembered: on({ type: 'remembered', startedAt: instantOf(1), endedAt: instantOf(2) }),
      look: looked,
      'a goes': (at) => looked({ ...at, gone: new Set([...at.gone, 'a']) }),
      'b goes': (at) => looked({ ...at, gone: new Set([...at.gone, 'b']) }),
      'time is up': (at) => looked({ ...at, now: at.manager.run?.deadline ?? at.now }),
    },
    nameOf: ({ manager, gone }) => {
      const { phase, hasWatched, shuttingDown, run, startedAt, endedAt, isOutdated } = manager;
      const group = run === null ? '-' : `${run.index} ${run.deadline !== null}`;
      return [phase, isOutdated, hasWatched, shuttingDown, group, startedAt !== null, endedAt !== null, [...gone].sort().join()].join(' ');
    },
    problems: ({ manager, done }, before, event) => [
      ...(manager.phase === 'pausing' || manager.retryAt === null ? [] : ['a wait without a pause']),
      ...(manager.phase === 'pausing' && manager.retryAt === null ? ['a pause without an end'] : []),
      ...(manager.run !== null && !manager.shuttingDown ? ['pods are ended by a node that stays'] : []),
      ...((manager.phase === 'off' || manager.phase === 'failed') && manager.shuttingDown ? ['a shutdown that nobody watches for'] : []),
      ...(done.some(({ kind }) => kind === 'release') && manager.run !== null ? ['the lock goes before the pods'] : []),
      ...(before.manager.run !== null && manager.run === null && manager.shuttingDown && !done.some(({ kind }) => kind === 'release') ? ['the lock stays'] : []),
      ...(done.some(({ kind }) => kind === 'inhibit') && manager.phase !== 'taking' ? ['the lock is asked for without waiting for the answer'] : []),
      ...(manager.isOutdated && manager.phase !== 'taking' ? ['an answer that does not come is outdated'] : []),
      ...(event === 'remembered' && before.manager.startedAt !== null && manager.startedAt !== before.manager.startedAt ? ['an old record counts'] : []),
    ],
  });
  t.strictSame(walked.problems, []);
  t.strictSame([...new Set(walked.states.map((name) => name.split(' ')[0]))].sort(), ['failed', 'off', 'pausing', 'taking', 'watching']);
});

t.test('an answer about the lock that is older than a signal or than the connection is not believed', async (t) => {
  const taking = on({ type: 'begun' })({ manager: newShutdownManager(), now: start, gone: new Set(), done: [] });
  const rows: readonly (readonly [what: string, meanwhile: ShutdownEvent, answered: boolean, goesDown: boolean])[] = [
    ['the connection was lost', { type: 'lost' }, false, false],
    ['the shutdown was cancelled', { type: 'signal', active: false, pods }, true, false],
    ['a shutdown began', { type: 'signal', active: true, pods }, false, true],
  ];
  for (const [what, meanwhile, answered, goesDown] of rows) {
    const outdated = on({ type: 'inhibited', shuttingDown: answered, pods })(on(meanwhile)(taking));
    t.match(outdated, { manager: { phase: 'taking', shuttingDown: goesDown }, done: [{ kind: 'inhibit' }] }, `${what}: it is requested again`);
    t.match(on({ type: 'inhibited', shuttingDown: goesDown, pods })(outdated), { manager: { phase: 'watching', shuttingDown: goesDown }, done: [] }, `${what}: that answer counts`);
  }
});

t.test('one that is off never asks for anything', async (t) => {
  const off = newShutdownManager();
  for (const event of [{ type: 'begun' }, { type: 'signal', active: true, pods }, { type: 'lost' }, { type: 'woken' }] as const)
    t.strictSame(stepShutdown(off, event, [], { now: start, wall: instantOf(start) }), { manager: off, actions: [] });
});

t.test('who is told to end, when, and with how much time', async (t) => {
  const told: string[] = [];
  let at: At = { manager: newShutdownManager(), now: start, gone: new Set(), done: [] };
  const then = (next: At): void => {
    at = next;
    for (const action of at.done) told.push(action.kind === 'kill' ? `kill ${action.pod.metadata.name} ${action.gracePeriodSeconds}` : action.kind);
  };
  then(on({ type: 'begun' })(at));
  then(on({ type: 'inhibited', shuttingDown: false, pods })(at));
  then(on({ type: 'signal', active: true, pods })(at));
  then(looked(at));
  then(on({ type: 'signal', active: true, pods })(at));
  then(looked({ ...at, now: start + 19 * second }));
  then(looked({ ...at, now: start + 20 * second }));
  then(looked({ ...at, now: start + 22 * second, gone: new Set(['b']) }));
  t.strictSame(told, ['read-record', 'inhibit', 'node-event', 'write-record', 'kill a 20', 'kill b 10', 'write-record', 'release']);
  t.match(at.manager, { startedAt: start, endedAt: start + 22 * second, shuttingDown: true });
});

t.test('the record', async (t) => {
  const table: readonly (readonly [what: string, text: string, expected: unknown])[] = [
    ['both times', writeShutdownState('2026-03-04T05:06:07.5Z', '2026-03-04T05:07:00Z'), { ok: true, value: { startedAt: 1_772_600_767_500_000, endedAt: 1_772_600_820_000_000 } }],
    ['one that goes on', writeShutdownState('2026-03-04T05:06:07Z', ''), { ok: true, value: { startedAt: 1_772_600_767_000_000, endedAt: null } }],
    ['none', writeShutdownState('', ''), { ok: true, value: { startedAt: null, endedAt: null } }],
    ['no times', '{}', { ok: true, value: { startedAt: null, endedAt: null } }],
    ['no time', '{"startTime":"soon"}', { ok: false, error: 'startTime "soon" is no RFC 3339 time' }],
    ['no JSON', 'x', { ok: false }],
    ['a number', '{"startTime":1}', { ok: false, error: 'cannot unmarshal number into field startTime of type string' }],
  ];
  for (const [what, text, expected] of table) t.match(parseShutdownState(text), expected as object, what);
});
