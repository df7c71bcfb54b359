// Volumes when the outside is at its worst: a file server that never answers, and an agent that is killed after each of its steps.
import { performance } from 'node:perf_hooks';
import type { Container } from '../../src/ports/model/container.js';
import type { Pod } from '../../src/ports/model/pod.js';
import type { Volume, VolumeMount } from '../../src/ports/model/volume.js';
import type { FaultRule } from '../../src/sim/index.js';
import { type Stage, scenario } from './scenario.js';
import { minute, podOf, second } from './sim-pods.js';

const mountedAt = ({ node }: Stage, uid: string) => [...node.host.state.volumeMounts.keys()].filter((path) => path.includes(`/pods/${uid}/`));

function podWith(name: string, volumes: readonly Volume[], more: readonly VolumeMount[] = []): Pod {
  const pod = podOf(name, { uid: name });
  const volumeMounts = [...volumes.map((volume) => ({ name: volume.name, mountPath: `/${volume.name}` })), ...more];
  const mounting = (container: Container): Container => ({ ...container, volumeMounts });
  return { ...pod, spec: { ...pod.spec, volumes, containers: pod.spec.containers.map(mounting) } };
}

const share: Volume = { name: 'share', nfs: { server: 'dead', path: '/p' } };
const hanging: readonly (readonly [what: string, volume: Volume, rule: FaultRule])[] = [
  ['a mount', share, { operation: 'volumeMounts.mount', trigger: { nth: 1 }, action: { kind: 'hang', moment: 'before' } }],
  [
    'a look at a path of the host',
    { name: 'share', hostPath: { path: '/mnt/dead', type: 'Directory' } },
    { operation: 'hostPaths.inspect', trigger: { nth: 1 }, action: { kind: 'hang', moment: 'before' } },
  ],
];
for (const [what, volume, rule] of hanging) {
  scenario(`KB063 ${what} that never ends holds up its volume alone`, { faults: [rule] }, (stage) => {
    const { t, node } = stage;
    node.put('stuck.yaml', podWith('stuck', [volume, { name: 'work', emptyDir: {} }]));
    stage.run(5 * second);
    for (const name of ['a', 'b']) node.put(`${name}.yaml`, podWith(name, [{ name: 'work', emptyDir: { medium: 'Memory' } }]));
    const took = [stage.untilPhase('a', 'Running', 10 * second), stage.untilPhase('b', 'Running', 10 * second)];
    t.ok(
      took.every((micros) => micros < 5 * second),
      'others start as if nothing was',
    );
    node.put('a.yaml', podWith('a', [{ name: 'work', emptyDir: {} }]));
    node.remove('b.yaml');
    stage.untilGone('b', 2 * minute);
    stage.run(5 * minute);
    t.match(node.status('stuck'), { phase: 'Pending' });
    t.strictSame(node.containers('stuck'), []);
    t.equal(node.events('stuck').filter(({ record }) => record.reason === 'FailedMount').length, 0, 'a wait that is over is no failure of the volume');
    node.remove('stuck.yaml');
    stage.run(minute);
    t.ok(node.host.state.podDirectories.has('stuck'), 'what may be mounted any moment is waited for');
    stage.untilGone('stuck', 3 * 60 * minute);
    stage.until('nothing is left once it has answered', () => !node.host.state.podDirectories.has('stuck'), 10 * minute);
    t.strictSame(mountedAt(stage, 'stuck'), []);
  });
}

const allKinds: readonly Volume[] = [
  { name: 'memory', emptyDir: { medium: 'Memory' } },
  { name: 'disk', emptyDir: {} },
  { name: 'share', nfs: { server: 'files', path: '/p' } },
  { name: 'info', downwardAPI: { defaultMode: 0o644, items: [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }] } },
  { name: 'host', hostPath: { path: '/srv/made', type: 'DirectoryOrCreate' } },
];
const part: VolumeMount = { name: 'disk', mountPath: '/part', subPath: 'deep/part' };
const volumePorts = ['podVolumes.', 'volumeMounts.', 'hostPaths.', 'subPaths.', 'podDirectories.'];

/** How many commands about volumes were carried out. */
function performed({ node }: Stage): number {
  let count = 0;
  for (const [op, times] of node.model.performed) if (volumePorts.some((port) => op.startsWith(port))) count += times;
  return count;
}

scenario('an agent that is killed after each step of mounting leaves nothing behind, with the pod wanted or gone meanwhile', {}, (stage) => {
  const { t, node } = stage;
  const began = performance.now();
  let cuts = 0;
  for (let step = 1, isCut = true; isCut; step++) {
    for (const isWanted of [true, false]) {
      const uid = `m${step}${isWanted}`;
      const from = performed(stage);
      node.put('v.yaml', podWith(uid, allKinds, [part]));
      const isRunning = () => stage.running(uid).length === 1;
      stage.cluster.runUntil(() => performed(stage) >= from + step || isRunning(), minute);
      isCut = !isRunning();
      cuts += isCut ? 1 : 0;
      node.kill();
      if (!isWanted) node.remove('v.yaml');
      node.start();
      if (isWanted) {
        stage.until(`it runs, cut after step ${step}`, isRunning, 5 * minute);
        t.equal(mountedAt(stage, uid).length, 1, 'mounted once');
        node.remove('v.yaml');
      }
      stage.until(`nothing is left, cut after step ${step}`, () => node.host.state.podDirectories.size === 0 && node.host.state.volumeMounts.size === 0, 5 * minute);
    }
  }
  t.ok(cuts >= 20, `${cuts} cuts in ${Math.round(performance.now() - began)} ms`);
  t.equal(node.host.state.hostPaths.get('/srv/made'), 'directory', 'the host’s own stays');
});

scenario('an agent that is killed after each step of taking down leaves nothing behind', {}, (stage) => {
  const { t, node } = stage;
  let cuts = 0;
  for (let step = 1, isCut = true; isCut; step++) {
    const uid = `u${step}`;
    node.put('v.yaml', podWith(uid, allKinds, [part]));
    stage.until('it runs', () => stage.running(uid).length === 1, 5 * minute);
    node.remove('v.yaml');
    const from = performed(stage);
    const isGone = () => !node.host.state.podDirectories.has(uid);
    stage.cluster.runUntil(() => performed(stage) >= from + step || isGone(), 5 * minute);
    isCut = !isGone();
    cuts += isCut ? 1 : 0;
    node.kill();
    stage.run(second);
    node.start();
    stage.until(`nothing is left, cut after step ${step}`, () => isGone() && node.host.state.volumeMounts.size === 0, 5 * minute);
  }
  t.ok(cuts >= 6, `${cuts} cuts`);
});
