// Each step of a pod's life fails once: the Go kubelet's events, word for word, and the success of the next try.
import { scenario } from './scenario.js';
import { minute, podOf, second } from './sim-pods.js';

type When = 'starting' | 'ending';
/** The cgroup of all pods and those of the classes come before a pod's. */
const cgroupsAbove = 3;
/** The words are those of the failed call; a container's are its own, a pod's the pod's. */
const rows: readonly (readonly [sentence: string, operation: string, when: When, told: string])[] = [
  ['directories of the pod', 'podDirectories.prepare', 'starting', 'Warning Failed error making pod data directories: disk on fire'],
  ['the pod’s cgroup', 'podCgroups.ensure', 'starting', 'Warning FailedCreatePodContainer unable to ensure pod container exists: disk on fire'],
  ['the sandbox', 'sandboxes.run', 'starting', 'Warning FailedCreatePodSandBox Failed to create pod sandbox: disk on fire'],
  ['creating the container', 'containers.create', 'starting', 'Warning Failed Error: disk on fire'],
  ['starting the container', 'containers.start', 'starting', 'Warning Failed Error: disk on fire'],
  ['stopping the container', 'containers.stop', 'ending', 'Warning FailedKillPod error killing pod: failed to "KillContainer" for "c" with KillContainerError: "disk on fire"'],
  ['stopping the sandbox', 'sandboxes.stop', 'ending', 'Warning FailedKillPod error killing pod: failed to "KillPodSandbox" for "p" with KillPodSandboxError: "disk on fire"'],
];
const onFire = { kind: 'error', moment: 'before', error: 'unknown', message: 'disk on fire' } as const;
for (const [sentence, operation, when, told] of rows) {
  const fault = { operation, trigger: { nth: operation === 'podCgroups.ensure' ? cgroupsAbove + 1 : 1, times: 1 }, action: onFire } as const;
  scenario(`${sentence}: a failure is told, and made up for`, { faults: [fault] }, (stage) => {
    const { t, node } = stage;
    node.put('p.yaml', podOf('p', { uid: 'p', grace: 1 }));
    stage.untilPhase('p', 'Running', 2 * minute);
    if (when === 'ending') {
      node.remove('p.yaml');
      stage.untilGone('p', 2 * minute);
    }
    const said = node.events('p').map(({ record: { type, reason, message } }) => `${type} ${reason} ${message}`);
    t.equal(said.filter((text) => text === told).length, 1, said.join(' | '));
  });
}

scenario('a sandbox that can’t be looked at once it is there', {}, (stage) => {
  const { t, node } = stage;
  node.put('p.yaml', podOf('p', { uid: 'p' }));
  stage.until('it is made', () => node.model.performed.get('sandboxes.run') === 1, 10 * second);
  node.setFaults([{ operation: 'runtime.inspectPod', trigger: { nth: 1, times: 1 }, action: { kind: 'error', moment: 'before', error: 'unknown', message: 'disk on fire' } }]);
  stage.untilPhase('p', 'Running', 2 * minute);
  const said = node.events('p').map(({ record: { type, reason, message } }) => `${type} ${reason} ${message}`);
  t.ok(said.includes('Warning FailedPodSandBoxStatus Unable to get pod sandbox status: disk on fire'), said.join(' | '));
  t.equal(node.sandboxes('p').length, 1, 'the sandbox is the same');
});

const search = (count: number) => `nameserver 10.0.0.1\nsearch ${Array.from({ length: count }, (_, i) => `d${i}.test`).join(' ')}\n`;
scenario('a resolver file beyond the limits is told of at the start, and when it has changed', { facts: { resolvConf: search(33), clusterDomain: '' } }, (stage) => {
  const { t, node } = stage;
  const told = () =>
    node
      .events()
      .filter(({ record }) => record.reason === 'CheckLimitsForResolvConf')
      .map(({ record: { type, message, involvedObject } }) => `${type} ${involvedObject.kind} ${message}`);
  stage.run(minute);
  const text = "Warning Node Resolv.conf file '/etc/resolv.conf' contains search line consisting of more than 32 domains!";
  t.strictSame(told(), [text], 'once, without any pod');
});

for (const memoryVolumesMaySwap of [true, false]) {
  scenario(`a node whose memory volumes ${memoryVolumesMaySwap ? 'may' : "can't"} be swapped`, { facts: { memoryVolumesMaySwap } }, (stage) => {
    stage.run(minute);
    const told = stage.node.events().flatMap(({ record }) => (record.reason === 'PossibleMemoryBackedVolumesOnDisk' ? [`${record.type} ${record.message}`] : []));
    stage.t.strictSame(
      told.map((text) => text.split('.')[0]),
      memoryVolumesMaySwap ? ['Warning The tmpfs noswap option is not supported'] : [],
    );
  });
}

for (const cgroupVersion of [1, 2] as const) {
  scenario(`a node with cgroup v${cgroupVersion}`, { facts: { cgroupVersion } }, (stage) => {
    stage.run(minute);
    const told = stage.node.events().filter(({ record }) => record.reason === 'CgroupV1');
    stage.t.equal(told.length, cgroupVersion === 1 ? 1 : 0);
    if (cgroupVersion === 1) stage.t.match(told[0]?.record, { type: 'Warning', involvedObject: { kind: 'Node' }, message: /^cgroup v1 detected\. / });
  });
}
