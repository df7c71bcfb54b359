// What dead containers and pods that are gone leave behind, and when it goes: containers, sandboxes, logs with their links, directories.
import { type Stage, scenario } from './scenario.js';
import { minute, podOf, second } from './sim-pods.js';

const exited = ({ node }: Stage, uid?: string): number => node.containers(uid).filter(({ state }) => state === 'exited').length;
const crashing = { containers: { c: 'run=1s,exit=1' } };

scenario('dead containers: so many of a name, the newest', { settings: { containerGc: { minAge: 0, maxPerPodContainer: 2, maxContainers: -1 } } }, (stage) => {
  const { t, node } = stage;
  node.put('a.yaml', podOf('a', { uid: 'a', ...crashing }));
  stage.run(10 * minute);
  const attempts = node.containers('a').map(({ config }) => config.metadata.attempt);
  t.equal(exited(stage, 'a'), 2);
  t.equal(Math.max(...attempts) - Math.min(...attempts), attempts.length - 1, `the newest: ${attempts.join(', ')}`);
  const logs = [...(node.host.state.logs.get('default_a-node_a')?.get('c')?.keys() ?? [])];
  t.equal(logs.length, attempts.length, 'each with its log, and no other log');
  t.equal(node.host.state.links.size, attempts.length, 'and its link');
});

scenario('dead containers: so many on the node', { settings: { containerGc: { minAge: 0, maxPerPodContainer: -1, maxContainers: 3 } } }, (stage) => {
  const { t, node } = stage;
  for (const name of ['a', 'b', 'c', 'd', 'e']) node.put(`${name}.yaml`, podOf(name, { uid: name, policy: 'Never', containers: { c: 'run=1s' } }));
  stage.run(5 * minute);
  t.equal(exited(stage), 3);
});

scenario('young dead containers stay', { settings: { containerGc: { minAge: 10 * minute, maxPerPodContainer: 0, maxContainers: 0 } } }, (stage) => {
  const { t, node } = stage;
  node.put('a.yaml', podOf('a', { uid: 'a', policy: 'Never', containers: { c: 'run=1s' } }));
  node.put('b.yaml', podOf('b', { uid: 'b' }));
  stage.run(9 * minute);
  t.equal(exited(stage, 'a'), 1);
});

scenario('nothing is left of a pod that is gone', {}, (stage) => {
  const { t, node } = stage;
  node.put('a.yaml', podOf('a', { uid: 'a', ...crashing, spec: { volumes: [{ name: 'v', emptyDir: {} }] } }));
  node.put('b.yaml', podOf('b', { uid: 'b' }));
  stage.run(2 * minute);
  node.remove('a.yaml');
  stage.untilGone('a', 5 * minute);
  stage.run(3 * minute);
  const { logs, links, podDirectories, cgroups } = node.host.state;
  t.strictSame([...logs.keys()], ['default_b-node_b']);
  t.strictSame(
    [...links.values()].filter((target) => target.includes('_a/')),
    [],
  );
  t.strictSame([...podDirectories.keys()], ['b']);
  t.strictSame(
    [...cgroups].filter((name) => name.endsWith('/poda')),
    [],
  );
});

scenario('a container whose log can not go stays with it', {}, (stage) => {
  const { t, node } = stage;
  node.put('a.yaml', podOf('a', { uid: 'a', ...crashing }));
  node.setFaults([{ operation: 'podLogs.removeContainerLogs', trigger: {}, action: { kind: 'error', moment: 'before', error: 'unavailable', message: 'disk' } }]);
  stage.run(5 * minute);
  const kept = exited(stage, 'a');
  t.ok(kept > 3, `${kept} are there`);
  node.setFaults([]);
  stage.run(8 * minute);
  t.ok(exited(stage, 'a') <= 2);
});

scenario('a collection that can not list says so on the node', {}, (stage) => {
  const { t, node } = stage;
  node.put('a.yaml', podOf('a', { uid: 'a', policy: 'Never', containers: { c: 'run=1s' } }));
  stage.run(10 * second);
  node.setFaults([{ operation: 'podLogs.listDirectories', trigger: {}, action: { kind: 'error', moment: 'before', error: 'unavailable', message: 'disk' } }]);
  stage.run(2 * minute);
  t.match(
    node.events().find(({ record }) => record.reason === 'ContainerGCFailed'),
    { record: { type: 'Warning', message: 'disk', involvedObject: { kind: 'Node' } } },
  );
});
