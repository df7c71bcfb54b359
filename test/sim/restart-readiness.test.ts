// `started` and `ready` over a restart of the agent: they keep the values reported of that container until a probe of the new agent has another
// result. Watchers see no change of pods without events meanwhile.
import type { Container, Probe } from '../../src/ports/model/container.js';
import type { Pod } from '../../src/ports/model/pod.js';
import type { ContainerStatus } from '../../src/ports/model/pod-status.js';
import { scene } from './api-scene.js';
import type { ApiWorld } from './api-world.js';
import { minute, type PodShape, podOf, second } from './sim-pods.js';

const slow: Probe = { exec: { command: ['check'] }, periodSeconds: 30 };
const readiness = { readinessProbe: slow };
const startup = { startupProbe: { ...slow, periodSeconds: 5, failureThreshold: 100 } };
const hour = 60 * minute;
const never = 'healthy=9h';

function probed(name: string, shape: PodShape, fields: Readonly<Record<string, Partial<Container>>>): Pod {
  const pod = podOf(name, shape);
  const fill = (container: Container): Container => ({ ...container, ...fields[container.name] });
  const { containers, initContainers } = pod.spec;
  return { ...pod, spec: { ...pod.spec, containers: containers.map(fill), ...(initContainers === undefined ? {} : { initContainers: initContainers.map(fill) }) } };
}

interface Case {
  readonly name: string;
  readonly pod: Pod;
  readonly isStatic?: boolean;
  /** It is being deleted when the agent ends. */
  readonly isDeleted?: boolean;
  /** Of its containers when the agent ends, by name. */
  readonly reported: Readonly<Record<string, readonly [started: boolean, ready: boolean]>>;
}

const two = { containers: { c: 'run=forever', d: never } };
const cases: readonly Case[] = [
  { name: 'ready', pod: probed('ready', {}, { c: readiness }), reported: { c: [true, true] } },
  { name: 'unready', pod: probed('unready', { containers: { c: never } }, { c: readiness }), reported: { c: [true, false] } },
  { name: 'half', pod: probed('half', two, { c: readiness, d: readiness }), reported: { c: [true, true], d: [true, false] } },
  { name: 'gated', pod: probed('gated', { spec: { readinessGates: [{ conditionType: 'example.com/gate' }] } }, { c: readiness }), reported: { c: [true, true] } },
  { name: 'started', pod: probed('started', {}, { c: { ...startup, ...readiness } }), reported: { c: [true, true] } },
  { name: 'starting', pod: probed('starting', { containers: { c: never } }, { c: { ...startup, ...readiness } }), reported: { c: [false, false] } },
  { name: 'plain', pod: probed('plain', two, { d: startup }), reported: { c: [true, true], d: [false, false] } },
  {
    name: 'beside',
    pod: probed('beside', { sidecars: { s: 'run=forever', u: never } }, { s: { ...startup, ...readiness }, u: readiness }),
    reported: { s: [true, true], u: [true, false], c: [true, true] },
  },
  { name: 'static-ready', isStatic: true, pod: probed('static-ready', {}, { c: readiness }), reported: { c: [true, true] } },
  { name: 'static-half', isStatic: true, pod: probed('static-half', two, { c: { ...startup, ...readiness }, d: readiness }), reported: { c: [true, true], d: [true, false] } },
  { name: 'static-starting', isStatic: true, pod: probed('static-starting', { containers: { c: never } }, { c: startup }), reported: { c: [false, false] } },
  {
    name: 'ends',
    isDeleted: true,
    pod: probed('ends', { grace: 3600, containers: { c: 'ignore-term', d: `ignore-term,${never}`, e: `ignore-term,${never}` } }, { c: readiness, d: readiness, e: startup }),
    reported: { c: [true, true], d: [true, false], e: [false, false] },
  },
];

const inApi = ({ name, isStatic }: Case): string => (isStatic === true ? `${name}-node` : name);

function containersOf(world: ApiWorld, each: Case): readonly ContainerStatus[] {
  const { initContainerStatuses = [], containerStatuses = [] } = world.status(inApi(each));
  return [...initContainerStatuses, ...containerStatuses];
}

function shown(world: ApiWorld, each: Case): Case['reported'] {
  return Object.fromEntries(containersOf(world, each).map(({ name, started, ready }) => [name, [started === true, ready]]));
}

function isAsReported(world: ApiWorld, each: Case): boolean {
  return Object.entries(each.reported).every(([name, [started, ready]]) => {
    const found = shown(world, each)[name];
    return found?.[0] === started && found[1] === ready;
  });
}

/** Their containers' timestamps are then after the start of the agent, or long before it. */
const wallSteps = [0, -2 * hour, 2 * hour];

for (const [age, downFor, wallStep] of [2 * second, 5 * minute].flatMap((age) =>
  [second, 6 * minute].flatMap((downFor) => wallSteps.map((step) => [age, downFor, step] as const)),
)) {
  scene(`nothing flips: pods ${age / second} s old, an agent that is away for ${downFor / second} s, a wall clock that is set by ${wallStep / hour} h`, (world, t) => {
    for (const each of cases) {
      if (each.isStatic === true) world.node.put(`${each.name}.yaml`, each.pod);
      else world.createPod(each.pod, 'node');
    }
    world.until('all are as they are to be', () => cases.every((each) => isAsReported(world, each)));
    for (const each of cases) if (each.isDeleted === true) world.remove(each.name);
    world.run(age);
    for (const each of cases) t.ok(isAsReported(world, each), `${each.name} before the restart`);
    const before = new Map(cases.map((each) => [each, world.status(inApi(each))]));
    const seen = world.seen.length;
    world.node.kill();
    world.run(downFor);
    world.node.stepWall(wallStep);
    world.node.start();
    world.run(2 * minute);
    for (const each of cases) {
      const changes = world.seen.slice(seen).filter(({ pod }) => pod.metadata.name === inApi(each));
      const flips = changes.filter(({ pod }) => JSON.stringify(pod.status) !== JSON.stringify(before.get(each)));
      t.strictSame(
        flips.map(({ pod }) => pod.status),
        [],
        `${each.name} is as it was`,
      );
      t.strictSame(shown(world, each), each.reported, each.name);
    }
  });
}

scene('a container that took the place of the reported one while nobody could be told is not ready until it was probed', (world, t) => {
  const pods = [
    { name: 'replaced', pod: probed('replaced', { containers: { c: 'run=1m; healthy=9h' } }, { c: readiness }), isStatic: false },
    { name: 'replaced-static-node', pod: probed('replaced-static', { containers: { c: 'run=1m; healthy=9h' } }, { c: readiness }), isStatic: true },
  ];
  for (const { pod, isStatic } of pods) {
    if (isStatic) world.node.put('static.yaml', pod);
    else world.createPod(pod, 'node');
  }
  world.untilReady(...pods.map(({ name }) => name));
  const ids = pods.map(({ name }) => world.status(name).containerStatuses?.[0]?.containerID);
  world.away();
  world.until('both were started again', () => world.node.containers().filter(({ id, state }) => state === 'running' && !ids.some((old) => old?.endsWith(id))).length === 2);
  world.node.kill();
  world.run(20 * second);
  world.back();
  const seen = world.seen.length;
  world.node.start();
  world.run(2 * minute);
  for (const [i, { name }] of pods.entries()) {
    const after = world.seen.slice(seen).flatMap(({ pod }) => (pod.metadata.name === name ? (pod.status?.containerStatuses ?? []) : []));
    t.strictSame(
      after.filter(({ containerID, ready }) => containerID !== ids[i] && ready),
      [],
      name,
    );
    t.match(world.status(name).containerStatuses, [{ restartCount: 1, started: true, ready: false }]);
  }
});

scene(
  'the gate ChangeContainerStatusOnKubeletRestart: what is probed is ready once it was probed, all else stays',
  (world, t) => {
    const names = ['ready', 'started', 'plain'];
    for (const each of cases) if (names.includes(each.name)) world.createPod(each.pod, 'node');
    world.until('all are as they are to be', () => cases.every((each) => !names.includes(each.name) || isAsReported(world, each)));
    world.run(minute);
    const seen = world.seen.length;
    world.node.kill();
    world.run(20 * second);
    world.node.start();
    world.run(2 * minute);
    const after = (name: string): unknown[] => {
      const statuses = world.seen.slice(seen).flatMap(({ pod }) => (pod.metadata.name === name ? (pod.status?.containerStatuses ?? []) : []));
      return statuses.filter((status) => status.name === 'c').map(({ started, ready }) => [started, ready]);
    };
    t.strictSame(after('ready'), [
      [true, false],
      [true, true],
    ]);
    t.strictSame(
      [after('started')[0], after('started').at(-1)],
      [
        [false, false],
        [true, true],
      ],
    );
    t.strictSame(after('plain'), []);
  },
  { facts: { changesStatusOnRestart: true } },
);
