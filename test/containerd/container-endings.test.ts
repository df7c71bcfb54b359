// Ends of containers and pods on a real containerd, and what follows: messages, restart rules, order, deadlines, a
// sandbox that dies, grace periods of probes, and hooks of unknown pods. All pods are created at once and then checked one by one.
import t, { type Test } from 'tap';
import type { Pod } from '../../src/ports/model/pod.js';
import { InsideContainer, waiting } from './inside-container.js';
import { idOf, scripted, statusOf } from './kubelet-process.js';
import { skipWithoutContainerd } from './private-containerd.js';
import { type TestNode, testNode } from './test-node.js';

// For the whole file; a machine that does other things needs several times what it takes.
t.setTimeout(240_000);
const skip = skipWithoutContainerd();

interface Feature {
  readonly what: string;
  /** Puts its pods into the manifest directory. */
  apply(node: TestNode): void;
  look(t: Test, node: TestNode): Promise<void>;
}

const terminated = (pod: Pod, name = 'main') => statusOf(pod, name).state?.terminated;
const failed = ({ status }: Pod): boolean => status?.phase === 'Failed';

/** When the runtime says that a container ended, in seconds; waits for it. */
async function endOf({ kubelet, runtime }: TestNode, id: string): Promise<{ readonly at: number; readonly exitCode: number }> {
  let end = { at: 0, exitCode: -1 };
  await kubelet.until('the container has ended', async () => {
    const status = await runtime.status(id);
    if (status !== null && status.finishedAt > 0n) end = { at: Number(status.finishedAt) / 1e9, exitCode: status.exitCode };
    return end.at > 0;
  });
  return end;
}

const messages: Feature = {
  what: 'termination messages: of a file, cut at its beginning, of the log',
  apply({ apply, containerd }) {
    const fallback = { terminationMessagePolicy: 'FallbackToLogsOnError' };
    apply('messages', {
      restartPolicy: 'Never',
      containers: [
        scripted(containerd, 'file', 'echo -n said > /dev/termination-log; exit 3'),
        scripted(containerd, 'own', 'echo -n elsewhere > /tmp/last', { terminationMessagePath: '/tmp/last' }),
        scripted(containerd, 'long', 'i=0; while [ $i -lt 500 ]; do echo -n 0123456789 >> /dev/termination-log; i=$((i+1)); done; echo -n end >> /dev/termination-log'),
        scripted(containerd, 'log', 'echo first; echo second >&2; exit 4', fallback),
        scripted(containerd, 'log-of-success', 'echo first', fallback),
        scripted(containerd, 'file-and-log', 'echo logged; echo -n said > /dev/termination-log; exit 5', fallback),
        scripted(containerd, 'neither', 'echo logged; exit 6'),
      ],
    });
  },
  async look(t, { kubelet }) {
    const pod = await kubelet.untilPod('messages', failed);
    const message = (name: string): string | undefined => terminated(pod, name)?.message;
    t.strictSame(['file', 'own', 'file-and-log'].map(message), ['said', 'elsewhere', 'said']);
    // The runtime reads two pipes, in no order.
    t.strictSame(message('log')?.split('\n').sort(), ['', 'first', 'second']);
    t.strictSame(
      ['log-of-success', 'neither'].map((name) => message(name) ?? ''),
      ['', ''],
    );
    // The pod's seven containers share 12 KiB.
    const long = message('long') ?? '';
    t.ok(long.length === Math.floor(12288 / 7) && /^\d+$/.test(long), `${long.length} characters`);
  },
};

const restartRules: Feature = {
  what: 'a restart policy and rules of a container’s own',
  apply({ apply, containerd }) {
    const restartPolicyRules = [{ action: 'Restart', exitCodes: { operator: 'In', values: [42] } }];
    const once = 'if [ -e /data/$0 ]; then exec sleep 1000; fi; touch /data/$0;';
    const ruled = (name: string, code: number, more: object): object =>
      scripted(containerd, name, `${once} exit ${code}`, { args: [name], volumeMounts: [{ name: 'data', mountPath: '/data' }], ...more });
    apply('ruled', {
      restartPolicy: 'Never',
      volumes: [{ name: 'data', emptyDir: {} }],
      containers: [
        ruled('by-rule', 42, { restartPolicy: 'Never', restartPolicyRules }),
        ruled('no-rule', 43, { restartPolicy: 'Never', restartPolicyRules }),
        ruled('by-policy', 0, { restartPolicy: 'Always' }),
        ruled('by-pod', 42, {}),
      ],
    });
  },
  async look(t, { kubelet }) {
    const again = (pod: Pod, name: string): boolean => statusOf(pod, name).restartCount === 1 && statusOf(pod, name).state?.running != null;
    const pod = await kubelet.untilPod('ruled', (pod) => again(pod, 'by-rule') && again(pod, 'by-policy') && terminated(pod, 'by-pod') != null);
    t.match(statusOf(pod, 'no-rule'), { restartCount: 0, state: { terminated: { exitCode: 43 } } });
    t.match(statusOf(pod, 'by-pod'), { restartCount: 0, state: { terminated: { exitCode: 42 } } });
    t.equal(pod.status?.phase, 'Running');
  },
};

const deadline: Feature = {
  what: 'a deadline of the pod',
  apply({ apply, containerd }) {
    apply('late', { activeDeadlineSeconds: 5, containers: [scripted(containerd, 'main', waiting)] });
  },
  async look(t, node) {
    const pod = await node.kubelet.untilPod('late', failed, 'fails');
    t.match(pod.status, { reason: 'DeadlineExceeded', message: 'Pod was active on the node longer than the specified deadline' });
    await node.kubelet.until('its container has ended', () => !node.runtime.processes().has(idOf(pod)));
  },
};

const sandbox: Feature = {
  what: 'a sandbox that dies is made again, and its pod begins anew',
  apply({ apply, containerd }) {
    apply('reborn', { hostNetwork: false, dnsPolicy: 'Default', initContainers: [scripted(containerd, 'init', 'true')], containers: [scripted(containerd, 'main', waiting)] });
  },
  async look(t, node) {
    const { kubelet, runtime } = node;
    const before = await kubelet.untilRunning('reborn');
    const ofPod = async () => (await runtime.sandboxes()).filter(({ metadata }) => metadata?.uid === before.metadata.uid);
    const [old] = await ofPod();
    process.kill(InsideContainer.byId(runtime.processes(), old?.id ?? '').pid, 'SIGKILL');
    const after = await kubelet.untilPod(
      'reborn',
      (pod) => pod.status?.phase === 'Running' && idOf(pod) !== idOf(before) && statusOf(pod, 'main').state?.running != null,
      'runs again',
    );
    t.ok(kubelet.events('reborn').some(({ reason, message }) => reason === 'SandboxChanged' && message === 'Pod sandbox changed, it will be killed and re-created.'));
    const ready = (await ofPod()).filter(({ id }) => runtime.processes().has(id));
    t.strictSame(
      ready.map(({ metadata }) => metadata?.attempt),
      [1],
    );
    t.notOk(runtime.processes().has(idOf(before)), 'the old container ended with it');
    t.not(idOf(after, 'init'), idOf(before, 'init'), 'init containers ran again');
    t.match(statusOf(after, 'main'), { restartCount: 1 });
    t.match(after.status?.podIP, /^\d+\./);
  },
};

const probeGrace: Feature = {
  what: 'the grace of a probe in place of the pod’s',
  apply({ apply, containerd }) {
    const probe = { exec: { command: ['false'] }, periodSeconds: 1, failureThreshold: 1, terminationGracePeriodSeconds: 1 };
    apply('graceless', {
      terminationGracePeriodSeconds: 600,
      containers: [
        scripted(containerd, 'lively', 'trap "" TERM; while :; do sleep 0.2; done', { livenessProbe: probe }),
        scripted(containerd, 'starting', 'trap "" TERM; while :; do sleep 0.2; done', { startupProbe: probe }),
      ],
    });
  },
  async look(t, node) {
    for (const name of ['lively', 'starting']) {
      const pod = await node.kubelet.untilPod('graceless', (pod) => statusOf(pod, name).restartCount >= 1, 'starts again');
      t.equal(statusOf(pod, name).lastState?.terminated?.exitCode, 137, 'killed, though the pod has ten minutes');
    }
  },
};

const order: Feature = {
  what: 'the end of a pod with sidecars: the others first, then sidecars from the last to the first',
  apply({ apply, containerd }) {
    const sidecar = (name: string): object => scripted(containerd, name, 'trap "exit 0" TERM; while :; do sleep 0.05; done', { restartPolicy: 'Always' });
    apply('ordered', {
      terminationGracePeriodSeconds: 30,
      initContainers: [sidecar('first'), sidecar('second')],
      containers: [scripted(containerd, 'main', 'trap "sleep 2; exit 0" TERM; while :; do sleep 0.05; done')],
    });
  },
  async look(t, node) {
    const { kubelet } = node;
    const pod = await kubelet.untilRunning('ordered');
    kubelet.withdraw('ordered.json');
    const ends = await Promise.all(['main', 'second', 'first'].map((name) => endOf(node, idOf(pod, name))));
    t.strictSame(
      ends.map(({ exitCode }) => exitCode),
      [0, 0, 0],
    );
    const times = ends.map(({ at }) => at);
    t.strictSame(
      times,
      times.toSorted((a, b) => a - b),
      'main, second, first',
    );
  },
};

const orphans: Feature = {
  what: 'a hook before the end of a pod that the agent finds without knowing it',
  apply({ apply, containerd }) {
    const script = 'while [ ! -e /bye ]; do sleep 0.05; done; exit 44';
    apply('forgotten', { containers: [scripted(containerd, 'main', script, { lifecycle: { preStop: { exec: { command: ['touch', '/bye'] } } } })] });
  },
  async look(t, node) {
    const { kubelet } = node;
    const pod = await kubelet.untilRunning('forgotten');
    await kubelet.kill();
    kubelet.withdraw('forgotten.json');
    await kubelet.start();
    t.equal((await endOf(node, idOf(pod))).exitCode, 44, 'its annotations told of it');
  },
};

const features: readonly Feature[] = [messages, restartRules, deadline, probeGrace, sandbox, order, orphans];

t.test('how containers and pods end', { skip, timeout: 240_000 }, async (t) => {
  const node = await testNode(t, false);
  for (const { apply } of features) apply(node);
  await node.kubelet.start();
  for (const { what, look } of features) await t.test(what, (t) => look(t, node));
});
