// What volumes cost a node of a cluster: the bundled daemon with a mock runtime, a mock apiserver and volumes on the real file system (root).
// One JSON line for 250 pods with three volumes each, at rest; one for a config map that 200 of them share being updated: how long until all show
// it, and what was asked of the API; one for a secret of 1000 files. `npm run bench -- volumes`; nothing without root.
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startMockApiserver } from '../src/adapters/mock-apiserver/index.js';
import { startMockCri } from '../src/adapters/mock-cri/index.js';
import { openNativeLinux, parseMountinfo, serviceEnvironmentOf } from '../src/adapters/native-linux/index.js';
import type { Pod } from '../src/ports/model/pod.js';
import { AdminClient } from '../test/app/admin-client.js';
import { KubeletProcess, manifest, nodeName } from '../test/containerd/kubelet-process.js';
import type { PrivateContainerd } from '../test/containerd/private-containerd.js';
import { quietCall } from '../test/ports/pod-volumes.contract.js';
import { memoryMiB } from './calibration.js';

const podCount = 250;
const sharing = 200;
const secretFiles = 1000;
const idleMs = 30_000;
const untilMs = 300_000;

if (process.getuid?.() !== 0) process.exit(0);
const directory = realpathSync(mkdtempSync(join(tmpdir(), 'volumes-bench-')));
const runtime = await startMockCri({ seed: 1, registry: 'any', pullBytesPerSecond: 1e10, listen: `unix://${directory}/cri.sock` });
const server = await startMockApiserver();
const place = { directory, endpoint: runtime.endpoint, cgroupRoot: '/', images: {} } as unknown as PrivateContainerd;
const kubelet = await KubeletProcess.prepare(place, 'node', { cgroupsPerQOS: false, enforceNodeAllocatable: [], maxPods: 300 });
const own = join(directory, 'kubelet.conf');
writeFileSync(own, server.kubeconfig({ commonName: `system:node:${nodeName}`, organizations: ['system:nodes'] }));
kubelet.flags.push('--kubeconfig', own);
const admin = new AdminClient(join(directory, 'admin.conf'), server.kubeconfig());

const round = (value: number): number => Number(value.toPrecision(3));
const asked = (what: (verb: string, resource: string) => boolean): number =>
  server.api.audit.entries.filter(({ user, verb, resource }) => user === `system:node:${nodeName}` && what(verb, resource)).length;

/** Interrupted it still takes down what it mounted. */
let interrupted = false;
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => (interrupted = true));

async function until(what: string, holds: () => boolean | Promise<boolean>, everyMs = 20): Promise<void> {
  for (const end = Date.now() + untilMs; !(await holds()); await delay(everyMs)) {
    if (interrupted || Date.now() > end) throw new Error(`it did not come about: ${what}`);
  }
}

function create(name: string, volumes: Pod['spec']['volumes']): Promise<unknown> {
  const volumeMounts = (volumes ?? []).map((volume) => ({ name: volume.name, mountPath: `/${volume.name}` }));
  const containers = [{ name: 'main', image: 'app:1', volumeMounts }];
  return admin.create('pods', 'default', manifest(name, { nodeName, automountServiceAccountToken: false, hostNetwork: false, containers, volumes }) as Pod);
}

const shownIn = (uid: string, path: string): string => {
  try {
    return readFileSync(join(kubelet.root, 'pods', uid, 'volumes', path), 'utf8');
  } catch {
    return '';
  }
};

try {
  await kubelet.start();
  await until('the node is there', async () => (await admin.get('nodes', null, nodeName)) !== null);
  const configMap = (data: object) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'shared', namespace: 'default' }, data });
  await admin.create('configmaps', 'default', configMap({ turn: '0', other: 'x'.repeat(1000) }) as never);
  const items = [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }];
  const began = { at: performance.now(), cpu: kubelet.cpuSeconds };
  for (let i = 0; i < podCount; i++) {
    const third = i < sharing ? { configMap: { name: 'shared' } } : { emptyDir: { medium: 'Memory' } };
    await create(`p${i}`, [
      { name: 'work', emptyDir: {} },
      { name: 'info', downwardAPI: { items } },
      { name: 'third', ...third },
    ]);
  }
  const pods = new Map<string, string>();
  await until('all run', async () => {
    for (let i = 0; i < podCount; i++) {
      if (pods.has(`p${i}`)) continue;
      const pod = (await admin.get('pods', 'default', `p${i}`)) as Pod | null;
      if (pod?.status?.phase !== 'Running') return false;
      pods.set(`p${i}`, pod.metadata.uid ?? '');
    }
    return true;
  });
  const started = { ms: performance.now() - began.at, cpu: kubelet.cpuSeconds - began.cpu };
  await delay(3_000);
  const rest = { at: performance.now(), cpu: kubelet.cpuSeconds, requests: asked(() => true) };
  await delay(idleMs);
  const idle = (100 * (kubelet.cpuSeconds - rest.cpu)) / ((performance.now() - rest.at) / 1000);
  const requests = asked(() => true) - rest.requests;
  const steady = { pods: podCount, volumes: 3 * podCount, startedMs: round(started.ms), cpuMsPerPod: round((started.cpu * 1000) / podCount), idlePercentOfACore: round(idle) };
  console.log(JSON.stringify({ bench: 'volumes', what: 'at rest', ...steady, memoryMiB: round(memoryMiB(kubelet.pid, 'VmRSS')), requestsIdle: requests }));

  const isObject = (_verb: string, resource: string): boolean => resource === 'configmaps';
  const before = { at: performance.now(), cpu: kubelet.cpuSeconds, requests: asked(isObject) };
  await admin.patch('configmaps', 'default', 'shared', { data: { turn: '1' } });
  const waiting = new Set([...pods].flatMap(([name, uid]) => (Number(name.slice(1)) < sharing ? [uid] : [])));
  await until('all show it', () => {
    for (const uid of waiting) if (shownIn(uid, 'kubernetes.io~configmap/third/turn') === '1') waiting.delete(uid);
    return waiting.size === 0;
  });
  const update = { allShowItMs: round(performance.now() - before.at), cpuMs: round((kubelet.cpuSeconds - before.cpu) * 1000), requestsForIt: asked(isObject) - before.requests };
  console.log(JSON.stringify({ bench: 'volumes', what: 'one config map of 200 pods updated', pods: sharing, watchesOfIt: before.requests, ...update }));

  const stringData = Object.fromEntries(Array.from({ length: secretFiles }, (_, i) => [`key-${i}`, `value ${i}`]));
  await admin.create('secrets', 'default', { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'large', namespace: 'default' }, stringData } as never);
  const from = { at: performance.now(), cpu: kubelet.cpuSeconds };
  await create('large', [{ name: 'large', secret: { secretName: 'large' } }]);
  await until('it runs', async () => ((await admin.get('pods', 'default', 'large')) as Pod | null)?.status?.phase === 'Running');
  const uid = (await admin.get('pods', 'default', 'large'))?.metadata.uid ?? '';
  if (shownIn(uid, `kubernetes.io~secret/large/key-${secretFiles - 1}`) === '') throw new Error('it runs without its files');
  const secret = { files: secretFiles, runningMs: round(performance.now() - from.at), cpuMs: round((kubelet.cpuSeconds - from.cpu) * 1000) };
  const changed = { at: performance.now(), cpu: kubelet.cpuSeconds };
  await admin.patch('secrets', 'default', 'large', { stringData: { 'key-0': 'another' } });
  await until('it follows', () => shownIn(uid, 'kubernetes.io~secret/large/key-0') === 'another', 5);
  console.log(JSON.stringify({ bench: 'volumes', what: 'a secret of 1000 files', ...secret, updateMs: round(performance.now() - changed.at) }));
} finally {
  await kubelet.kill();
  admin.close();
  await server.stop();
  await runtime.stop();
  const { mounts } = openNativeLinux({ kernelLogPath: '/dev/null', service: serviceEnvironmentOf({}) }, false);
  const left = parseMountinfo(readFileSync('/proc/self/mountinfo', 'utf8')).filter(({ mountPoint }) => mountPoint.startsWith(`${directory}/`));
  for (const { mountPoint } of left.reverse()) await mounts.unmount({ target: mountPoint, force: false }, quietCall);
  mkdirSync(directory, { recursive: true });
  rmSync(directory, { recursive: true });
}
