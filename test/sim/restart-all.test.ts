// One container ends with a code that has the whole pod start again in place: what a Node declares as RestartAllContainersOnContainerExits.
import t from 'tap';
import { scene } from './api-scene.js';
import { minute, podOf } from './sim-pods.js';

t.setTimeout(120_000);

scene('all containers start again by the rule of one, in the same pod', (world, t) => {
  const pod = podOf('a', { containers: { c: 'run=20s,exit=42; run=forever', d: 'run=forever', e: 'run=forever' } });
  const restartPolicyRules = [{ action: 'RestartAllContainers' as const, exitCodes: { operator: 'In' as const, values: [42] } }];
  const containers = pod.spec.containers.map((container) => (container.name === 'c' ? { ...container, restartPolicy: 'Never' as const, restartPolicyRules } : container));
  world.createPod({ ...pod, spec: { ...pod.spec, containers } }, world.node.name);
  world.untilReady('a');
  const uid = world.get('a')?.metadata.uid ?? '';
  const before = world.status('a').containerStatuses?.map(({ containerID }) => containerID) ?? [];
  world.until(
    'all of them are others',
    () => {
      const after = world.status('a').containerStatuses ?? [];
      return world.isReady('a') && after.every(({ containerID, state }) => state?.running !== undefined && !before.includes(containerID));
    },
    3 * minute,
  );
  t.equal(world.get('a')?.metadata.uid, uid);
  t.equal(world.running(uid), 3);
  t.ok(world.conditions(uid, 'AllContainersRestarting').includes('True'), 'it was told meanwhile');
  t.not(world.conditions(uid, 'AllContainersRestarting').at(-1), 'True', 'and that it is over');
  t.notOk(world.phases(uid).some((phase) => phase === 'Failed' || phase === 'Succeeded'));
});
