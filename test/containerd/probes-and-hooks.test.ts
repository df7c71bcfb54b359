// Probes and lifecycle hooks on a real containerd: commands run inside containers, requests reach servers, and grace periods are respected.
import t, { type Test } from 'tap';
import type { Pod } from '../../src/ports/model/pod.js';
import { freePort, idOf, scripted, statusOf } from './kubelet-process.js';
import { skipWithoutContainerd } from './private-containerd.js';
import { type TestNode, testNode } from './test-node.js';

t.setTimeout(240_000);
const skip = skipWithoutContainerd();

const shell = (script: string): object => ({ exec: { command: ['sh', '-c', script] } });
const nowSeconds = (): number => Date.now() / 1_000;

/** Waits until a container has ended, and returns the runtime's status of it, since the pod is removed soon after. */
async function endOf({ kubelet, runtime }: TestNode, id: string): Promise<{ readonly exitCode: number; readonly at: number }> {
  let end = { exitCode: -1, at: 0 };
  await kubelet.until('the container has ended', async () => {
    const status = await runtime.status(id);
    if (status !== null && status.finishedAt > 0n) end = { exitCode: status.exitCode, at: Number(status.finishedAt) / 1e9 };
    return end.at > 0;
  });
  return end;
}

async function readiness(t: Test, { kubelet, apply, containerd }: TestNode): Promise<void> {
  const port = await freePort();
  const script = `mkdir /www; (sleep 4; touch /www/ready; sleep 6; rm /www/ready) & exec httpd -f -p 127.0.0.1:${port} -h /www`;
  const readinessProbe = { httpGet: { host: '127.0.0.1', port, path: '/ready' }, periodSeconds: 1, failureThreshold: 1 };
  apply('web', { containers: [scripted(containerd, 'main', script, { readinessProbe })] });
  const isReady = (pod: Pod): boolean => pod.status?.conditions?.find(({ type }) => type === 'Ready')?.status === 'True';
  const before = await kubelet.untilPod('web', ({ status }) => status?.phase === 'Running', 'runs');
  t.match([isReady(before), statusOf(before, 'main')], [false, { ready: false, started: true }]);
  const ready = await kubelet.untilPod('web', isReady, 'is ready');
  t.match(statusOf(ready, 'main'), { ready: true, restartCount: 0 });
  const after = await kubelet.untilPod('web', (pod) => !isReady(pod), 'is not ready any more');
  t.equal(idOf(after), idOf(before), 'and runs on');
  t.ok(kubelet.events('web').some(({ reason, message }) => reason === 'Unhealthy' && message === 'Readiness probe failed: HTTP probe failed with statuscode: 404'));
}

async function liveness(t: Test, { kubelet, apply, containerd }: TestNode): Promise<void> {
  const livenessProbe = { exec: { command: ['cat', '/ok'] }, periodSeconds: 1, failureThreshold: 2 };
  apply('lively', { containers: [scripted(containerd, 'main', 'touch /ok; sleep 4; rm /ok; exec sleep 1000', { livenessProbe })] });
  const pod = await kubelet.untilPod('lively', (pod) => statusOf(pod, 'main').restartCount >= 1, 'starts again');
  t.match(statusOf(pod, 'main').lastState?.terminated?.exitCode, /^(137|143)$/);
  const messages = kubelet.events('lively').map(({ reason, message }) => `${reason}: ${String(message)}`);
  t.ok(messages.includes("Unhealthy: Liveness probe failed: cat: can't open '/ok': No such file or directory\n"), messages.join('\n'));
  t.ok(messages.includes('Killing: Container main failed liveness probe, will be restarted'));
}

async function preStop(t: Test, node: TestNode): Promise<void> {
  const { kubelet, apply, containerd } = node;
  apply('polite', {
    terminationGracePeriodSeconds: 30,
    containers: [scripted(containerd, 'main', 'while [ ! -e /bye ]; do sleep 0.1; done; sleep 2; exit 42', { lifecycle: { preStop: shell('touch /bye') } })],
  });
  apply('stubborn', {
    terminationGracePeriodSeconds: 5,
    containers: [scripted(containerd, 'main', 'trap "" TERM; while :; do sleep 0.2; done', { lifecycle: { preStop: shell('sleep 2; exit 1') } })],
  });
  const ids = await Promise.all(['polite', 'stubborn'].map(async (name) => idOf(await kubelet.untilRunning(name))));
  const removedAt = nowSeconds();
  kubelet.withdraw('polite.json');
  kubelet.withdraw('stubborn.json');
  const [polite, stubborn] = await Promise.all(ids.map((id) => endOf(node, id)));
  t.equal(polite?.exitCode, 42, 'the hook was seen inside the container');
  t.equal(stubborn?.exitCode, 137);
  const took = (stubborn?.at ?? 0) - removedAt;
  t.ok(took >= 4.5 && took < 15, `killed ${took} s after it was removed`);
  await kubelet.untilAbsent('stubborn');
  const reasons = (name: string): unknown[] => kubelet.events(name).map(({ reason }) => reason);
  t.strictSame([reasons('polite').at(-1), reasons('stubborn').at(-1)], ['Killing', 'FailedPreStopHook']);
}

async function postStart(t: Test, { kubelet, apply, containerd }: TestNode): Promise<void> {
  const script = 'while [ ! -e /go ]; do sleep 0.1; done; exit 43';
  apply('hooked', { restartPolicy: 'Never', containers: [scripted(containerd, 'main', script, { lifecycle: { postStart: shell('touch /go') } })] });
  const failing = { lifecycle: { postStart: shell('echo oops >&2; exit 3') } };
  apply('unhooked', { restartPolicy: 'Never', containers: [scripted(containerd, 'main', 'exec sleep 1000', failing)] });
  const pod = await kubelet.untilPod('hooked', ({ status }) => status?.phase === 'Failed', 'ends');
  t.match(statusOf(pod, 'main').state?.terminated, { exitCode: 43 });
  await kubelet.untilPod('unhooked', ({ status }) => status?.phase === 'Failed', 'is killed');
  t.strictSame(
    kubelet
      .events('unhooked')
      .map(({ reason }) => reason)
      .slice(-3),
    ['Started', 'FailedPostStartHook', 'Killing'],
  );
}

t.test('probes and hooks', { skip, timeout: 240_000 }, async (t) => {
  const node = await testNode(t);
  await t.test('readiness over HTTP comes and goes', async (t) => readiness(t, node));
  await t.test('liveness by a command restarts', async (t) => liveness(t, node));
  await t.test('preStop within the grace', async (t) => preStop(t, node));
  await t.test('postStart', async (t) => postStart(t, node));
});
