// Bugs of CSI volumes: a driver is asked to unpublish a volume too early, or a directory with its mount is removed.
import { csiDeviceMountPath, csiTargetPath } from '../../../src/domain/volumes/csi-volume.js';
import type { VolumeSpec } from '../../../src/domain/volumes/volume-spec.js';
import type { KubeletMachine, KubeletState, SimCluster } from '../../../src/sim/index.js';
import { ApiWorld } from '../api-world.js';
import { minute, podOf, second } from '../sim-pods.js';
import { SwarmStorage } from '../swarm-storage.js';
import type { PlantedBug } from './planted-bugs.js';
import { isReplyTo, plantAddress, planted } from './planted-machine.js';

interface Found {
  readonly uid: string;
  readonly spec: VolumeSpec;
  readonly endpoint: string;
  readonly root: string;
}

function runAndRemove(cluster: SimCluster): void {
  const storage = new SwarmStorage(cluster);
  const world = new ApiWorld(cluster, { ok: () => true });
  const name = cluster.node().name;
  const volumes = [{ name: 'plain', persistentVolumeClaim: { claimName: `plain-${name}` } }];
  const pod = podOf('a');
  const containers = pod.spec.containers.map((container) => ({ ...container, volumeMounts: [{ name: 'plain', mountPath: '/plain' }] }));
  cluster.run(10 * second);
  storage.attach();
  world.createPod({ ...pod, spec: { ...pod.spec, volumes, containers } }, name);
  cluster.run(minute);
  world.remove('a');
  cluster.run(minute);
}

/** Does something about the volume as soon as a container runs that has it. */
function whenItRuns(act: (found: Found, turn: Parameters<KubeletMachine['step']>[2]) => void): () => (state: KubeletState) => KubeletMachine {
  return () =>
    planted({
      after({ agent }, turn, input) {
        if (!isReplyTo(input, 'containers.start')) return;
        const [driver] = agent.plugins.drivers.values();
        for (const { pods } of agent.volumes.actual.values())
          for (const { uid, spec } of pods.values()) if (driver !== undefined) act({ uid, spec, endpoint: driver.endpoint, root: agent.nodeFacts.rootDirectory }, turn);
      },
    });
}

export const plantedCsiBugs: readonly PlantedBug[] = [
  {
    name: 'has a volume unpublished under a container',
    checker: 'volumes-outlive-containers',
    agent: whenItRuns(({ uid, spec, endpoint, root }, turn) =>
      turn.ask('csiNode.unpublish', plantAddress, 'volume', { endpoint, volumeId: '', targetPath: csiTargetPath(root, uid, spec) }),
    ),
    play: runAndRemove,
  },
  {
    name: 'has a volume unstaged that a pod has',
    checker: 'devices-outlive-mounts',
    agent: whenItRuns(({ spec, endpoint, root }, turn) => {
      const path = csiDeviceMountPath(root, spec);
      turn.ask('csiNode.unstage', plantAddress, 'volume', { endpoint, volumeId: '', stagingTargetPath: path.ok ? path.value : '' });
    }),
    play: runAndRemove,
  },
  {
    name: 'removes a directory with a volume of a driver in it',
    checker: 'directories-outlive-mounts',
    agent: whenItRuns(({ uid }, turn) => turn.ask('podDirectories.remove', plantAddress, 'directory', { uid })),
    play: runAndRemove,
  },
];
