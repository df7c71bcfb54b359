// The cost of volumes for a node of a cluster: the bundled daemon with a mock runtime, a mock apiserver and volumes on the real file system (root).
// One JSON line for 250 pods with three volumes each, at rest; one for the update of a config map that 200 of them share: the time until all have
// it, and the API requests; one for a secret of 1000 files. Beside them 250 pods without volumes, and a loop that writes the same
// files without a volume manager. `npm run bench -- volumes`; nothing without root.
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { openNativeLinux, parseMountinfo, serviceEnvironmentOf } from '../src/adapters/native-linux/index.js';
import type { Pod } from '../src/ports/model/pod.js';
import { quietCall } from '../test/ports/pod-volumes.contract.js';
import { calibrateHere, type Machine } from './calibration.js';
import { isReady, MockNode } from './stage/mock-node.js';
import { memoryMiB, round } from './stage/process-cost.js';

const podCount = 250;
const sharing = 200;
const secretFiles = 1000;
const idleMs = 30_000;

/** Interrupted it still takes down what it mounted. */
let interrupted = false;
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => (interrupted = true));

function until(node: MockNode, what: string, holds: () => boolean, everyMs = 20): Promise<void> {
  const unlessInterrupted = (): boolean => {
    if (interrupted) throw new Error('interrupted');
    return holds();
  };
  return node.until(what, unlessInterrupted, everyMs);
}

function create(node: MockNode, name: string, volumes: Pod['spec']['volumes']): void {
  const volumeMounts = (volumes ?? []).map((volume) => ({ name: volume.name, mountPath: `/${volume.name}` }));
  node.create([name], { containers: [{ name: 'main', image: 'app:1', volumeMounts }], volumes });
}

function shownIn(node: MockNode, uid: string, path: string): string {
  try {
    return readFileSync(join(node.kubelet.root, 'pods', uid, 'volumes', path), 'utf8');
  } catch {
    return '';
  }
}

interface Rest {
  readonly startedMs: number;
  readonly cpuMsPerPod: number;
  readonly idlePercentOfACore: number;
  readonly memoryMiB: number;
  readonly peakMiB: number;
  readonly requests: object;
}

/** From the first pod that is created until all are ready, and at rest afterwards. */
async function rest(node: MockNode, createAll: () => void): Promise<Rest> {
  const start = node.begin();
  createAll();
  await until(node, 'all are ready', () => node.pods().filter(isReady).length === podCount, 100);
  const started = start();
  await node.untilQuiet();
  const end = node.begin();
  await delay(idleMs);
  const { seconds, cpuMs, requests } = end();
  const { pid } = node.kubelet;
  const memory = { memoryMiB: round(memoryMiB(pid, 'VmRSS')), peakMiB: round(memoryMiB(pid, 'VmHWM')) };
  return { startedMs: round(started.seconds * 1000), cpuMsPerPod: round(started.cpuMs / podCount), idlePercentOfACore: round(cpuMs / 10 / seconds), ...memory, requests };
}

function show(what: string, machine: Machine, figures: object): void {
  console.log(JSON.stringify({ bench: 'volumes', what, ...figures, calibrationMs: machine.calibrationMs }));
}

const configMap = (turn: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'shared', namespace: 'default' }, data: { turn, other: 'x'.repeat(1000) } });

async function atRest(machine: Machine, node: MockNode): Promise<void> {
  const items = [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }];
  const start = node.begin();
  const figures = await rest(node, () => {
    node.ask('create', 'configmaps', null, configMap('0'));
    for (let i = 0; i < podCount; i++) {
      const third = i < sharing ? { configMap: { name: 'shared' } } : { emptyDir: { medium: 'Memory' } };
      create(node, `p${i}`, [
        { name: 'work', emptyDir: {} },
        { name: 'info', downwardAPI: { items } },
        { name: 'third', ...third },
      ]);
    }
  });
  const asked = Object.fromEntries(Object.entries(start().requests).filter(([kind]) => kind.endsWith('configmaps')));
  const without = await withMockNode('volumes', (other) =>
    rest(other, () => {
      for (let i = 0; i < podCount; i++) create(other, `p${i}`, []);
    }),
  );
  const ratio = {
    cpuOfStart: round(figures.cpuMsPerPod / without.cpuMsPerPod),
    idleCpu: round(figures.idlePercentOfACore / without.idlePercentOfACore),
    memory: round(figures.memoryMiB / without.memoryMiB),
  };
  const shown = { ...figures, scaled: { cpuMsPerPod: round(figures.cpuMsPerPod / machine.slowness), idlePercentOfACore: round(figures.idlePercentOfACore / machine.slowness) } };
  show('at rest', machine, { pods: podCount, volumes: 3 * podCount, ...shown, requestsForOneConfigMapOf200: asked, withoutVolumes: without, ratio });
}

async function oneConfigMap(machine: Machine, node: MockNode): Promise<void> {
  const uids = new Set(node.pods().flatMap(({ metadata }) => (Number(metadata.name.slice(1)) < sharing ? [metadata.uid ?? ''] : [])));
  const end = node.begin();
  node.ask('patch', 'configmaps', 'shared', { data: { turn: '1' } });
  await until(
    node,
    'all show it',
    () => {
      for (const uid of uids) if (shownIn(node, uid, 'kubernetes.io~configmap/third/turn') === '1') uids.delete(uid);
      return uids.size === 0;
    },
    5,
  );
  const { seconds, cpuMs, requests } = end();
  const plainMs = plainWrites(node, sharing, { turn: '1', other: 'x'.repeat(1000) });
  const figures = { pods: sharing, allShowItMs: round(seconds * 1000), scaled: round((seconds * 1000) / machine.slowness), cpuMs: round(cpuMs), requests };
  show('one config map of 200 pods updated', machine, { ...figures, plainLoopMs: round(plainMs), ratio: round((seconds * 1000) / plainMs) });
}

async function largeSecret(machine: Machine, node: MockNode): Promise<void> {
  const data = Object.fromEntries(Array.from({ length: secretFiles }, (_, i) => [`key-${i}`, `value ${i}`]));
  node.ask('create', 'secrets', null, { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'large', namespace: 'default' }, stringData: data });
  const ofIt = (): Pod | undefined => node.pods().find(({ metadata }) => metadata.name === 'large');
  const end = node.begin();
  create(node, 'large', [{ name: 'large', secret: { secretName: 'large' } }]);
  await until(node, 'it is ready', () => isReady(ofIt() ?? ({} as Pod)), 10);
  const { seconds, cpuMs } = end();
  const uid = ofIt()?.metadata.uid ?? '';
  const at = (key: number): string => shownIn(node, uid, `kubernetes.io~secret/large/key-${key}`);
  if (at(secretFiles - 1) === '') throw new Error('it runs without its files');
  const endUpdate = node.begin();
  node.ask('patch', 'secrets', 'large', { stringData: { 'key-0': 'another' } });
  await until(node, 'it follows', () => at(0) === 'another', 5);
  const update = endUpdate();
  const plainMs = plainWrites(node, 1, data);
  const figures = { files: secretFiles, readyMs: round(seconds * 1000), cpuMs: round(cpuMs), updateMs: round(update.seconds * 1000), updateCpuMs: round(update.cpuMs) };
  show('a secret of 1000 files', machine, { ...figures, plainLoopMs: round(plainMs), ratioOfUpdate: round((update.seconds * 1000) / plainMs) });
}

/** Milliseconds for the same files written by a loop, each set once and behind links as kubelets have them. */
function plainWrites(node: MockNode, sets: number, data: Readonly<Record<string, string>>): number {
  const start = performance.now();
  for (let i = 0; i < sets; i++) {
    const directory = join(node.directory, 'plain', String(i), '..data');
    mkdirSync(directory, { recursive: true });
    for (const [name, text] of Object.entries(data)) {
      writeFileSync(join(directory, name), text);
      symlinkSync(join('..data', name), join(directory, '..', name));
    }
  }
  const took = performance.now() - start;
  rmSync(join(node.directory, 'plain'), { recursive: true });
  return took;
}

async function withMockNode<T>(name: string, work: (node: MockNode) => Promise<T>): Promise<T> {
  const node = await MockNode.start(name);
  try {
    return await work(node);
  } finally {
    await node.kubelet.kill();
    const { mounts } = openNativeLinux({ kernelLogPath: '/dev/null', service: serviceEnvironmentOf({}) }, false);
    const left = parseMountinfo(readFileSync('/proc/self/mountinfo', 'utf8')).filter(({ mountPoint }) => mountPoint.startsWith(`${node.directory}/`));
    for (const { mountPoint } of left.reverse()) await mounts.unmount({ target: mountPoint, force: false }, quietCall);
    await node.stop();
  }
}

if (process.getuid?.() === 0) {
  const machine = await calibrateHere();
  await withMockNode('volumes', async (node) => {
    await atRest(machine, node);
    await oneConfigMap(machine, node);
    await largeSecret(machine, node);
  });
}
