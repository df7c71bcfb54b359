// Parts of the daemon and of its programs, each by itself.

import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { Watchdog } from '../../src/adapters/native-linux/watchdog.js';
import { OwnedPods } from '../../src/adapters/storage/owned-pods.js';
import { nodeIpsOf, nodeNameOf } from '../../src/app/daemon/kubelet-settings.js';
import { Teardown } from '../../src/app/daemon/teardown.js';
import { podView } from '../../src/app/dev/pod-view.js';
import { newAgentState } from '../../src/domain/agent/agent-state.js';
import type { KubeletOperations } from '../../src/domain/agent/kubelet.js';
import { defaultSettings } from '../../src/domain/agent/settings.js';
import { strangers, strangersRefusal } from '../../src/domain/agent-queries/foreign-pods.js';
import { LoopHealth } from '../../src/domain/agent-queries/loop-health.js';
import { podMadeBy } from '../../src/domain/agent-queries/made-pod.js';
import { nodeFacts } from '../../src/domain/containers/default-node-facts.js';
import type { Command } from '../../src/domain/kernel/machine.js';
import { podCells, podHeader, podRows, tableText } from '../../src/domain/live-page/pod-rows.js';
import { instantOf } from '../../src/domain/values/instant.js';
import type { Pod } from '../../src/ports/model/pod.js';
import type { ListedPod } from '../../src/ports/model/runtime-listing.js';
import { until } from '../support/until.js';
import { LogLines } from './stage.js';

t.test('node names and addresses', async (t) => {
  t.equal(nodeNameOf('', ' Host-A\n'), 'host-a');
  t.equal(nodeNameOf(' Node ', 'host'), 'node');
  t.throws(() => nodeNameOf('', ' '), { message: 'failed to run Kubelet: empty hostname is invalid' });
  const invalid = /^failed to run Kubelet: invalid node name "bad_name" \((--hostname-override|the name of the host)\): a lowercase RFC 1123 subdomain must consist of /;
  t.throws(() => nodeNameOf('Bad_Name', 'host'), { message: invalid });
  t.throws(() => nodeNameOf('', 'bad_name'), { message: invalid });
  t.same(nodeIpsOf(''), []);
  t.same(nodeIpsOf('10.0.0.1, fd00::1'), ['10.0.0.1', 'fd00::1']);
  t.same(nodeIpsOf('foo,10.0.0.1'), ['10.0.0.1'], 'what is no address does not count');
  t.same(nodeIpsOf('::'), ['::']);
  t.throws(() => nodeIpsOf('10.0.0.1,10.0.0.2'), { message: /must contain either a single IP or a dual-stack pair of IPs$/ });
  t.throws(() => nodeIpsOf('10.0.0.1,fd00::1,fd00::2'), { message: /must contain either a single IP or a dual-stack pair of IPs$/ });
  t.throws(() => nodeIpsOf('0.0.0.0,::'), { message: /dual-stack node IP cannot include '0\.0\.0\.0' or '::'$/ });
});

t.test('teardown goes backwards, past parts that hang or fail', async (t) => {
  const log = new LogLines();
  const teardown = new Teardown(log);
  const stopped: string[] = [];
  teardown.add('first', () => void stopped.push('first'));
  teardown.add('hanging', () => new Promise(() => {}), 20);
  teardown.add('failing', () => {
    throw new Error('no');
  });
  teardown.add('last', async () => void stopped.push('last'));
  await teardown.run();
  await teardown.run();
  t.same(stopped, ['last', 'first']);
  t.match(log.lines.join('\n'), /"part":"failing","err":"no".*\n.*"part":"hanging","err":"not stopped after 20 ms"/);
});

function listed(uid: string, name: string, more: Partial<ListedPod> = {}): ListedPod {
  return { uid, name, namespace: 'ns', sandboxes: [], containers: [], ...more };
}
const ready = { sandboxes: [{ state: 'ready' }] } as unknown as Partial<ListedPod>;

t.test('pods of others that run are named, the first five of them', async (t) => {
  const listing = { observedAt: 0, pods: [listed('u3', 'c', ready), listed('u1', 'a', ready), listed('u2', 'b', ready)], foreign: 0, foreignImages: [] };
  const host = { listing, logDirectories: ['ns_a_u1', 'ns_d_u4'], cgroups: [{ uid: 'u5', name: ['kubepods', 'podu5'], processes: 2 }] };
  t.same(strangers(host, new Set(['u1', 'u2', 'u3', 'u5'])), []);
  const found = strangers(host, new Set(['u2']));
  t.same(found, ['ns/a', 'ns/c', 'cgroup /kubepods/podu5']);
  t.same(strangers({ listing: { ...listing, pods: [], foreign: 2, foreignImages: [] }, logDirectories: [], cgroups: [] }, new Set()), ['2 containers of no pod']);
  t.same(strangers({ ...host, listing: { ...listing, foreign: 2, foreignImages: [] }, cgroups: [] }, new Set(['u1', 'u2', 'u3'])), [], 'beside known pods they do not matter');
  t.equal(strangersRefusal([], 'unix:///s', 'A.'), null);
  t.match(strangersRefusal(found, 'unix:///s', ''), /^the runtime at unix:\/\/\/s is in use: it holds pods that/);
  t.match(strangersRefusal(found.slice(2), 'unix:///s', ''), /^cgroups of pods are in use: processes run in those of pods that .* \(cgroup \/kubepods\/podu5\)/);
  t.match(strangersRefusal([...found, 'w', 'x', 'y'], 'unix:///s', 'A.'), /\(ns\/a, ns\/c, cgroup \/kubepods\/podu5, w, x and 1 more\); nothing was touched\. A\.$/);
});

const states: readonly (readonly [sentence: string, pod: object, counts: boolean])[] = [
  ['a ready sandbox', { sandboxes: [{ state: 'ready' }] }, true],
  ['an ended sandbox', { sandboxes: [{ state: 'notReady' }] }, false],
  ['a ready one behind an ended one', { sandboxes: [{ state: 'notReady' }, { state: 'ready' }] }, true],
  ['a running container in an ended sandbox', { sandboxes: [{ state: 'notReady' }], containers: [{ state: 'exited' }, { state: 'running' }] }, true],
  ['containers that ended, were created only, or are unknown', { containers: [{ state: 'exited' }, { state: 'created' }, { state: 'unknown' }] }, false],
];
t.test('only what runs is a use of the host', async (t) => {
  for (const [sentence, pod, counts] of states) {
    const listing = { observedAt: 0, pods: [listed('u1', 'a', pod as Partial<ListedPod>)], foreign: 0, foreignImages: [] };
    t.same(strangers({ listing, logDirectories: ['ns_a_u1'], cgroups: [{ uid: 'u1', name: ['podu1'], processes: 0 }] }, new Set()), counts ? ['ns/a'] : [], sentence);
  }
});

/** As before the command is performed. */
function noted(owned: OwnedPods, command: Command<KubeletOperations>): Promise<void> | null {
  const uid = podMadeBy(command);
  return uid === null ? null : owned.mark(uid);
}

t.test('a pod is marked before anything of it is made, and forgotten when nothing is left', async (t) => {
  const root = mkdtempSync(join(tmpdir(), 'kubelet-ts-test-'));
  t.teardown(() => rmSync(root, { recursive: true, force: true }));
  const owned = new OwnedPods(root);
  const command = { id: 1, address: { machine: 'pod', key: 'u' }, slot: '', timeoutMicros: null, answered: true } as const;
  const prepare = { ...command, op: 'podDirectories.prepare', request: { uid: 'u1' } } as const;
  const [first, second] = [noted(owned, prepare), noted(owned, prepare)];
  t.ok(first !== null && first === second, 'whoever comes while the mark is made waits, too');
  await first;
  t.equal(noted(owned, prepare), null);
  await noted(owned, { ...command, op: 'podCgroups.ensure', request: { name: ['kubepods', 'besteffort', 'podu2'], values: null, rewrite: false } });
  t.equal(noted(owned, { ...command, op: 'podCgroups.destroy', request: { name: ['kubepods', 'podu3'] } }), null);
  t.equal(noted(owned, { ...command, op: 'podDirectories.prepare', request: { uid: '../escaped' } }), null);
  t.same(readdirSync(join(root, 'owned-pods')).sort(), ['u1', 'u2']);
  t.same(readdirSync(root), ['owned-pods']);
  const again = new OwnedPods(root);
  t.same([...again.uids].sort(), ['u1', 'u2']);
  again.keepOnly(new Set(['u2', 'other']));
  t.same([...new OwnedPods(root).uids], ['u2']);
  rmSync(join(root, 'owned-pods'), { recursive: true });
  writeFileSync(join(root, 'owned-pods'), '');
  await t.rejects(noted(again, { ...command, op: 'podDirectories.prepare', request: { uid: 'u4' } }) ?? Promise.resolve(), { code: 'ENOTDIR' });
});

t.test('marks of pods that are gone go while the agent runs, but for those that are younger than the look before', async (t) => {
  const root = mkdtempSync(join(tmpdir(), 'kubelet-ts-test-'));
  t.teardown(() => rmSync(root, { recursive: true, force: true }));
  const owned = new OwnedPods(root);
  const command = { id: 1, address: { machine: 'pod', key: 'u' }, slot: '', timeoutMicros: null, answered: true } as const;
  const mark = (uid: string) => noted(owned, { ...command, op: 'podDirectories.prepare', request: { uid } });
  let answer: (uids: ReadonlySet<string>) => void = () => {};
  let fail: (error: Error) => void = () => {};
  let looks = 0;
  owned.forgetBy(() => {
    looks++;
    return new Promise((resolve, reject) => {
      answer = resolve;
      fail = reject;
    });
  });
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  for (let i = 0; i < 64; i++) await mark(`a${i}`);
  t.equal(looks, 1);
  await mark('meanwhile');
  t.equal(looks, 1, 'one look at a time');
  answer(new Set(['a0']));
  await settled();
  t.equal(owned.uids.size, 65, 'none of them is older than a look');
  for (let i = 0; i < 65; i++) await mark(`b${i}`);
  t.equal(looks, 2);
  fail(new Error('the runtime is away'));
  await settled();
  t.equal(owned.uids.size, 130, 'a look that fails forgets nothing');
  for (let i = 0; i < 130; i++) await mark(`c${i}`);
  answer(new Set(['a0', 'b1']));
  await settled();
  t.same([...owned.uids].filter((uid) => !uid.startsWith('c')).sort(), ['a0', 'b1']);
  t.same(readdirSync(join(root, 'owned-pods')).sort(), [...owned.uids].sort(), 'on disk, too');
});

t.test('the loop counts as alive while the runtime can be worked with, and five minutes more', async (t) => {
  const state = newAgentState(defaultSettings, nodeFacts());
  let now = 1_000_000_000;
  const health = new LoopHealth(state, () => now);
  t.equal(health.syncloop().failure, null, 'before the runtime has answered at all');
  now += 299_000_000;
  t.equal(health.syncloop().failure, null);
  now += 2_000_000;
  t.equal(health.syncloop().failure, 'sync Loop took longer than expected');
  state.readiness.lastGood = now;
  state.pleg.lastRelist = now;
  t.equal(health.problem(), null);
  t.equal(health.syncloop().failure, null, 'the runtime is back');
});

t.test('the service manager hears of a daemon that is well, and of no other', async (t) => {
  const heard: string[] = [];
  let failure: string | null = null;
  const notify = (lines: readonly string[]): 'sent' => {
    heard.push(...lines);
    return 'sent';
  };
  const service = { notify, watchdogMicros: () => 20_000 };
  const log = new LogLines();
  const watchdog = new Watchdog(service, () => [{ name: 'syncloop', failure }], log);
  watchdog.start();
  await until('it has heard twice', () => heard.length >= 2);
  failure = 'stuck';
  await until('the failure is logged', () => log.find('"check":"syncloop"'));
  const before = heard.length;
  await until('it was looked at again', () => log.lines.length >= 3);
  t.equal(heard.length, before);
  watchdog.stop();
  t.same(new Set(heard), new Set(['WATCHDOG=1']));

  const unwatched = new Watchdog({ ...service, watchdogMicros: () => null }, () => [], log);
  unwatched.start();
  unwatched.stop();
});

const now = Date.parse('2026-01-01T00:10:00Z') * 1000;
const pods: readonly Pod[] = [
  { metadata: { name: 'b', namespace: 'default', uid: '2' }, spec: { containers: [{ name: 'c', image: 'i' }] } },
  {
    metadata: { name: 'a', namespace: 'default', uid: '1' },
    spec: {
      containers: [
        { name: 'c', image: 'i' },
        { name: 'd', image: 'i' },
      ],
    },
    status: {
      phase: 'Running',
      startTime: '2026-01-01T00:00:00Z',
      containerStatuses: [
        { name: 'c', ready: true, restartCount: 0, image: 'i', imageID: '', state: { running: {} } },
        { name: 'd', ready: false, restartCount: 3, image: 'i', imageID: '', state: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off\n\u001b[2J40s' } } },
      ],
    },
  },
];

t.test('pods as a table', async (t) => {
  const rows = podRows(pods, instantOf(now));
  t.same(tableText(podHeader, rows.map(podCells), 200), [
    'NAME  NAMESPACE  PHASE    READY  RESTARTS  AGE  MESSAGE',
    'a     default    Running  1/2    3         10m  d: CrashLoopBackOff: back-off [2J40s',
    'b     default    Pending  0/1    0         -',
  ]);
  t.equal(tableText(podHeader, rows.map(podCells), 60)[1], 'a     default    Running  1/2    3         10m  d: CrashLoo…');
});

t.test('the view on a terminal is redrawn in its place, elsewhere a change is a line', async (t) => {
  const written: string[] = [];
  const rows = podRows(pods, instantOf(now));
  const line = podView({ write: (text) => written.push(text) });
  line.show(rows);
  line.show(rows);
  line.show(rows.slice(0, 1));
  line.note('noted');
  t.same(written, ['default/a  Running  ready 1/2  restarts 3  d: CrashLoopBackOff: back-off [2J40s\n', 'default/b  Pending  ready 0/1\n', 'default/b  gone\n', 'noted\n']);

  written.length = 0;
  const table = podView({ isTTY: true, columns: 60, rows: 24, write: (text) => written.push(text) });
  table.show(rows);
  table.show(rows);
  t.equal(written.length, 1, 'nothing changed, nothing drawn');
  table.note('x'.repeat(100));
  t.match(written[1], /^\u001b\[4A\u001b\[JNAME.*\n.*\n.*\n\nx{59}…\n$/);
  table.end();
  table.note('late');
  t.equal(written.length, 2);
});

t.test('a pile of pods does not scroll the table away', async (t) => {
  const written: string[] = [];
  const many = Array.from({ length: 50 }, (_, i): Pod => ({ metadata: { name: `p${i}`, uid: String(i) }, spec: { containers: [] } }));
  const table = podView({ isTTY: true, columns: 60, rows: 10, write: (text) => written.push(text) });
  table.show(podRows(many, instantOf(now)));
  t.equal(written[0]?.split('\n').length, 9);
});
