// Every kind of handler on a real containerd, observed from the target: requests with their headers inside the container, ports by
// name, TLS and gRPC servers, a startup probe that delays the others, hooks by HTTP and by sleep.
import { once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { Server as GrpcServer, ServerCredentials } from '@grpc/grpc-js';
import t, { type Test } from 'tap';
import { HealthCheckResponse_ServingStatus, HealthService } from '../../src/adapters/probes/gen/grpc-health-v1.js';
import type { Pod } from '../../src/ports/model/pod.js';
import { authority } from '../adapters/kubelet-server-peer.js';
import { InsideContainer, waiting } from './inside-container.js';
import { idOf, scripted, statusOf } from './kubelet-process.js';
import { skipWithoutContainerd } from './private-containerd.js';
import { type TestNode, testNode } from './test-node.js';

t.setTimeout(240_000);
const skip = skipWithoutContainerd();
const podNetwork = { hostNetwork: false, dnsPolicy: 'Default' };
const isReady = (pod: Pod, name = 'main'): boolean => statusOf(pod, name).ready;

interface Feature {
  readonly what: string;
  /** Puts its pods into the manifest directory. */
  apply(node: TestNode, t: Test): Promise<void> | void;
  look(t: Test, node: TestNode): Promise<void>;
}

/** A web server that keeps the variables of each request to /cgi-bin/NAME in /NAME. */
function recording(name: string, port: number): string {
  const answer = 'printf "Content-Type: text/plain\\r\\n\\r\\nok"';
  const script = `/www/cgi-bin/${name}`;
  return `mkdir -p /www/cgi-bin; printf '#!/bin/sh\nenv > /draft; mv /draft /${name}; ${answer}\n' > ${script}; chmod +x ${script}; httpd -p ${port} -h /www`;
}

const requests: Feature = {
  what: 'a probe by HTTP: the port by its name, path, query and headers as they reach the container',
  apply({ apply, containerd }) {
    const httpHeaders = [
      { name: 'X-Probe', value: 'one' },
      { name: 'Host', value: 'app.example' },
    ];
    const readinessProbe = { httpGet: { port: 'web', path: '/cgi-bin/asked?q=1', httpHeaders }, periodSeconds: 1 };
    apply('asked', {
      ...podNetwork,
      containers: [scripted(containerd, 'main', `${recording('asked', 8081)}; ${waiting}`, { readinessProbe, ports: [{ name: 'web', containerPort: 8081 }] })],
    });
  },
  async look(t, node) {
    const pod = await node.kubelet.untilPod('asked', isReady, 'is ready');
    const seen = InsideContainer.of(node, pod).file('/asked').split('\n');
    const expected = ['HTTP_X_PROBE=one', 'HTTP_HOST=app.example', 'QUERY_STRING=q=1', 'REQUEST_METHOD=GET', 'HTTP_ACCEPT=*/*'];
    t.strictSame(
      expected.filter((line) => !seen.includes(line)),
      [],
    );
    t.ok(
      seen.some((line) => /^HTTP_USER_AGENT=kube-probe\/\d+\.\d+$/.test(line)),
      seen.join('\n'),
    );
  },
};

const startup: Feature = {
  what: 'a start-up probe by TCP holds back what would kill or be ready',
  apply({ apply, containerd }) {
    const tcpSocket = { port: 'web' };
    const script = `sleep 5; httpd -p 8082; ${waiting}`;
    const probes = {
      startupProbe: { tcpSocket, periodSeconds: 1, failureThreshold: 60 },
      livenessProbe: { tcpSocket, periodSeconds: 1, failureThreshold: 1 },
      readinessProbe: { tcpSocket, periodSeconds: 1 },
    };
    apply('starting', { ...podNetwork, containers: [scripted(containerd, 'main', script, { ...probes, ports: [{ name: 'web', containerPort: 8082 }] })] });
    apply('hopeless', {
      ...podNetwork,
      restartPolicy: 'Never',
      containers: [scripted(containerd, 'main', waiting, { startupProbe: { tcpSocket: { port: 8083 }, periodSeconds: 1, failureThreshold: 2 } })],
    });
  },
  async look(t, { kubelet }) {
    const ready = await kubelet.untilPod('starting', isReady, 'is ready');
    t.match(statusOf(ready, 'main'), { started: true, restartCount: 0 });
    const said = kubelet.events('starting').map(({ message }) => String(message));
    t.ok(
      said.some((message) => /^Startup probe failed: dial tcp [\d.]+:8082: connect: connection refused$/.test(message)),
      said.join('\n'),
    );
    t.notOk(
      said.some((message) => /^(Liveness|Readiness) probe failed/.test(message)),
      'the others had to wait',
    );
    const hopeless = await kubelet.untilPod('hopeless', ({ status }) => status?.phase === 'Failed' || status?.phase === 'Succeeded', 'is given up');
    t.notOk(statusOf(hopeless, 'main').started);
    const texts = kubelet.events('hopeless').map(({ message }) => String(message));
    // No container restarts, so the pod is stopped. The log has a repeated warning once in five minutes.
    t.strictSame([texts.filter((text) => text.startsWith('Startup probe failed: ')).length, texts.at(-1)], [1, 'Stopping container main']);
  },
};

const heard: IncomingHttpHeaders[] = [];
const services: string[] = [];

/** The servers are of the test: nothing in the image speaks TLS or gRPC. Pods of the host's network have the host's address, here 127.0.0.1. */
const encrypted: Feature = {
  what: 'probes by HTTPS, whoever signed, and by gRPC with a service',
  async apply({ apply, containerd }, t) {
    const tls = createServer(authority('nobody').sign('probed', [], 'server'), ({ headers }, response) => {
      heard.push(headers);
      response.end();
    }).listen(0, '127.0.0.1');
    await once(tls, 'listening');
    t.teardown(() => tls.close());
    const rpc = new GrpcServer();
    rpc.addService(HealthService, {
      check({ request }: { request: { service: string } }, answer: (error: null, value: object) => void) {
        services.push(request.service);
        answer(null, { status: HealthCheckResponse_ServingStatus[request.service === 'well' ? 'SERVING' : 'NOT_SERVING'] });
      },
    });
    const rpcPort = await new Promise<number>((resolve, reject) =>
      rpc.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) => (error === null ? resolve(bound) : reject(error))),
    );
    t.teardown(() => rpc.forceShutdown());
    const { port } = tls.address() as AddressInfo;
    const probed = (name: string, readinessProbe: object): object => scripted(containerd, name, waiting, { readinessProbe: { ...readinessProbe, periodSeconds: 1 } });
    apply('encrypted', {
      containers: [
        probed('tls', { httpGet: { scheme: 'HTTPS', host: '127.0.0.1', port, path: '/' } }),
        probed('well', { grpc: { port: rpcPort, service: 'well' } }),
        probed('ill', { grpc: { port: rpcPort, service: 'ill' } }),
      ],
    });
  },
  async look(t, { kubelet }) {
    const pod = await kubelet.untilPod('encrypted', (pod) => isReady(pod, 'tls') && isReady(pod, 'well'), 'two are ready');
    t.equal(pod.status?.podIP, '127.0.0.1');
    t.match(heard[0], { 'user-agent': /^kube-probe\// });
    await kubelet.until('the third was asked', () => services.includes('ill'));
    await kubelet.until('and it is told', () =>
      kubelet.events('encrypted').some(({ message }) => message === 'Readiness probe failed: service unhealthy (responded with "NOT_SERVING")'),
    );
    t.notOk(isReady((await kubelet.pod('encrypted')) as Pod, 'ill'));
  },
};

const hooks: Feature = {
  what: 'hooks: a request before the end, a rest before the end, a failed request after the start',
  apply({ apply, containerd }) {
    const ports = [{ name: 'web', containerPort: 8084 }];
    const ends = 'while [ ! -e /bye ]; do sleep 0.05; done; grep -q HTTP_X_HOOK=stop /bye && exit 45; exit 1';
    const httpGet = { port: 'web', path: '/cgi-bin/bye', httpHeaders: [{ name: 'X-Hook', value: 'stop' }] };
    apply('told', {
      ...podNetwork,
      terminationGracePeriodSeconds: 60,
      containers: [scripted(containerd, 'main', `${recording('bye', 8084)}; ${ends}`, { ports, lifecycle: { preStop: { httpGet } } })],
    });
    const rest = { lifecycle: { preStop: { sleep: { seconds: 3 } } } };
    apply('rested', { terminationGracePeriodSeconds: 60, containers: [scripted(containerd, 'main', 'trap "exit 46" TERM; while :; do sleep 0.05; done', rest)] });
    const refused = { postStart: { httpGet: { port: 8085, path: '/' } } };
    apply('refused', { ...podNetwork, restartPolicy: 'Never', containers: [scripted(containerd, 'main', waiting, { lifecycle: refused })] });
  },
  async look(t, node) {
    const { kubelet, runtime } = node;
    const ids = await Promise.all(['told', 'rested'].map(async (name) => idOf(await kubelet.untilRunning(name))));
    const removedAt = Date.now();
    for (const name of ['told', 'rested']) kubelet.withdraw(`${name}.json`);
    const ends = await Promise.all(
      ids.map(async (id) => {
        let end = { exitCode: -1, at: 0 };
        await kubelet.until('it has ended', async () => {
          const status = await runtime.status(id);
          if (status !== null && status.finishedAt > 0n) end = { exitCode: status.exitCode, at: Number(status.finishedAt / 1_000_000n) };
          return end.at > 0;
        });
        return end;
      }),
    );
    t.strictSame(
      ends.map(({ exitCode }) => exitCode),
      [45, 46],
      'the request was seen inside, and the signal came to the other',
    );
    const rested = (ends[1]?.at ?? 0) - removedAt;
    t.ok(rested >= 2_900 && rested < 50_000, `it had ${rested} ms before its signal`);
    const refused = await kubelet.untilPod('refused', ({ status }) => status?.phase === 'Failed' || status?.phase === 'Succeeded', 'is given up');
    t.notOk(runtime.processes().has(idOf(refused)));
    const reasons = kubelet.events('refused').map(({ reason }) => reason);
    t.strictSame(reasons.slice(-3), ['Started', 'FailedPostStartHook', 'Killing']);
  },
};

const features: readonly Feature[] = [requests, startup, encrypted, hooks];

t.test('probes and hooks, as they are met', { skip, timeout: 240_000 }, async (t) => {
  const node = await testNode(t, false);
  node.kubelet.flags.push('--node-ip=127.0.0.1');
  for (const { apply } of features) await apply(node, t);
  await node.kubelet.start();
  for (const { what, look } of features) await t.test(what, (t) => look(t, node));
});
