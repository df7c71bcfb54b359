// Terminated work that may not run again doesn't, even if the runtime has lost it; work that must run again does.

import t from 'tap';
import type { Container } from '../../src/ports/model/container.js';
import type { ContainerStatus } from '../../src/ports/model/pod-status.js';
import { scene } from './api-scene.js';
import type { ApiWorld } from './api-world.js';
import { type PodShape, second } from './sim-pods.js';

t.setTimeout(300_000);

const container = (name: string, more: Partial<Container> = {}): Container => ({ name, image: 'busybox', imagePullPolicy: 'IfNotPresent', ...more });
const serve = { serve: 'run=forever' };

/** Pods in which `once` ends while `serve` runs. */
const once: readonly (readonly [what: string, shape: PodShape])[] = [
  ['a container of a pod that runs once', { policy: 'Never', containers: { once: 'run=2s,exit=0', ...serve } }],
  ['one that failed', { policy: 'Never', containers: { once: 'run=2s,exit=3', ...serve } }],
  ['one that succeeded, and would run again had it failed', { policy: 'OnFailure', containers: { once: 'run=2s,exit=0', ...serve } }],
  ['one whose own policy is never', { containers: { once: 'run=2s,exit=3', ...serve }, spec: { containers: [container('once', { restartPolicy: 'Never' }), container('serve')] } }],
  [
    'one whose rules let it run again after another exit code',
    {
      containers: { once: 'run=2s,exit=3', ...serve },
      spec: {
        containers: [container('once', { restartPolicy: 'Never', restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [42] } }] }), container('serve')],
      },
    },
  ],
  ['an init container', { init: { once: 'run=2s,exit=0' }, containers: serve }],
  ['an init container of a pod that runs once', { policy: 'Never', init: { once: 'run=2s,exit=0' }, containers: serve }],
  ['an init container before another that is at work', { init: { once: 'run=2s,exit=0', serve: 'run=forever' }, containers: { c: 'run=forever' } }],
];

function statusOf(world: ApiWorld, name: string): ContainerStatus | undefined {
  const { containerStatuses = [], initContainerStatuses = [], ephemeralContainerStatuses = [] } = world.status('a');
  return [...containerStatuses, ...initContainerStatuses, ...ephemeralContainerStatuses].find((status) => status.name === name);
}

/** The runtime loses what matches: an administrator removed it, or the runtime did. */
function forget(world: ApiWorld, uid: string | undefined, isForgotten: (name: string) => boolean): void {
  for (const { id, config } of world.node.containers(uid)) if (isForgotten(config.metadata.name)) world.node.runtime.forgetContainer(id, world.cluster.now);
  world.cluster.world.refresh(world.node.name);
}

/** Causes of another sync of the pod. */
const causes: readonly (readonly [what: string, before: (world: ApiWorld) => void, after: (world: ApiWorld) => void])[] = [
  ['its label changes', () => {}, (world) => world.patch('a', { metadata: { labels: { touched: 'yes' } } })],
  ['the agent starts again', (world) => world.node.kill(), (world) => world.node.start()],
];

function created(world: ApiWorld, uid: string | undefined, name: string): number {
  return world.node.containers(uid).filter(({ config }) => config.metadata.name === name).length;
}

for (const [what, shape] of once)
  for (const [cause, before, after] of causes)
    scene(`${what} is forgotten by the runtime, and ${cause}: it doesn't run again`, (world, t) => {
      const { uid } = world.create('a', shape).metadata;
      world.until('it has ended, and its neighbour runs', () => statusOf(world, 'once')?.state?.terminated !== undefined && statusOf(world, 'serve')?.state?.running !== undefined);
      const ended = statusOf(world, 'once');
      world.run(5 * second);
      before(world);
      forget(world, uid, (name) => name === 'once');
      world.run(5 * second);
      after(world);
      world.run(60 * second);
      t.equal(created(world, uid, 'once'), 0, 'it was not made again');
      t.strictSame(statusOf(world, 'once'), ended, 'its status is what it was');
      t.equal(statusOf(world, 'serve')?.restartCount, 0, 'its neighbour was left alone');
      t.strictSame(world.cluster.violations, []);
    });

scene('all containers of a pod are forgotten, its sandbox is not: init containers that are done do not run again', (world, t) => {
  const { uid } = world.create('a', { init: { once: 'run=2s,exit=0' }, containers: serve }).metadata;
  world.untilReady('a');
  forget(world, uid, () => true);
  world.until('its regular container runs again', () => statusOf(world, 'serve')?.state?.running !== undefined && created(world, uid, 'serve') === 1);
  t.equal(created(world, uid, 'once'), 0);
  t.equal(world.node.sandboxes(uid).length, 1, 'in the sandbox it had');
});

scene('an ephemeral container that ended is forgotten: it does not run again', (world, t) => {
  const { uid } = world.create('a', { containers: serve }).metadata;
  world.untilReady('a');
  world.patch('a', { spec: { ephemeralContainers: [{ name: 'once', image: 'busybox', targetContainerName: 'serve' }] } }, 'ephemeralcontainers');
  world.until('it runs', () => statusOf(world, 'once')?.state?.running !== undefined);
  const running = world.node.containers(uid).find(({ config }) => config.metadata.name === 'once');
  world.node.runtime.killContainer(running?.id ?? '', world.cluster.now);
  world.cluster.world.refresh(world.node.name);
  world.until('it has ended', () => statusOf(world, 'once')?.state?.terminated !== undefined);
  forget(world, uid, (name) => name === 'once');
  world.patch('a', { metadata: { labels: { touched: 'yes' } } });
  world.run(60 * second);
  t.equal(created(world, uid, 'once'), 0);
});

scene('a host that has lost its runtime: a container that succeeded does not run again, the others do, after the init containers', (world, t) => {
  const { uid } = world.create('a', { policy: 'OnFailure', init: { prepare: 'run=1s,exit=0' }, containers: { once: 'run=2s,exit=0', ...serve } }).metadata;
  world.until('it has ended', () => statusOf(world, 'once')?.state?.terminated !== undefined);
  world.run(5 * second);
  world.node.kill();
  forget(world, uid, () => true);
  for (const { id } of world.node.sandboxes(uid)) world.node.runtime.handle('sandboxes.remove', { sandboxId: id }, world.cluster.now);
  world.run(30 * second);
  world.node.start();
  world.until('its neighbour runs', () => created(world, uid, 'serve') === 1 && statusOf(world, 'serve')?.state?.running !== undefined);
  t.equal(created(world, uid, 'once'), 0);
  t.equal(created(world, uid, 'prepare'), 1);
});

scene('a sandbox is replaced and the init container can not be made at first: it runs again all the same', (world, t) => {
  const { uid } = world.create('a', { init: { prepare: 'run=2s,exit=0' }, containers: serve }).metadata;
  world.untilReady('a');
  world.run(30 * second);
  world.node.setFaults([{ operation: 'containers.create', trigger: { times: 3 }, action: { kind: 'error', moment: 'before', error: 'internal', message: 'no' } }]);
  for (const { id } of world.node.sandboxes(uid)) world.node.runtime.killSandbox(id, world.cluster.now);
  world.cluster.world.refresh(world.node.name);
  world.until('it runs again', () => created(world, uid, 'serve') > 0 && world.running(uid) === 1 && world.node.sandboxes(uid).some(({ state }) => state === 'ready'));
  t.equal(
    world.node
      .containers(uid)
      .filter(({ config, sandboxId }) => config.metadata.name === 'prepare' && world.node.sandboxes(uid).some((sandbox) => sandbox.id === sandboxId && sandbox.state === 'ready'))
      .length,
    1,
  );
});
