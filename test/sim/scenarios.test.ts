// What a node does with pods, in virtual time: manifests that come, change and go; containers that end; grace, back-off and restarts.
import type { Pod } from '../../src/ports/model/pod.js';
import { type Stage, scenario } from './scenario.js';
import { minute, ms, podOf, second } from './sim-pods.js';

scenario('add, edit with a generated uid, remove', {}, (stage) => {
  const { t, node } = stage;
  node.put('a.yaml', podOf('a', { env: '1' }));
  const took = stage.untilPhase('a', 'Running', 10 * second);
  t.ok(took < 3 * second, `running after ${took / second} s`);
  const first = node.pod('a')?.metadata.uid ?? '';
  t.strictSame(
    stage.reasons('a').filter((reason) => reason !== 'MissingClusterDNS'),
    ['Pulling', 'Pulled', 'Created', 'Started'],
  );
  t.match(node.status('a'), { phase: 'Running', containerStatuses: [{ name: 'c', ready: true, started: true, restartCount: 0, state: { running: {} } }] });
  stage.run(minute);
  node.put('a.yaml', podOf('a', { env: '2' }));
  stage.until('the edited pod runs', () => (node.pod('a')?.metadata.uid ?? first) !== first && node.status('a')?.phase === 'Running', 30 * second);
  const second_ = node.pod('a')?.metadata.uid ?? '';
  t.strictSame(stage.running(first), [], 'the old one is down');
  t.match(stage.last.get(first), { containerStatuses: [{ state: { terminated: { exitCode: 143, reason: 'Error' } } }] });
  node.remove('a.yaml');
  stage.untilGone(first, 5 * minute);
  stage.untilGone(second_, 5 * minute);
  t.strictSame(
    [node.host.state.podDirectories.size, [...node.host.state.cgroups].filter((path) => path.includes('pod')).filter((path) => /pod[0-9a-f]/.test(path)).length],
    [0, 0],
    'no directory and no cgroup is left',
  );
  t.equal(node.agent.statuses.size, 0);
});

scenario('edit with a uid of its own: the container is replaced in the same pod', {}, (stage) => {
  const { t, node } = stage;
  node.put('a.yaml', podOf('a', { uid: 'a', image: 'busybox:1' }));
  stage.untilPhase('a', 'Running', 10 * second);
  const [sandbox] = node.sandboxes('a');
  stage.run(10 * second);
  node.put('a.yaml', podOf('a', { uid: 'a', image: 'busybox:2' }));
  stage.until('the new image runs', () => node.containers('a').some(({ state, config }) => state === 'running' && config.image.userSpecifiedImage === 'busybox:2'), 30 * second);
  stage.run(5 * second);
  t.match(node.status('a'), { phase: 'Running', containerStatuses: [{ restartCount: 1, image: 'docker.io/library/busybox:2', lastState: { terminated: { exitCode: 143 } } }] });
  t.equal(node.sandboxes('a').length, 1);
  t.equal(node.sandboxes('a')[0]?.id, sandbox?.id);
  t.match(
    node.events('a').map(({ record }) => record.message),
    /Container c definition changed, will be restarted/,
  );
});

scenario('replace a manifest by another pod', {}, (stage) => {
  const { node } = stage;
  node.put('a.yaml', podOf('a', { uid: 'a' }));
  stage.untilPhase('a', 'Running', 10 * second);
  node.put('a.yaml', podOf('b', { uid: 'b' }));
  stage.untilPhase('b', 'Running', 10 * second);
  stage.untilGone('a', 5 * minute);
});

scenario('several containers, each with its own life', {}, (stage) => {
  const { t, node } = stage;
  node.put('a.yaml', podOf('a', { uid: 'a', policy: 'OnFailure', containers: { web: 'run=forever', once: 'run=10s', flaky: 'run=5s,exit=3; run=forever' } }));
  stage.run(minute);
  t.match(node.status('a'), {
    phase: 'Running',
    containerStatuses: [
      { name: 'flaky', restartCount: 1, ready: true, lastState: { terminated: { exitCode: 3 } } },
      { name: 'once', restartCount: 0, ready: false, state: { terminated: { exitCode: 0, reason: 'Completed' } } },
      { name: 'web', restartCount: 0, ready: true, state: { running: {} } },
    ],
    conditions: [{}],
  });
  t.equal(node.status('a')?.conditions?.find(({ type }) => type === 'Ready')?.status, 'False');
});

scenario('init containers run one after the other, again after a failure', {}, (stage) => {
  const { t, node } = stage;
  node.put('a.yaml', podOf('a', { uid: 'a', init: { one: 'run=3s,exit=1; run=3s', two: 'run=4s' } }));
  stage.until('the first one runs', () => stage.running('a').length === 1, 10 * second);
  t.match(node.status('a'), { phase: 'Pending' });
  stage.untilPhase('a', 'Running', minute);
  const [one, two] = node.status('a')?.initContainerStatuses ?? [];
  t.match(
    [one, two],
    [
      { name: 'one', restartCount: 1, ready: true },
      { name: 'two', restartCount: 0, ready: true },
    ],
  );
  const starts = node.containers('a').map(({ config, startedAt, finishedAt }) => ({ name: config.metadata.name, startedAt: startedAt ?? 0, finishedAt: finishedAt ?? 0 }));
  const at = (name: string) => starts.filter((start) => start.name === name).at(-1);
  t.ok((at('one')?.finishedAt ?? 0) <= (at('two')?.startedAt ?? 0) && (at('two')?.finishedAt ?? 0) <= (at('c')?.startedAt ?? 0), 'in order');
});

scenario('sidecars start first, run beside, and stop last', {}, (stage) => {
  const { t, node } = stage;
  node.put('a.yaml', podOf('a', { uid: 'a', grace: 20, sidecars: { log: 'run=forever', net: 'run=forever' }, init: { prepare: 'run=2s' }, containers: { web: 'term=3s' } }));
  stage.untilPhase('a', 'Running', minute);
  stage.run(5 * second);
  t.equal(stage.running('a').length, 3);
  const ends = new Map<string, number>();
  const removedAt = stage.cluster.now;
  node.remove('a.yaml');
  stage.until(
    'all are down',
    () => {
      for (const { config, finishedAt } of node.containers('a')) if (finishedAt !== null) ends.set(config.metadata.name, finishedAt);
      return stage.running('a').length === 0;
    },
    minute,
  );
  const [web = 0, log = 0, net = 0] = ['web', 'log', 'net'].map((name) => ends.get(name));
  t.ok(web - removedAt >= 3 * second && web < net && net < log, `web, then the sidecars in reverse: ${web - removedAt}, ${net - removedAt}, ${log - removedAt}`);
  stage.untilGone('a', 5 * minute);
});

scenario('a sidecar does not keep a pod from ending', {}, (stage) => {
  const { t, node } = stage;
  node.put('a.yaml', podOf('a', { uid: 'a', policy: 'Never', sidecars: { log: 'run=forever' }, containers: { job: 'run=10s' } }));
  stage.untilPhase('a', 'Succeeded', minute);
  stage.until('the sidecar is down', () => stage.running('a').length === 0, minute);
  t.equal(node.status('a')?.phase, 'Succeeded');
});

/** When a container started, and when that run of a fixed length ended. */
function restarts(stage: Stage, runMicros: number): { readonly wait: number }[] {
  const started = stage.node.events('a').filter(({ record }) => record.reason === 'Started');
  return started.slice(1).map(({ at }, i) => ({ wait: at - ((started[i]?.at ?? 0) + runMicros) }));
}

scenario('a crash loop waits immediate, 10, 20, 40, 80, 160, 300, 300 s', {}, (stage) => {
  const { t, node } = stage;
  node.put('a.yaml', podOf('a', { uid: 'a', containers: { c: 'run=1s,exit=1' } }));
  stage.run(26 * minute);
  const waits = restarts(stage, second).map(({ wait }) => wait);
  for (const [i, delay] of [0, 10, 20, 40, 80, 160, 300, 300].entries()) {
    const wait = (waits[i] ?? 0) / second;
    // The container may start from the delay on; the sync that starts it comes up to half the rest of the delay later, as every sync is spread.
    t.ok(wait >= delay && wait <= delay * 1.5 + 1.5, `restart ${i + 1} after ${wait} s, to be ${delay}`);
  }
  const said = (stage.waits.get('a/c') ?? []).filter((text) => text.startsWith('CrashLoopBackOff'));
  t.strictSame(
    [...new Set(said)],
    ['10s', '20s', '40s', '1m20s', '2m40s', '5m0s'].map((text) => `CrashLoopBackOff back-off ${text} restarting failed container=c pod=a-node_default(a)`),
  );
  t.equal(node.status('a')?.containerStatuses?.[0]?.restartCount, node.events('a').filter(({ record }) => record.reason === 'Started').length - 1);
  t.ok(node.containers('a').length <= 2, 'dead containers do not pile up');
});

scenario('ten minutes of running end a crash loop', {}, (stage) => {
  const { t, node } = stage;
  node.put('a.yaml', podOf('a', { uid: 'a', containers: { c: 'run=1s,exit=1; run=1s,exit=1; run=1s,exit=1; run=11m,exit=1; run=1s,exit=1' } }));
  stage.run(20 * minute);
  const [, , , last = 0] = restarts(stage, 0).map(({ wait }) => wait);
  t.ok(last > 11 * minute && last < 11 * minute + 2 * second, `started again ${last / second} s after the long run began`);
  const said = (stage.waits.get('a/c') ?? []).map((text) => /back-off (\S+)/.exec(text)?.[1]).filter((text) => text !== undefined);
  t.strictSame(said.slice(0, 4), ['10s', '20s', '10s', '20s']);
});

const endings: readonly (readonly [what: string, script: string, grace: number, seconds: readonly [number, number], exitCode: number])[] = [
  ['ends when asked', 'term=2s', 5, [2, 2.1], 143],
  ['ends when asked, with a code of its own', 'term=1s,term-exit=7', 5, [1, 1.1], 7],
  ['ignores the signal', 'ignore-term', 5, [5, 5.1], 137],
  ['is too slow', 'term=10s', 3, [3, 3.1], 137],
  ['has less than the least', 'ignore-term', 1, [2, 2.1], 137],
];
for (const [what, script, grace, [least, most], exitCode] of endings) {
  scenario(`a container that ${what}`, {}, (stage) => {
    const { t, node } = stage;
    node.put('a.yaml', podOf('a', { uid: 'a', grace, containers: { c: script } }));
    stage.untilPhase('a', 'Running', 10 * second);
    stage.run(10 * second);
    const { now } = stage.cluster;
    node.remove('a.yaml');
    stage.until('it ends', () => stage.running('a').length === 0, minute);
    const took = ((node.containers('a')[0]?.finishedAt ?? 0) - now) / second;
    t.ok(took >= least && took <= most, `down after ${took} s`);
    stage.until('the status says so', () => stage.last.get('a')?.containerStatuses?.[0]?.state?.terminated !== undefined, 10 * second);
    t.match(stage.last.get('a')?.containerStatuses?.[0]?.state?.terminated, { exitCode, reason: 'Error' });
    stage.untilGone('a', 5 * minute);
  });
}

const policies: readonly (readonly [policy: 'Never' | 'OnFailure', scripts: Readonly<Record<string, string>>, phase: string, restarts: readonly number[]])[] = [
  ['Never', { c: 'run=5s' }, 'Succeeded', [0]],
  ['Never', { c: 'run=5s,exit=2' }, 'Failed', [0]],
  ['Never', { c: 'run=5s', d: 'run=9s,exit=1' }, 'Failed', [0, 0]],
  ['OnFailure', { c: 'run=5s' }, 'Succeeded', [0]],
  ['OnFailure', { c: 'run=5s,exit=1; run=5s' }, 'Succeeded', [1]],
  ['OnFailure', { c: 'run=5s,exit=1; run=5s,exit=1; run=5s', d: 'run=1s' }, 'Succeeded', [2, 0]],
];
for (const [policy, containers, phase, restartCounts] of policies) {
  scenario(`${policy}, ${JSON.stringify(containers)}: ${phase}`, {}, (stage) => {
    const { t, node } = stage;
    node.put('a.yaml', podOf('a', { uid: 'a', policy, containers }));
    stage.untilPhase('a', phase, 5 * minute);
    stage.run(10 * minute);
    t.strictSame(
      node.status('a')?.containerStatuses?.map(({ restartCount }) => restartCount),
      restartCounts,
    );
    t.equal(node.status('a')?.phase, phase, 'and stays so');
    t.strictSame(stage.running('a'), []);
    t.ok(node.sandboxes('a').every(({ state }) => state === 'notReady'));
  });
}

scenario('the runtime is away for 20 s', {}, (stage) => {
  const { t, node } = stage;
  node.put('a.yaml', podOf('a', { uid: 'a' }));
  node.put('b.yaml', podOf('b', { uid: 'b', containers: { c: 'run=20s,exit=1' } }));
  stage.run(10 * second);
  const before = stage.running('a');
  node.runtimeDown(20 * second);
  stage.run(5 * second);
  node.put('c.yaml', podOf('c', { uid: 'c' }));
  stage.run(14 * second);
  t.strictSame(node.containers('c'), []);
  t.ok(stage.reasons('c').filter((reason) => reason === 'FailedCreatePodSandBox').length <= 3, 'it is tried now and then, not all the time');
  stage.until('the new pod runs', () => node.status('c')?.phase === 'Running', 20 * second);
  stage.until(
    'the one that ended meanwhile was restarted',
    () => (node.status('b')?.containerStatuses?.[0]?.restartCount ?? 0) > 0 && stage.running('b').length === 1,
    30 * second,
  );
  t.strictSame(stage.running('a'), before, 'the container never noticed');
});

scenario('the runtime is away while a pod terminates', {}, (stage) => {
  const { node } = stage;
  node.put('a.yaml', podOf('a', { uid: 'a', containers: { c: 'ignore-term' }, grace: 10 }));
  stage.run(10 * second);
  node.remove('a.yaml');
  stage.run(3 * second);
  node.runtimeDown(20 * second);
  stage.run(20 * second);
  stage.untilGone('a', 5 * minute);
});

scenario('the network is not ready at first', {}, (stage) => {
  const { t, node } = stage;
  node.setNetworkReady(false);
  node.put('a.yaml', podOf('a', { uid: 'a' }));
  node.put('h.yaml', podOf('h', { uid: 'h', spec: { hostNetwork: true } }));
  stage.untilPhase('h', 'Running', 10 * second);
  stage.run(20 * second);
  t.match(node.status('a'), { phase: 'Pending' });
  t.match(stage.reasons('a'), /NetworkNotReady/);
  t.strictSame(node.sandboxes('a'), []);
  node.setNetworkReady(true);
  const took = stage.untilPhase('a', 'Running', 20 * second);
  t.ok(took < 10 * second, `${took / second} s after the network is there`);
});

// Pulled one after the other, as is the default, fifty pulls alone would take that long.
scenario('fifty pods at once', { runtime: { images: [{ reference: 'busybox', sizeBytes: 4_000_000, present: true }] } }, (stage) => {
  const { t, node } = stage;
  for (let i = 0; i < 50; i++) node.put(`p${i}.yaml`, podOf(`p${i}`, { uid: `p${i}` }));
  const all = (): boolean => Array.from({ length: 50 }, (_, i) => node.status(`p${i}`)?.phase).every((phase) => phase === 'Running');
  const took = stage.until('all run', all, minute);
  t.ok(took < 10 * second, `after ${took / second} s`);
  t.equal(node.containers().length, 50);
  for (let i = 0; i < 50; i++) node.remove(`p${i}.yaml`);
  stage.until('all are gone', () => node.containers().length + node.sandboxes().length + node.agent.workers.records.size === 0, 5 * minute);
});

scenario(
  'an image that can not be pulled at first',
  { faults: [{ operation: 'images.pull', trigger: { untilMicros: 2 * minute }, action: { kind: 'error', moment: 'before', error: 'unknown', message: 'no route to host' } }] },
  (stage) => {
    const { t, node } = stage;
    node.put('a.yaml', podOf('a', { uid: 'a' }));
    stage.run(2 * minute);
    t.match(node.status('a'), { phase: 'Pending', containerStatuses: [{ state: { waiting: { reason: 'ImagePullBackOff' } } }] });
    const said = stage.waits.get('a/c') ?? [];
    t.ok(said.includes('ErrImagePull no route to host') && said.includes('ImagePullBackOff Back-off pulling image "busybox": ErrImagePull: no route to host'), said.join(' | '));
    const pulls = node.events('a').filter(({ record }) => record.reason === 'Pulling');
    for (const [i, least] of [10, 20, 40].entries()) t.ok((pulls[i + 1]?.at ?? 0) - (pulls[i]?.at ?? 0) >= least * second, `pull ${i + 2} not before ${least} s`);
    stage.untilPhase('a', 'Running', 3 * minute);
  },
);

scenario('removed while its image is pulled', { runtime: { images: [{ reference: 'big:1', sizeBytes: 50_000_000_000 }] } }, (stage) => {
  const { t, node } = stage;
  node.put('a.yaml', podOf('a', { uid: 'a', image: 'big:1' }));
  stage.until('the pull is under way', () => stage.reasons('a').includes('Pulling'), 10 * second);
  stage.run(5 * second);
  node.remove('a.yaml');
  const took = stage.until('the sandbox is down', () => node.sandboxes('a').every(({ state }) => state === 'notReady'), minute);
  t.ok(took < 5 * second, `${took / second} s after it was removed`);
  stage.untilGone('a', 5 * minute);
  t.notOk(stage.reasons('a').includes('Created'), 'no container was made');
});

scenario('two static pods of one full name take turns', { manifestUrl: 'http://127.0.0.1:1/pods' }, (stage) => {
  const { t, node } = stage;
  const response = (pods: readonly Pod[], digest: string) => {
    const value = { apiVersion: 'v1', kind: 'PodList', items: pods.map((pod) => ({ apiVersion: 'v1', kind: 'Pod', ...pod })) };
    return { status: '200 OK', statusCode: 200, bodyBytes: 100, digest, excerpt: '', content: { kind: 'document' as const, value, notes: [] } };
  };
  node.put('a.yaml', podOf('a', { uid: 'a1', grace: 10, containers: { c: 'ignore-term' } }));
  stage.untilPhase('a', 'Running', 10 * second);
  node.manifests.serve('http://127.0.0.1:1/pods', response([podOf('a', { uid: 'a2' })], '1'));
  stage.until('the second one is known', () => node.agent.workers.records.has('a2'), minute);
  stage.run(2 * minute);
  t.strictSame([stage.running('a1').length, node.sandboxes('a2').length], [1, 0], 'the first one runs, the second one waits');
  node.remove('a.yaml');
  stage.run(5 * second);
  t.strictSame([stage.running('a1').length, node.sandboxes('a2').length], [1, 0], 'until the first one is down');
  stage.until('the second one runs', () => stage.running('a2').length === 1, minute);
  t.strictSame(stage.running('a1'), []);
  node.put('a.yaml', podOf('a', { uid: 'a3' }));
  stage.run(minute);
  t.strictSame(node.sandboxes('a3'), []);
  node.manifests.serve('http://127.0.0.1:1/pods', response([], '2'));
  stage.until('the third one runs', () => stage.running('a3').length === 1, 2 * minute);
});

scenario('pods that only the runtime knows are killed when every source has reported', { manifestUrl: 'http://127.0.0.1:1/pods' }, (stage) => {
  const { t, node } = stage;
  node.put('a.yaml', podOf('a', { uid: 'a', grace: 30, containers: { c: 'ignore-term' } }));
  node.put('b.yaml', podOf('b', { uid: 'b' }));
  stage.untilPhase('a', 'Running', 10 * second);
  stage.run(5 * second);
  node.kill();
  node.remove('a.yaml');
  const [b] = stage.running('b');
  node.start();
  stage.run(10 * minute);
  t.equal(stage.running('a').length, 1, 'the URL has not answered: the pod may be one of its');
  const value = { apiVersion: 'v1', kind: 'PodList', items: [] };
  node.manifests.serve('http://127.0.0.1:1/pods', { status: '200 OK', statusCode: 200, bodyBytes: 1, digest: '1', excerpt: '', content: { kind: 'document', value, notes: [] } });
  stage.untilGone('a', 10 * minute);
  t.strictSame(stage.running('b'), [b]);
});

scenario('a broken manifest leaves the other pods alone', {}, (stage) => {
  const { t, node } = stage;
  node.put('a.yaml', podOf('a', { uid: 'a' }));
  stage.run(5 * second);
  const before = stage.running('a');
  node.putContent('b.yaml', { kind: 'unreadable', message: 'b.yaml: line 3: tabs' });
  node.putContent('a.yaml', { kind: 'unreadable', message: 'a.yaml: half written' });
  stage.run(200 * ms);
  node.put('a.yaml', podOf('a', { uid: 'a' }));
  stage.run(minute);
  t.strictSame(stage.running('a'), before, 'a half-written file stops nothing');
});

scenario('after an hour in which nothing happens, a change is acted on at once', {}, (stage) => {
  const { t, node } = stage;
  node.put('a.yaml', podOf('a', { uid: 'a' }));
  for (let i = 0; i < 6; i++) {
    stage.run(10 * minute + i * 17 * second);
    node.put('b.yaml', podOf('b', { uid: `b${i}` }));
    const took = stage.until(`b${i} runs`, () => stage.running(`b${i}`).length === 1, minute);
    t.ok(took < 5 * second, `after ${took / second} s`);
  }
});
