// Volumes that the file system counts: who gets a project, when it goes, and that nothing of it keeps a pod from running or ending.

import { measuredVolumes } from '../../src/domain/volume-manager/measured-volumes.js';
import type { Pod } from '../../src/ports/model/pod.js';
import type { Volume } from '../../src/ports/model/volume.js';
import { firstProjectId } from '../../src/ports/outbound/project-quotas.js';
import { type Stage, scenario } from './scenario.js';
import { minute, podOf, second } from './sim-pods.js';

const volumes: readonly Volume[] = [
  { name: 'disk', emptyDir: {} },
  { name: 'limited', emptyDir: { sizeLimit: '1Gi' } },
  { name: 'memory', emptyDir: { medium: 'Memory' } },
];
const gate = { facts: { projectQuotas: true } };

function podWith(name: string, spec: Partial<Pod['spec']>): Pod {
  const pod = podOf(name, { uid: name, containers: { c: 'run=forever' } });
  const volumeMounts = volumes.map((volume) => ({ name: volume.name, mountPath: `/${volume.name}` }));
  return { ...pod, spec: { ...pod.spec, ...spec, volumes, containers: pod.spec.containers.map((container) => ({ ...container, volumeMounts })) } };
}

const projectsOf = ({ node }: Stage) =>
  Object.fromEntries([...node.host.state.projectQuotas.projects].map(([place, project]) => [place.replace('/kubernetes.io~empty-dir', ''), project]));
const asked = ({ node }: Stage, op: string) => node.model.performed.get(op) ?? 0;

scenario('the volumes on disk of a pod in a user namespace have a project each, until they are gone', gate, (stage) => {
  const { t, node } = stage;
  node.put('a.yaml', podWith('a', { hostUsers: false }));
  stage.untilPhase('a', 'Running', minute);
  t.strictSame(Object.keys(projectsOf(stage)).sort(), ['a/disk', 'a/limited']);
  t.strictSame(Object.values(projectsOf(stage)).sort(), [firstProjectId, firstProjectId + 1]);
  t.strictSame(
    measuredVolumes(node.agent.volumes, 'a', node.agent.nodeFacts).map(({ name, quota }) => [name, quota?.volume ?? null]),
    [
      ['disk', 'disk'],
      ['limited', 'limited'],
      ['memory', null],
    ],
  );
  node.remove('a.yaml');
  stage.until('the volumes are gone', () => !node.host.state.podDirectories.has('a'), 3 * minute);
  t.strictSame(projectsOf(stage), {});
});

for (const [sentence, spec, options] of [
  ['pods in the host’s user namespace', {}, gate],
  ['nobody’s without the gate', { hostUsers: false }, {}],
] as const) {
  scenario(`no project: ${sentence}`, options, (stage) => {
    const { t, node } = stage;
    node.put('a.yaml', podWith('a', spec));
    stage.untilPhase('a', 'Running', minute);
    t.strictSame(projectsOf(stage), {});
    t.equal(asked(stage, 'projectQuotas.assign'), 0);
    t.ok(measuredVolumes(node.agent.volumes, 'a', node.agent.nodeFacts).every(({ quota }) => quota === null));
    node.remove('a.yaml');
    stage.until('the volumes are gone', () => !node.host.state.podDirectories.has('a'), 3 * minute);
  });
}

scenario('a file system without quotas: the pod runs, and nobody asks again', gate, (stage) => {
  const { t, node } = stage;
  node.host.state.projectQuotas.isSupported = false;
  node.put('a.yaml', podWith('a', { hostUsers: false }));
  stage.untilPhase('a', 'Running', minute);
  stage.run(10 * minute);
  t.equal(asked(stage, 'projectQuotas.assign'), 2);
  t.strictSame(
    node.events('a').filter(({ record }) => record.reason.startsWith('Failed')),
    [],
  );
});

for (const moment of ['before', 'after'] as const) {
  const failing = (operation: string) => ({ operation, trigger: { times: 100 }, action: { kind: 'error', moment, error: 'permission-denied', message: 'no' } }) as const;
  scenario(`an assignment that fails ${moment} it is made: a line of the log, and the pod runs`, { ...gate, faults: [failing('projectQuotas.assign')] }, (stage) => {
    const { t, node } = stage;
    node.put('a.yaml', podWith('a', { hostUsers: false }));
    stage.untilPhase('a', 'Running', minute);
    t.strictSame(
      node.events('a').filter(({ record }) => record.reason.startsWith('Failed')),
      [],
    );
    node.remove('a.yaml');
    stage.until('the volumes are gone', () => !node.host.state.podDirectories.has('a'), 3 * minute);
    t.strictSame(projectsOf(stage), {}, 'also what was made and not told of');
  });

  scenario(`a project that can’t be freed, told ${moment} it is: the volume goes all the same`, { ...gate, faults: [failing('projectQuotas.clear')] }, (stage) => {
    const { t, node } = stage;
    node.put('a.yaml', podWith('a', { hostUsers: false }));
    stage.untilPhase('a', 'Running', minute);
    node.remove('a.yaml');
    stage.until('the volumes are gone', () => !node.host.state.podDirectories.has('a'), 3 * minute);
    t.equal(Object.keys(projectsOf(stage)).length, moment === 'before' ? 2 : 0);
    node.put('b.yaml', podWith('b', { hostUsers: false }));
    stage.untilPhase('b', 'Running', minute);
    t.strictSame(Object.keys(projectsOf(stage)).sort(), ['b/disk', 'b/limited'], 'the next one finds what was left');
  });
}

scenario('an agent that is killed: the next one keeps the projects of pods that run, and frees those of pods that have gone', gate, (stage) => {
  const { t, node } = stage;
  for (const name of ['a', 'b']) node.put(`${name}.yaml`, podWith(name, { hostUsers: false }));
  for (const name of ['a', 'b']) stage.untilPhase(name, 'Running', minute);
  const before = projectsOf(stage);
  t.equal(Object.keys(before).length, 4);
  node.kill();
  node.remove('b.yaml');
  stage.run(10 * second);
  node.start();
  stage.until('b is gone', () => !node.host.state.podDirectories.has('b'), 5 * minute);
  stage.untilPhase('a', 'Running', minute);
  t.strictSame(projectsOf(stage), { 'a/disk': before['a/disk'], 'a/limited': before['a/limited'] });
});
