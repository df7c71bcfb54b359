// `kubectl debug` on a real node: a container that joins a running pod, sees the processes of its target if requested, is
// attached to, ends, and is never restarted. Invariant: the pod's own containers, readiness and phase are unaffected.
import { spawn } from 'node:child_process';
import t, { type Test } from 'tap';
import type { Pod } from '../../src/ports/model/pod.js';
import { skipWithoutKubectl } from './kubectl.js';
import { manifest, scripted } from './kubelet-process.js';
import { skipWithoutContainerd } from './private-containerd.js';
import { type Cluster, testCluster } from './stream-cluster.js';

t.setTimeout(240_000);
const skip = skipWithoutContainerd() || skipWithoutKubectl();

interface Debugged extends Cluster {
  pod(): Promise<Pod>;
}

async function debugged(t: Test): Promise<Debugged> {
  const cluster = await testCluster(t);
  return { ...cluster, pod: async () => JSON.parse((await cluster.run(['get', 'pod', 'app', '-o', 'json'])).text) as Pod };
}

const debug = (image: string, name: string, script: string, ...more: string[]): string[] => [
  ...['debug', 'app', `--image=${image}`, `--container=${name}`, '--profile=general', '--attach=false', ...more, '--', 'sh', '-c', script],
];

function ofEphemeral(pod: Pod, name: string) {
  return pod.status?.ephemeralContainerStatuses?.find((status) => status.name === name);
}

/** A pod's status of its own containers. */
function ownOf({ status }: Pod): unknown {
  const conditions = status?.conditions?.filter(({ type }) => /Ready$/.test(type)).map((condition) => [condition.type, condition.status]);
  return [status?.phase, conditions, status?.containerStatuses?.map(({ containerID, restartCount, ready }) => [containerID, restartCount, ready])];
}

async function ends(t: Test, { run, pod, kubelet, containerd, runtime }: Debugged): Promise<void> {
  const before = ownOf(await pod());
  const { busybox } = containerd.images;
  t.match(await run(debug(busybox, 'fails', 'ps > /dev/termination-log; exit 7', '--target=main')), { code: 0 });
  await kubelet.until('it has ended', async () => ofEphemeral(await pod(), 'fails')?.state?.terminated !== undefined);
  const ended = ofEphemeral(await pod(), 'fails');
  t.match(ended, { restartCount: 0, ready: false, state: { terminated: { exitCode: 7, reason: 'Error' } } });
  t.match(ended?.state?.terminated?.message, /marked-process/, 'the processes of its target');
  t.match(await run(debug(busybox, 'alone', 'ps > /dev/termination-log; exit 0')), { code: 0 });
  await kubelet.until('the other has ended', async () => ofEphemeral(await pod(), 'alone')?.state?.terminated !== undefined);
  const alone = ofEphemeral(await pod(), 'alone')?.state?.terminated;
  t.match(alone, { exitCode: 0, reason: 'Completed' });
  t.notMatch(alone?.message, /marked-process/, 'none but its own without a target');
  t.match(ofEphemeral(await pod(), 'fails'), { containerID: ended?.containerID, restartCount: 0 }, 'it was not started again by the syncs since');
  t.strictSame(ownOf(await pod()), before, 'the pod is as it was');
  t.equal((await runtime.runningContainers()).filter(({ labels }) => labels['io.kubernetes.pod.name'] === 'app').length, 1);
}

async function attached(t: Test, { run, pod, kubelet, containerd, kubeconfig }: Debugged): Promise<void> {
  const before = ownOf(await pod());
  const script = 'read line; echo "heard $line"; exit 0';
  t.match(await run(debug(containerd.images.busybox, 'listens', script, '--stdin', '--target=main')), { code: 0 });
  await kubelet.until('it runs', async () => ofEphemeral(await pod(), 'listens')?.state?.running !== undefined);
  t.strictSame(ownOf(await pod()), before, 'the pod is as it was while it runs');
  // Its input stays open: containerd ends the outputs with it where the container may be attached to again.
  const child = spawn('kubectl', ['--kubeconfig', kubeconfig, 'attach', 'app', '-c', 'listens', '-i'], { stdio: ['pipe', 'pipe', 'inherit'] });
  let heard = '';
  child.stdout.on('data', (chunk: Buffer) => {
    heard += chunk.toString();
  });
  child.stdin.write('a word\n');
  await kubelet.until('it answers', () => heard.includes('heard a word'));
  child.stdin.end();
  await kubelet.until('it has ended', async () => ofEphemeral(await pod(), 'listens')?.state?.terminated?.exitCode === 0);
  t.match(await run(['logs', 'app', '-c', 'listens']), { code: 0, text: /heard a word/ });
}

async function restarted(t: Test, { run, pod, kubelet, containerd }: Debugged): Promise<void> {
  t.match(await run(debug(containerd.images.busybox, 'stays', 'exec sleep 1000')), { code: 0 });
  await kubelet.until('it runs', async () => ofEphemeral(await pod(), 'stays')?.state?.running !== undefined);
  const before = await pod();
  await kubelet.kill();
  await kubelet.start();
  t.match(await run(debug(containerd.images.busybox, 'later', 'exit 0')), { code: 0 });
  await kubelet.until('another has ended', async () => ofEphemeral(await pod(), 'later')?.state?.terminated !== undefined);
  const after = await pod();
  const shown = (pod: Pod, name: string): unknown => [ofEphemeral(pod, name)?.containerID, ofEphemeral(pod, name)?.restartCount, Object.keys(ofEphemeral(pod, name)?.state ?? {})];
  for (const name of ['fails', 'listens', 'stays']) t.strictSame(shown(after, name), shown(before, name), `${name}: as before the agent's restart`);
  t.strictSame(ownOf(after), ownOf(before));
  t.match(await run(['delete', 'pod', 'app', '--timeout=60s']), { code: 0 }, 'all of it goes with the pod');
}

t.test('ephemeral containers', { skip }, async (t) => {
  const node = await debugged(t);
  const main = scripted(node.containerd, 'main', 'trap "exit 0" TERM; while :; do sleep 0.2; : marked-process; done');
  const pod = manifest('app', { automountServiceAccountToken: false, terminationGracePeriodSeconds: 5, containers: [main] });
  t.match(await node.run(['apply', '-f', '-'], JSON.stringify(pod)), { code: 0 });
  t.match(await node.run(['wait', 'pod/app', '--for=condition=Ready', '--timeout=60s']), { code: 0 });
  await t.test('ends and is not started again', (t) => ends(t, node));
  await t.test('is attached to', (t) => attached(t, node));
  await t.test('outlives the agent', (t) => restarted(t, node));
});
