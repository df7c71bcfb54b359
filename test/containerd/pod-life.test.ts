// Static pods from the manifest to the end on a real containerd: they are added, changed, replaced and removed, in the Go kubelet's order and with
// its statuses. Pods that need time wait concurrently, so the file takes little longer than its slowest pod.
import t, { type Test } from 'tap';
import type { Pod } from '../../src/ports/model/pod.js';
import { idOf, isRunning, manifest, nodeName, pausing, scripted, statusOf } from './kubelet-process.js';
import { skipWithoutContainerd } from './private-containerd.js';
import { type TestNode, testNode } from './test-node.js';

// For the whole file; a machine that does other things needs several times what it takes.
t.setTimeout(240_000);
const skip = skipWithoutContainerd();

const otherImage = 'docker.io/library/busybox:other';

type Times = { readonly startedAt: number; readonly finishedAt: number; readonly exitCode: number };

const uidOf = (pod: Pod): string => pod.metadata.uid ?? '';
const seconds = (time: string | null | undefined): number => Date.parse(time ?? '') / 1000;
const terminated = (pod: Pod, name: string) => statusOf(pod, name).state?.terminated;

/** Starts and ends (seconds) of a container's instances by attempt, from the runtime while it has them. */
async function observeAttempts({ kubelet, runtime }: TestNode, name: string, until: number): Promise<ReadonlyMap<number, Times>> {
  const seen = new Map<number, Times>();
  await kubelet.until(`attempt ${until} of the container has ended`, async () => {
    for (const { id, labels, metadata } of await runtime.containers()) {
      if (labels['io.kubernetes.pod.name'] !== `${name}-${nodeName}`) continue;
      const status = await runtime.status(id);
      if (status !== null) seen.set(metadata?.attempt ?? 0, { startedAt: Number(status.startedAt) / 1e9, finishedAt: Number(status.finishedAt) / 1e9, exitCode: status.exitCode });
    }
    return (seen.get(until)?.finishedAt ?? 0) > 0;
  });
  return seen;
}

async function addedAndRemoved(t: Test, { apply, containerd, kubelet, runtime }: TestNode): Promise<void> {
  apply('simple', { containers: [pausing(containerd)] });
  const pod = await kubelet.untilRunning('simple');
  const { status } = pod;
  const conditions = Object.fromEntries((status?.conditions ?? []).map((condition) => [condition.type, condition.status]));
  t.match(conditions, { PodReadyToStartContainers: 'True', Initialized: 'True', Ready: 'True', ContainersReady: 'True', PodScheduled: 'True' });
  t.match(statusOf(pod, 'main'), { ready: true, started: true, restartCount: 0, image: containerd.images.pause });
  t.match(pod.metadata.annotations, { 'kubernetes.io/config.source': 'file' });
  t.ok(
    (await runtime.runningContainers()).some(({ id }) => id === idOf(pod)),
    'its container id is the runtime’s',
  );
  t.match(
    kubelet.events('simple').map(({ reason }) => reason),
    ['Pulled', 'Created', 'Started'],
  );
  kubelet.withdraw('simple.json');
  await kubelet.untilAbsent('simple');
  await kubelet.until('its containers have ended', async () => !(await runtime.runningContainers()).some(({ labels }) => labels['io.kubernetes.pod.uid'] === uidOf(pod)));
  t.match(kubelet.events('simple').at(-1), { reason: 'Killing', message: 'Stopping container main' });
}

async function edited(t: Test, { apply, containerd, kubelet, runtime }: TestNode): Promise<void> {
  apply('edited', { containers: [scripted(containerd, 'main', 'trap "sleep 1; exit 0" TERM; while :; do sleep 0.1; done')], terminationGracePeriodSeconds: 10 });
  const before = await kubelet.untilRunning('edited');
  const oldId = idOf(before);
  apply('edited', { containers: [scripted(containerd, 'main', 'exec sleep 1000')], terminationGracePeriodSeconds: 1 });
  const oldEnd = (async () => {
    let finishedAt = 0n;
    await kubelet.until('the old container has ended', async () => {
      finishedAt = BigInt((await runtime.status(oldId))?.finishedAt ?? 0);
      return finishedAt > 0n;
    });
    return Number(finishedAt) / 1e9;
  })();
  const after = await kubelet.untilPod('edited', (pod) => uidOf(pod) !== uidOf(before) && isRunning(pod), 'is replaced');
  const status = await runtime.status(idOf(after));
  const gap = Number(status?.startedAt) / 1e9 - (await oldEnd);
  t.ok(gap >= 0, 'one after the other', { gap });
  t.ok(gap < 8, 'without a pause in between', { gap });
  t.equal((await kubelet.pods()).filter(({ metadata }) => metadata.name.startsWith('edited-')).length, 1);
}

async function editedWithUid(t: Test, { apply, containerd, kubelet, runtime }: TestNode): Promise<void> {
  const metadata = { uid: '6f1d0a52-3c5e-4b6e-8a57-000000000001' };
  const containers = (image: string): object[] => [scripted(containerd, 'main', 'exec sleep 1000', { image }), pausing(containerd, 'bystander')];
  apply('fixed', { containers: containers(containerd.images.busybox) }, metadata);
  const before = await kubelet.untilRunning('fixed');
  apply('fixed', { containers: containers(otherImage) }, metadata);
  const after = await kubelet.untilPod('fixed', (pod) => isRunning(pod) && idOf(pod) !== idOf(before), 'runs the other image');
  t.equal(uidOf(after), metadata.uid);
  t.equal(idOf(after, 'bystander'), idOf(before, 'bystander'), 'its neighbour goes on');
  t.match(statusOf(after, 'main'), { restartCount: 1 });
  t.equal((await runtime.sandboxes()).filter(({ labels }) => labels['io.kubernetes.pod.uid'] === metadata.uid).length, 1, 'in the same sandbox');
  t.ok(kubelet.events('fixed').some(({ reason, message }) => reason === 'Killing' && message === 'Container main definition changed, will be restarted'));
}

async function otherPodInFile(t: Test, { containerd, kubelet, runtime }: TestNode): Promise<void> {
  kubelet.apply('slot.json', manifest('first', { containers: [pausing(containerd)] }));
  const first = await kubelet.untilRunning('first');
  kubelet.apply('slot.json', manifest('second', { containers: [pausing(containerd)] }));
  await kubelet.untilRunning('second');
  await kubelet.untilAbsent('first');
  await kubelet.until('the first one has ended', async () => !(await runtime.runningContainers()).some(({ labels }) => labels['io.kubernetes.pod.uid'] === uidOf(first)));
  t.notOk(runtime.processes().has(idOf(first)));
}

async function severalContainers(t: Test, { apply, containerd, kubelet, runtime }: TestNode): Promise<void> {
  apply('several', {
    initContainers: [
      scripted(containerd, 'first', 'sleep 1'),
      scripted(containerd, 'sidecar', 'exec sleep 1000', { restartPolicy: 'Always' }),
      scripted(containerd, 'second', 'true'),
    ],
    containers: [pausing(containerd, 'one'), pausing(containerd, 'two'), pausing(containerd, 'three')],
  });
  const pod = await kubelet.untilRunning('several');
  const [first, second] = [terminated(pod, 'first'), terminated(pod, 'second')];
  t.match(
    [first, second],
    [
      { exitCode: 0, reason: 'Completed' },
      { exitCode: 0, reason: 'Completed' },
    ],
  );
  const sidecarStart = seconds(statusOf(pod, 'sidecar').state?.running?.startedAt);
  t.ok(seconds(first?.finishedAt) <= sidecarStart && sidecarStart <= seconds(second?.startedAt), 'in their order');
  for (const name of ['one', 'two', 'three']) t.ok(seconds(second?.finishedAt) <= seconds(statusOf(pod, name).state?.running?.startedAt), name);
  t.equal((await runtime.runningContainers()).filter(({ labels }) => labels['io.kubernetes.pod.uid'] === uidOf(pod)).length, 4);
}

async function exitCodes(t: Test, { apply, containerd, kubelet }: TestNode): Promise<void> {
  const ends: readonly (readonly [name: string, policy: string, script: string, phase: string, state: object])[] = [
    ['never-fails', 'Never', 'exit 7', 'Failed', { exitCode: 7, reason: 'Error' }],
    ['never-succeeds', 'Never', 'exit 0', 'Succeeded', { exitCode: 0, reason: 'Completed' }],
    ['never-killed', 'Never', 'kill -9 $$$$', 'Failed', { exitCode: 137, reason: 'Error' }],
    ['on-failure-succeeds', 'OnFailure', 'exit 0', 'Succeeded', { exitCode: 0, reason: 'Completed' }],
  ];
  // Process 1 of a pid namespace can't kill itself, so this one runs in the host's. `$$` is how a manifest spells `$`.
  for (const [name, restartPolicy, script] of ends) apply(name, { restartPolicy, hostPID: name === 'never-killed', containers: [scripted(containerd, 'main', script)] });
  apply('on-failure-fails', { restartPolicy: 'OnFailure', containers: [scripted(containerd, 'main', 'exit 5')] });
  apply('init-fails', { restartPolicy: 'Never', initContainers: [scripted(containerd, 'init', 'exit 9')], containers: [pausing(containerd)] });
  for (const [name, , , phase, state] of ends) {
    const pod = await kubelet.untilPod(name, ({ status }) => status?.phase === phase, phase);
    t.match(statusOf(pod, 'main'), { restartCount: 0, ready: false, state: { terminated: state } }, name);
  }
  const again = await kubelet.untilPod('on-failure-fails', (pod) => statusOf(pod, 'main').restartCount >= 1, 'starts again');
  t.match(again.status?.phase, 'Running');
  t.match(statusOf(again, 'main'), { lastState: { terminated: { exitCode: 5 } } });
  const never = await kubelet.untilPod('init-fails', ({ status }) => status?.phase === 'Failed', 'fails with its init container');
  t.match(statusOf(never, 'init'), { state: { terminated: { exitCode: 9 } } });
  t.match(statusOf(never, 'main'), { restartCount: 0, state: { waiting: { reason: 'PodInitializing' } } });
}

async function missingImage(t: Test, { kubelet }: TestNode): Promise<void> {
  const backing = (pod: Pod): boolean => statusOf(pod, 'main').state?.waiting?.reason === 'ImagePullBackOff';
  const pod = await kubelet.untilPod('missing-image', backing, 'waits to pull again');
  t.equal(pod.status?.phase, 'Pending');
  t.match(statusOf(pod, 'main').state?.waiting?.message, /^Back-off pulling image "no\.invalid\/image:1": ErrImagePull: /);
  const events = kubelet.events('missing-image');
  const has = (type: string, reason: string, message: RegExp): boolean =>
    events.some((event) => event.type === type && event.reason === reason && message.test(String(event.message)));
  t.ok(has('Normal', 'Pulling', /^Pulling image "no\.invalid\/image:1"$/));
  t.ok(has('Warning', 'Failed', /^Failed to pull image "no\.invalid\/image:1": /));
  t.ok(has('Warning', 'Failed', /^Error: ErrImagePull$/));
  t.ok(has('Normal', 'BackOff', /^Back-off pulling image "no\.invalid\/image:1"$/));
  t.ok(has('Warning', 'Failed', /^Error: ImagePullBackOff$/));
  t.ok(isRunning((await kubelet.pod('neighbour')) as Pod), 'others run');
}

async function crashLoop(t: Test, { kubelet }: TestNode, seen: ReadonlyMap<number, Times>): Promise<void> {
  const [first, second, third] = [0, 1, 2].map((attempt) => seen.get(attempt));
  t.ok((second?.startedAt ?? Number.NaN) - (first?.finishedAt ?? Number.NaN) < 8, 'the first restart does not wait', { first, second });
  const wait = (third?.startedAt ?? Number.NaN) - (second?.finishedAt ?? Number.NaN);
  t.ok(wait >= 10 && wait < 20, 'the second one does', { wait });
  t.equal(third?.exitCode, 3);
  const looping = await kubelet.untilPod('crashing', (found) => statusOf(found, 'main').state?.waiting?.reason === 'CrashLoopBackOff', 'backs off');
  t.match(statusOf(looping, 'main'), { ready: false, lastState: { terminated: { exitCode: 3, reason: 'Error' } } });
  // On a loaded machine the look may come one restart later.
  const { restartCount, state } = statusOf(looping, 'main');
  t.ok(restartCount === 2 || restartCount === 3, `${restartCount} restarts`);
  t.match(state?.waiting?.message, new RegExp(`^back-off ${restartCount === 2 ? 20 : 40}s restarting failed container=main pod=crashing-node-under-test_default\\(`));
  t.ok(kubelet.events('crashing').some(({ type, reason }) => type === 'Warning' && reason === 'BackOff'));
  t.ok(kubelet.events('crashing').some(({ message }) => String(message).startsWith('Back-off restarting failed container main in pod crashing-node-under-test_default(')));
}

const scenarios: readonly (readonly [what: string, scenario: (t: Test, node: TestNode) => Promise<void>])[] = [
  ['added, then removed', addedAndRemoved],
  ['an edited manifest is another pod: the old one ends before the new one starts', edited],
  ['an edited manifest with a uid of its own is the same pod: a container with another image starts again', editedWithUid],
  ['another pod in the same file', otherPodInFile],
  ['init containers one by one, a sidecar beside them, then several containers', severalContainers],
  ['exit codes and restart policies', exitCodes],
  ['a missing image: its pod waits and says why', missingImage],
];

t.test('the life of static pods', { skip, timeout: 240_000 }, async (t) => {
  const node = await testNode(t);
  const { apply, containerd } = node;
  containerd.ctr('images', 'tag', containerd.images.busybox, otherImage);
  // These keep running while the others are checked.
  apply('crashing', { containers: [scripted(containerd, 'main', 'exit 3')] });
  apply('missing-image', { containers: [{ name: 'main', image: 'no.invalid/image:1' }] });
  apply('neighbour', { containers: [pausing(containerd)] });
  const attempts = observeAttempts(node, 'crashing', 2);
  for (const [what, scenario] of scenarios) await t.test(what, (t) => scenario(t, node));
  await t.test('a crash loop: again at once, then ten seconds after it ended', async (t) => crashLoop(t, node, await attempts));
});
