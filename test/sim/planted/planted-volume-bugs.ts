// Bugs of volumes, one for each checker of theirs.
import type { KubeletMachine, KubeletState, SimCluster } from '../../../src/sim/index.js';
import { minute, podOf, second } from '../sim-pods.js';
import type { PlantedBug } from './planted-bugs.js';
import { isReplyTo, plantAddress, planted } from './planted-machine.js';

const volume = { uid: 'a', plugin: 'kubernetes.io~empty-dir', volume: 'work', marker: 'work' };

function runAndRemove(cluster: SimCluster): void {
  const pod = podOf('a', { uid: 'a' });
  const volumeMounts = [{ name: 'work', mountPath: '/work' }];
  const containers = pod.spec.containers.map((container) => ({ ...container, volumeMounts }));
  cluster.node().put('a.yaml', { ...pod, spec: { ...pod.spec, containers, volumes: [{ name: 'work', emptyDir: { medium: 'Memory' } }] } });
  cluster.run(20 * second);
  cluster.node().remove('a.yaml');
  cluster.run(minute);
}

/** Takes the start of a pod for its end. */
function takesDownAtTheStart(): (state: KubeletState) => KubeletMachine {
  return planted({
    after(_state, turn, input) {
      if (isReplyTo(input, 'containers.start')) turn.ask('podVolumes.tearDown', plantAddress, 'volume', volume);
    },
  });
}

/** Doesn't look whether anything is mounted. */
function removesAtTheStart(): (state: KubeletState) => KubeletMachine {
  return planted({
    after(_state, turn, input) {
      if (isReplyTo(input, 'containers.start')) turn.ask('podDirectories.remove', plantAddress, 'directory', { uid: 'a' });
    },
  });
}

export const plantedVolumeBugs: readonly PlantedBug[] = [
  { name: 'takes volumes down under a container', checker: 'volumes-outlive-containers', agent: takesDownAtTheStart, play: runAndRemove },
  { name: 'removes a directory with mounts in it', checker: 'directories-outlive-mounts', agent: removesAtTheStart, play: runAndRemove },
];
