// Failing probes and hooks on a real containerd: commands that hang, servers that never finish an answer, containers that end in the
// middle of a probe, more probes than the runtime can run. Nothing blocks permanently, and no other container is affected.

import { createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import t, { type Test } from 'tap';
import type { Pod } from '../../src/ports/model/pod.js';
import { holdsFor } from '../support/until.js';
import { InsideContainer } from './inside-container.js';
import { idOf, scripted, statusOf } from './kubelet-process.js';
import { skipWithoutContainerd } from './private-containerd.js';
import { type TestNode, testNode } from './test-node.js';

t.setTimeout(300_000);
const skip = skipWithoutContainerd();
const waiting = 'trap "exit 0" TERM; while :; do sleep 0.05; done';

const messages = ({ kubelet }: TestNode, name: string): string[] => kubelet.events(name).map(({ reason, message }) => `${reason}: ${String(message)}`);

interface Attack {
  readonly what: string;
  apply(node: TestNode): Promise<void> | void;
  look(t: Test, node: TestNode): Promise<void>;
}

const hanging: Attack = {
  what: 'a command that hangs is a failure each time, and its processes end with it',
  apply({ apply, containerd }) {
    const livenessProbe = { exec: { command: ['sleep', '4321'] }, periodSeconds: 1, timeoutSeconds: 1, failureThreshold: 3 };
    apply('hanging', { containers: [scripted(containerd, 'main', waiting, { livenessProbe }), scripted(containerd, 'other', waiting)] });
  },
  async look(t, node) {
    const pod = await node.kubelet.untilPod('hanging', (pod) => statusOf(pod, 'main').restartCount >= 1, 'starts again');
    t.equal(statusOf(pod, 'other').restartCount, 0);
    const said = messages(node, 'hanging');
    t.ok(said.filter((text) => text === 'Unhealthy: Liveness probe failed: command timed out: "sleep 4321" timed out after 1s').length >= 1, said.join('\n'));
    t.ok(said.includes('Killing: Container main failed liveness probe, will be restarted'));
    const inside = InsideContainer.of(node, pod, 'other');
    t.notOk(inside.commandLine.includes('4321'));
  },
};

const open = new Set<Socket>();
let connections = 0;

const slow: Attack = {
  what: 'a server that sends its headers, or its body, a byte at a time',
  async apply({ apply, containerd }) {
    const drip = (beginning: string) => {
      const server = createServer((socket) => {
        connections++;
        open.add(socket);
        socket.write(beginning);
        const timer = setInterval(() => socket.write('x'), 50);
        socket
          .on('error', () => {})
          .on('close', () => {
            clearInterval(timer);
            open.delete(socket);
          });
      }).unref();
      return new Promise<number>((resolve) => server.listen(0, '127.0.0.1', () => resolve((server.address() as { readonly port: number }).port)));
    };
    const probe = (port: number) => ({ httpGet: { host: '127.0.0.1', port, path: '/slow' }, periodSeconds: 1, timeoutSeconds: 1, failureThreshold: 1 });
    const [headers, body] = await Promise.all([drip('HTTP/1.1 200 OK\r\nX-Slow: '), drip('HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n')]);
    apply('slow', {
      containers: [scripted(containerd, 'headers', waiting, { readinessProbe: probe(headers) }), scripted(containerd, 'body', waiting, { readinessProbe: probe(body) })],
    });
  },
  async look(t, node) {
    await node.kubelet.untilRunning('slow');
    await node.kubelet.until('it was asked twenty times', () => connections >= 20);
    // One that runs and one that is being closed for each container.
    t.ok(open.size <= 4, `connections that are open: ${open.size} of ${connections}`);
    const pod = await node.kubelet.pod('slow');
    t.match(
      [statusOf(pod as Pod, 'headers'), statusOf(pod as Pod, 'body')],
      [
        { ready: false, restartCount: 0 },
        { ready: false, restartCount: 0 },
      ],
    );
    const said = messages(node, 'slow').filter((text) => text.startsWith('Unhealthy: Readiness probe failed: '));
    t.ok(
      said.some((text) => text.endsWith('context deadline exceeded (Client.Timeout exceeded while awaiting headers)')),
      said.join('\n'),
    );
    node.kubelet.withdraw('slow.json');
    await node.kubelet.untilAbsent('slow');
    await node.kubelet.until('no connection is left', () => open.size === 0);
  },
};

const replaced: Attack = {
  what: 'a container that ends while its probe runs: what the probe says is not about the next one',
  apply({ apply, containerd }) {
    const check = '[ "$(wc -l < /state/lives)" = 1 ] || exit 0; touch /state/probing; sleep 4; exit 1';
    const livenessProbe = { exec: { command: ['sh', '-c', check] }, periodSeconds: 1, timeoutSeconds: 20, failureThreshold: 1 };
    apply('replaced', {
      volumes: [{ name: 'state', emptyDir: {} }],
      containers: [scripted(containerd, 'main', `echo life >> /state/lives; ${waiting}`, { livenessProbe, volumeMounts: [{ name: 'state', mountPath: '/state' }] })],
    });
  },
  async look(t, node) {
    const pod = await node.kubelet.untilRunning('replaced');
    const inside = InsideContainer.of(node, pod);
    await node.kubelet.until('the probe runs', () => {
      try {
        return inside.file('/state/probing') === '';
      } catch {
        return false;
      }
    });
    process.kill(inside.pid, 'SIGKILL');
    const next = await node.kubelet.untilPod('replaced', (now) => idOf(now) !== idOf(pod) && statusOf(now, 'main').state?.running != null, 'runs again');
    await holdsFor('the next container runs, and is not restarted', 8_000, async () => {
      const later = (await node.kubelet.pod('replaced')) as Pod;
      return statusOf(later, 'main').restartCount === 1 && idOf(later) === idOf(next);
    });
    // The command failed with its container, which may be reported before the container's end is seen.
    t.ok(messages(node, 'replaced').filter((text) => text.startsWith('Killing')).length <= 1);
  },
};

const endlessHook: Attack = {
  what: 'a preStop that never ends takes the grace and no more',
  apply({ apply, containerd }) {
    const lifecycle = { preStop: { exec: { command: ['sleep', '4322'] } } };
    apply('endless', { terminationGracePeriodSeconds: 4, containers: [scripted(containerd, 'main', 'trap "" TERM; while :; do sleep 0.2; done', { lifecycle })] });
  },
  async look(t, { kubelet, runtime }) {
    const id = idOf(await kubelet.untilRunning('endless'));
    const from = performance.now();
    kubelet.withdraw('endless.json');
    await kubelet.until('its processes have ended', () => !runtime.processes().has(id));
    const seconds = (performance.now() - from) / 1_000;
    t.ok(seconds > 3.5 && seconds < 14, `after ${seconds.toFixed(1)} s: the grace of 4 s, and the least of 2 s for the signal`);
    await kubelet.untilAbsent('endless');
  },
};

const crowdPods = 4;
const crowdContainers = 10;

const crowd: Attack = {
  what: 'more commands a second than the runtime can run: nothing is restarted, and the agent answers',
  apply({ apply, containerd }) {
    const probe = { exec: { command: ['true'] }, periodSeconds: 1, timeoutSeconds: 120 };
    const containers = Array.from({ length: crowdContainers }, (_, i) => scripted(containerd, `c${i}`, 'exec sleep 100000', { livenessProbe: probe, readinessProbe: probe }));
    for (let i = 0; i < crowdPods; i++) apply(`crowd-${i}`, { containers });
  },
  async look(t, { kubelet }) {
    const names = Array.from({ length: crowdPods }, (_, i) => `crowd-${i}`);
    const isReady = (pod: Pod): boolean => pod.status?.containerStatuses?.length === crowdContainers && pod.status.containerStatuses.every(({ ready }) => ready);
    for (const name of names) await kubelet.untilPod(name, isReady, 'is ready');
    let slowest = 0;
    for (let i = 0; i < 100; i++) {
      const from = performance.now();
      t.equal(await kubelet.health(), 200);
      slowest = Math.max(slowest, performance.now() - from);
      await delay(100);
    }
    t.ok(slowest < 2_000, `the slowest answer of the agent: ${slowest.toFixed(0)} ms`);
    for (const name of names) {
      const pod = (await kubelet.pod(name)) as Pod;
      t.ok(isReady(pod));
      t.strictSame(
        pod.status?.containerStatuses?.filter(({ restartCount }) => restartCount > 0),
        [],
      );
      kubelet.withdraw(`${name}.json`);
    }
    for (const name of names) await kubelet.untilAbsent(name);
  },
};

t.test('probes and hooks that go wrong', { skip, timeout: 300_000 }, async (t) => {
  const node = await testNode(t);
  for (const attack of [hanging, slow, replaced, endlessHook, crowd]) {
    await attack.apply(node);
    await t.test(attack.what, (t) => attack.look(t, node));
  }
});
