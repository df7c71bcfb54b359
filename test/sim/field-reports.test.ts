// What people met with static pods and with runtimes that answer late or much, replayed in virtual time. Each is named by its report.
import { draw, streamOf } from '../../src/domain/kernel/random.js';
import type { Stage } from './scenario.js';
import { scenario } from './scenario.js';
import { minute, ms, podOf, second } from './sim-pods.js';

for (const uid of ['fixed', undefined]) {
  scenario(`KB001 a manifest that is taken away and put back, ${uid === undefined ? 'uid generated' : 'uid of its own'}`, {}, (stage) => {
    const { t, node } = stage;
    const pod = podOf('a', { ...(uid === undefined ? {} : { uid }), grace: 1, containers: { c: 'ignore-term' } });
    node.put('a.yaml', pod);
    stage.untilPhase('a', 'Running', 10 * second);
    for (let i = 0; i < 20; i++) {
      const podUid = node.pod('a')?.metadata.uid ?? '';
      const [old] = stage.running(podUid);
      const gap = i === 0 ? 300 * ms : Math.floor(draw(streamOf(1, 'gap', ''), i) * 3 * second);
      node.remove('a.yaml');
      stage.run(gap);
      node.put('a.yaml', pod);
      stage.until(`a new container runs, put back after ${gap / second} s`, () => stage.running(podUid).length === 1 && stage.running(podUid)[0] !== old, minute);
      stage.run(second);
      t.match(node.status('a'), { phase: 'Running', containerStatuses: [{ state: { running: {} } }] });
      stage.run(10 * second);
    }
  });
}

/** A static pod that runs, an agent that is away while its manifest changes, and a second source that never answers. */
function changedWhileAway(stage: Stage): { readonly old: string; readonly wanted: string } {
  const { node } = stage;
  const slow = { grace: 8, containers: { c: 'ignore-term' }, spec: { hostNetwork: true } };
  node.put('a.yaml', podOf('a', { ...slow, env: '1' }));
  stage.untilPhase('a', 'Running', 10 * second);
  const old = node.pod('a')?.metadata.uid ?? '';
  stage.run(5 * second);
  node.kill();
  node.put('a.yaml', podOf('a', { ...slow, env: '2' }));
  stage.run(second);
  node.start();
  stage.until('the changed pod is known', () => node.pod('a') !== null, 10 * second);
  return { old, wanted: node.pod('a')?.metadata.uid ?? '' };
}

scenario(
  'KB002 a manifest that was changed while the agent was away: the old pod ends first, with its grace, and no API is needed',
  { manifestUrl: 'http://127.0.0.1:1/never' },
  (stage) => {
    const { t, node } = stage;
    const { old, wanted } = changedWhileAway(stage);
    t.not(old, wanted);
    const { now } = stage.cluster;
    stage.run(7 * second);
    t.equal(stage.running(old).length, 1, 'it has its grace');
    t.strictSame(node.sandboxes(wanted), [], 'and nothing of the new one is there');
    stage.until('the new one runs', () => stage.running(wanted).length === 1, 30 * second);
    const took = (stage.cluster.now - now) / second;
    t.ok(took >= 8 && took < 12, `after ${took} s`);
    t.strictSame(stage.running(old), []);
  },
);

scenario('KB004 an edited static pod starts within about a second of the end of the old one', {}, (stage) => {
  const { t, node } = stage;
  node.put('a.yaml', podOf('a', { env: '1', containers: { c: 'term=4s' }, grace: 10 }));
  stage.untilPhase('a', 'Running', 10 * second);
  const old = node.pod('a')?.metadata.uid ?? '';
  stage.run(10 * second);
  node.put('a.yaml', podOf('a', { env: '2', containers: { c: 'term=4s' }, grace: 10 }));
  stage.until('the old one is down', () => stage.running(old).length === 0, 10 * second);
  const took = stage.until('the new one runs', () => node.containers().some(({ state, podUid }) => state === 'running' && podUid !== old), minute);
  t.ok(took < 1.5 * second, `after ${took / second} s`);
});

scenario('KB039 dead sandboxes are removed steadily', {}, (stage) => {
  const { t, node } = stage;
  let most = 0;
  for (let i = 0; i < 120; i++) {
    node.put('a.yaml', podOf('a', { env: String(i) }));
    stage.run(10 * second);
    most = Math.max(most, node.sandboxes().length);
  }
  t.ok(most <= 20, `120 pods came and went in 20 minutes, never more than ${most} sandboxes`);
  stage.run(5 * minute);
  t.equal(node.sandboxes().length, 1);
});
