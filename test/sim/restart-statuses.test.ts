// A watcher's events of unchanged pods while the agent is killed and restarts: none.
import { scene } from './api-scene.js';
import type { ApiWorld } from './api-world.js';
import { minute, second } from './sim-pods.js';

const shapes: readonly (readonly [name: string, annotation: string, spec: object])[] = [
  ['runs', 'run=forever', {}],
  ['on-host', 'run=forever', { hostNetwork: true }],
  ['succeeded', 'run=5s', { restartPolicy: 'Never' }],
  ['failed', 'run=5s,exit=3', { restartPolicy: 'Never' }],
  ['limited', 'run=1s', { restartPolicy: 'Never', containers: [{ name: 'c', image: 'busybox', resources: { limits: { cpu: '100m', memory: '20Mi' } } }] }],
  ['half-limited', 'run=1s', { restartPolicy: 'Never', containers: [{ name: 'c', image: 'busybox', resources: { limits: { memory: '20Mi' } } }] }],
  ['late', 'run=forever', { activeDeadlineSeconds: 5 }],
  ['no-image', 'run=forever', {}],
  ['refused', 'run=forever', { nodeSelector: { a: 'b' } }],
  ['too-big', 'run=forever', { containers: [{ name: 'c', image: 'busybox', resources: { requests: { cpu: '100' } } }] }],
];

function statuses(world: ApiWorld): Record<string, unknown> {
  return Object.fromEntries(shapes.map(([name]) => [name, world.status(name)]));
}

/** Of the pods whose images aren't to be had the statuses go back and forth. */
function writes(world: ApiWorld): string[] {
  const entries = world.cluster.apiserver.audit.entries.filter(({ verb, resource, user }) => user.startsWith('system:node:') && resource === 'pods/status' && verb !== 'get');
  return entries.map(({ name }) => name ?? '').filter((name) => name !== 'no-image');
}

// The host has addresses of both families, of which its Node reports one.
const facts = { nodeAddresses: ['10.1.0.10', 'fd00::10'].map((address) => ({ type: 'InternalIP', address })) };
scene(
  'a restart of the agent writes no status of pods that nothing happens to',
  (world, t) => {
    for (const [name, behaviour, spec] of shapes) {
      const image = name === 'no-image' ? 'none' : 'busybox';
      world.create(name, { grace: 1, containers: { c: behaviour }, image, spec });
    }
    world.run(2 * minute);
    const ends = shapes.map(([name]) => `${name} ${String(world.status(name).phase)}`);
    t.strictSame(ends, [
      'runs Running',
      'on-host Running',
      'succeeded Succeeded',
      'failed Failed',
      'limited Succeeded',
      'half-limited Succeeded',
      'late Failed',
      'no-image Pending',
      'refused Failed',
      'too-big Failed',
    ]);
    for (const downFor of [second, 6 * minute]) {
      const before = statuses(world);
      const written = writes(world).length;
      world.node.kill();
      world.run(downFor);
      world.node.start();
      world.run(2 * minute);
      for (const [name] of shapes) if (name !== 'no-image') t.strictSame(world.status(name), before[name], `${name}, after ${downFor / second} s`);
      t.strictSame(writes(world).slice(written), [], 'nothing was written at all');
    }
  },
  { facts, apiserver: { auditLimit: 100_000 }, runtime: { registry: 'listed', images: [{ reference: 'busybox', sizeBytes: 1000 }] } },
);
