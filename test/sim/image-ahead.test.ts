// The image of a pod's first container is requested while its new sandbox is inspected: neither waits for the other, and an unneeded request is cancelled.
import type { SimClusterOptions } from '../../src/sim/index.js';
import { type Stage, scenario } from './scenario.js';
import { minute, podOf, second } from './sim-pods.js';

type Rule = NonNullable<SimClusterOptions['faults']>[number];
const slow = (operation: string, micros: number): Rule => ({ operation, trigger: {}, action: { kind: 'delay', moment: 'before', micros } });
const noInspection: Rule = { operation: 'runtime.inspectPod', trigger: {}, action: { kind: 'error', moment: 'before', error: 'unknown', message: 'no look' } };
const image = { reference: 'r.io/a:1', sizeBytes: 1_000_000, present: true };
const options = (...faults: readonly Rule[]): Partial<SimClusterOptions> => ({ runtime: { images: [image] }, faults });

function put({ node }: Stage): void {
  node.put('p.yaml', podOf('p', { uid: 'p', image: image.reference }));
}

const imageRuns = ({ node }: Stage): number => node.agent.images.runs.size;

scenario('a start takes as long as the slower of the two', options(slow('runtime.inspectPod', 4 * second), slow('images.status', 4 * second)), (stage) => {
  put(stage);
  stage.until('there is a sandbox', () => stage.node.sandboxes('p').length === 1, minute);
  const took = stage.until('its container runs', () => stage.running('p').length === 1, minute);
  stage.t.ok(took >= 4 * second && took < 7 * second, `${took / second} s after the sandbox`);
  stage.untilPhase('p', 'Running', minute);
  stage.t.equal(imageRuns(stage), 0);
});

scenario('a sandbox that can not be looked at: the image is left, and asked for anew', options(noInspection, slow('images.status', 3 * second)), (stage) => {
  const { t, node } = stage;
  put(stage);
  stage.until('the look has failed', () => stage.reasons('p').includes('FailedPodSandBoxStatus'), minute);
  t.equal(imageRuns(stage), 1, 'what is under way goes on to its end');
  stage.run(4 * second);
  t.equal(imageRuns(stage), 0, 'and nobody takes it');
  t.strictSame(stage.running('p'), []);
  node.setFaults([]);
  stage.untilPhase('p', 'Running', 2 * minute);
  t.equal(stage.reasons('p').filter((reason) => reason === 'Started').length, 1);
});

scenario('a pod that is removed meanwhile', options(slow('runtime.inspectPod', 3 * second), slow('images.status', 9 * second)), (stage) => {
  put(stage);
  stage.until('there is a sandbox', () => stage.node.sandboxes('p').length === 1, minute);
  stage.run(second);
  stage.t.equal(imageRuns(stage), 1, 'its image is looked for already');
  stage.node.remove('p.yaml');
  stage.untilGone('p', 2 * minute);
  stage.run(10 * second);
  stage.t.equal(imageRuns(stage), 0);
  stage.t.notOk(stage.reasons('p').includes('Created'), 'nothing started');
});
