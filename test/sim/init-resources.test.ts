// Resources of ended init containers: later containers of their pod use them first, the rest returns to the shared pool, also after a restart of the agent.

import t from 'tap';
import type { Container, ResourceList } from '../../src/ports/model/container.js';
import { bookedBefore } from '../../src/sim/checkers/booked-by-what-may-run.js';
import { SimCluster, type SimClusterOptions } from '../../src/sim/index.js';
import { type Stage, scenario } from './scenario.js';
import { minute, type PodShape, podOf, second } from './sim-pods.js';

t.setTimeout(300_000);

/** Four cores of two threads; CPU 0 is the system's. */
const small: Partial<SimClusterOptions> = { machine: { sockets: 1, cores: 4, threads: 2 }, alignment: { cpuManagerPolicy: 'static', reservation: { cpu: '1' } } };

const give = (cpu: string): ResourceList => ({ cpu, memory: '64Mi' });
const container = (name: string, cpu: string, more: Partial<Container> = {}): Container => ({
  ...{ name, image: 'busybox', resources: { requests: give(cpu), limits: give(cpu) } },
  ...more,
});
const sidecar = (name: string, cpu: string): Container => container(name, cpu, { restartPolicy: 'Always' });

interface Case {
  readonly what: string;
  readonly init: readonly Container[];
  readonly main: string;
  /** What the pod has once it runs. */
  readonly needs: number;
}
const cases: readonly Case[] = [
  { what: 'an init container that needs less', init: [container('i', '1')], main: '2', needs: 2 },
  { what: 'one that needs as much', init: [container('i', '2')], main: '2', needs: 2 },
  { what: 'one that needs more', init: [container('i', '4')], main: '2', needs: 2 },
  { what: 'two of them', init: [container('i', '1'), container('j', '3')], main: '2', needs: 2 },
  { what: 'one before a sidecar', init: [container('i', '2'), sidecar('s', '1')], main: '2', needs: 3 },
  { what: 'one after a sidecar', init: [sidecar('s', '1'), container('i', '3')], main: '2', needs: 3 },
];

const shapeOf = ({ init, main }: Case): PodShape => {
  const ends = Object.fromEntries(init.filter(({ restartPolicy }) => restartPolicy === undefined).map(({ name }) => [name, 'run=5s,exit=0']));
  const stays = Object.fromEntries(init.filter(({ restartPolicy }) => restartPolicy === 'Always').map(({ name }) => [name, 'run=forever']));
  return { uid: 'a', init: ends, sidecars: stays, spec: { initContainers: init, containers: [container('c', main)] } };
};

function booked(stage: Stage): number {
  const { cpu } = stage.node.agent.alignment ?? {};
  return new Set([...(cpu?.assignments.get('a')?.values() ?? [])].flat()).size;
}

function fillsTheRest(stage: Stage, needs: number): void {
  stage.node.put('rest.yaml', podOf('rest', { uid: 'rest', spec: { containers: [container('c', String(7 - needs))] } }));
  stage.untilPhase('rest', 'Running', minute);
}

for (const one of cases) {
  const { what, needs } = one;
  scenario(`${what} leaves what it had: another pod gets all the rest of the node`, small, (stage) => {
    const { t, node } = stage;
    node.put('a.yaml', podOf('a', shapeOf(one)));
    stage.untilPhase('a', 'Running', minute);
    t.equal(booked(stage), needs);
    fillsTheRest(stage, needs);
    node.start();
    stage.run(minute);
    t.strictSame(
      ['a', 'rest'].map((name) => node.status(name)?.phase),
      ['Running', 'Running'],
      'a fresh agent refuses neither',
    );
    t.equal(booked(stage), needs);
  });

  scenario(`${what}: its sandbox dies, and it runs again although another pod has all the rest`, small, (stage) => {
    const { t, node } = stage;
    node.put('a.yaml', podOf('a', shapeOf(one)));
    stage.untilPhase('a', 'Running', minute);
    fillsTheRest(stage, needs);
    for (const { id } of node.sandboxes('a')) node.runtime.killSandbox(id, stage.cluster.now);
    stage.cluster.world.refresh(node.name);
    stage.until('it runs again', () => node.containers('a').some(({ config, state }) => config.metadata.name === 'c' && state === 'running'), 2 * minute);
    t.equal(booked(stage), needs);
    t.equal(node.status('rest')?.phase, 'Running');
  });
}

t.test('an agent that is killed at any moment of a pod’s start keeps nothing booked for init containers that are over', async (t) => {
  for (const [n, one] of cases.entries()) {
    for (let step = 0; step < 12; step++) {
      const cluster = new SimCluster({ seed: 20 + n, ...small, runtimeSendsEvents: step % 2 === 0 });
      const node = cluster.node();
      cluster.run(second);
      node.put('a.yaml', podOf('a', shapeOf(one)));
      cluster.run(4 * second + step * 300_000);
      node.start();
      t.ok(
        cluster.runUntil(() => node.status('a')?.phase === 'Running', 2 * minute),
        `${one.what} runs`,
      );
      cluster.run(30 * second);
      t.strictSame(bookedBefore(node, 'a', 'c'), [], `${one.what}, killed at step ${step}`);
      t.equal(new Set([...(node.agent.alignment?.cpu.assignments.get('a')?.values() ?? [])].flat()).size, one.needs);
      t.strictSame(cluster.violations, []);
    }
  }
});

for (const topologyManagerScope of ['container', 'pod']) {
  const strict: Partial<SimClusterOptions> = {
    machine: { sockets: 2, cores: 4 },
    alignment: { cpuManagerPolicy: 'static', reservation: { cpu: '1' }, topologyManagerPolicy: 'single-numa-node', topologyManagerScope },
  };
  scenario(`on one NUMA node, scope ${topologyManagerScope}: a fresh agent takes a pod over whose init container gave back what others have by now`, strict, (stage) => {
    const { t, node } = stage;
    node.put('a.yaml', podOf('a', { uid: 'a', init: { i: 'run=2s,exit=0' }, spec: { initContainers: [container('i', '3')], containers: [container('c', '1')] } }));
    stage.untilPhase('a', 'Running', minute);
    t.equal(booked(stage), 1);
    for (const [uid, cpu] of [
      ['b', '4'],
      ['d', '2'],
    ] as const) {
      node.put(`${uid}.yaml`, podOf(uid, { uid, spec: { containers: [container('c', cpu)] } }));
      stage.run(20 * second);
    }
    t.equal([...(node.agent.alignment?.cpu.assignments.values() ?? [])].flatMap((ofPod) => [...ofPod.values()].flat()).length, 7, 'all CPUs are given');
    node.start();
    stage.run(minute);
    t.strictSame(
      ['a', 'b', 'd'].map((name) => node.status(name)?.phase),
      ['Running', 'Running', 'Running'],
    );
  });
}
