// Limits of pods, classes and the node on a real containerd and the kernel's cgroups: the files' values, the containers' own view of them, the
// state after a kill of the agent, and a node whose own cgroups differ from its settings. On cgroup v1, in a tree of the test's own.
import { readFileSync, writeFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { CgroupfsPodCgroups, readCgroupLayout } from '../../src/adapters/linux/index.js';
import type { Pod } from '../../src/ports/model/pod.js';
import { quietCall } from '../ports/pod-files.contract.js';
import { type LogLine, scripted, statusOf } from './kubelet-process.js';
import { skipWithoutContainerd } from './private-containerd.js';
import { type TestNode, testNode } from './test-node.js';

t.setTimeout(300_000);
const layout = readCgroupLayout('/proc/self/mountinfo');
const skip = skipWithoutContainerd() || (layout.version === 1 ? false : 'the files are those of cgroup v1');

const mebibyte = 1024 * 1024;
const forever = 'trap "exit 0" TERM; while :; do sleep 0.1; done';
const settings = { kubeReserved: { cpu: '200m', memory: '100Mi', pid: '1000' }, systemReserved: { memory: '50Mi' }, podPidsLimit: 40 };

function fileOf(controller: string, name: readonly string[], file: string): string {
  const tree = layout.hierarchies.find(({ controllers }) => controllers.includes(controller));
  return join(tree?.mountPoint ?? '', ...name, file);
}

function kernelText(name: readonly string[], file: string): string {
  return readFileSync(fileOf(file.slice(0, file.indexOf('.')), name, file), 'utf8').trim();
}

function eventsOf({ kubelet }: TestNode, reason: string): LogLine[] {
  return kubelet.logLines().filter((line) => line.msg === 'Event occurred' && line.reason === reason);
}

const podsOf = ({ containerd }: TestNode): string[] => [...containerd.cgroupRoot.split('/').filter((element) => element !== ''), 'kubepods'];
const cgroupOf = (node: TestNode, pod: Pod, ...below: string[]): string[] => [...podsOf(node), ...below, `pod${pod.metadata.uid ?? ''}`];

async function valuesOfPods(t: Test, node: TestNode): Promise<Pod> {
  const { kubelet, containerd, apply } = node;
  const resources = (cpu: string, memory: string) => ({ resources: { requests: { cpu: '50m' }, limits: { cpu, memory } } });
  apply('limited', { containers: [scripted(containerd, 'main', forever, resources('200m', '64Mi')), scripted(containerd, 'other', forever, resources('100m', '32Mi'))] });
  const unlimited = { resources: { requests: { cpu: '100m' } } };
  apply('open', { containers: [scripted(containerd, 'main', forever, resources('200m', '64Mi')), scripted(containerd, 'other', forever, unlimited)] });
  apply('plain', { containers: [scripted(containerd, 'main', `i=0; while [ $i -lt 60 ]; do sleep 1000 & i=$((i+1)); done; ${forever}`)] });
  apply('equal', { containers: [scripted(containerd, 'main', forever, { resources: { limits: { cpu: '100m', memory: '64Mi' } } })] });
  const [limited, open, , equal] = [await kubelet.untilRunning('limited'), await kubelet.untilRunning('open'), null, await kubelet.untilRunning('equal')];
  const shown = (name: readonly string[]) => ['cpu.shares', 'cpu.cfs_quota_us', 'memory.limit_in_bytes', 'pids.max'].map((file) => kernelText(name, file));
  t.strictSame(shown(cgroupOf(node, limited, 'burstable')), ['102', '30000', String(96 * mebibyte), '40'], 'what all its containers have together');
  const free = shown(cgroupOf(node, open, 'burstable'));
  t.strictSame([free[0], free[1], free[3]], ['153', '-1', '40'], 'no limit where a container has none');
  t.ok(Number(free[2]) > totalmem(), 'nor of memory');
  t.strictSame(shown(cgroupOf(node, equal)), ['102', '10000', String(64 * mebibyte), '40']);
  await kubelet.until('the class follows its pods', () => kernelText([...podsOf(node), 'burstable'], 'cpu.shares') === '256');
  t.equal(kernelText([...podsOf(node), 'besteffort'], 'cpu.shares'), '2');
  const exitOf = (pod: Pod) => (statusOf(pod, 'main').state?.terminated ?? statusOf(pod, 'main').lastState?.terminated)?.exitCode;
  const plain = await kubelet.untilPod('plain', (pod) => exitOf(pod) !== undefined, 'has ended for lack of processes');
  t.equal(exitOf(plain), 2, 'the shell can’t fork');
  return limited;
}

/** Two containers that each have room enough, and have not together. */
async function nestedLimit(t: Test, { kubelet, containerd, apply }: TestNode): Promise<void> {
  const eats = `dd if=/dev/zero of=/dev/null bs=22M count=1000000000`;
  apply('nested', { resources: { limits: { memory: '36Mi' } }, containers: [scripted(containerd, 'main', eats), scripted(containerd, 'other', eats)] });
  const isKilled = (pod: Pod): boolean =>
    ['main', 'other'].some((name) => [statusOf(pod, name).state, statusOf(pod, name).lastState].some((state) => state?.terminated?.reason === 'OOMKilled'));
  const pod = await kubelet.untilPod('nested', isKilled, 'is over its limit');
  t.ok(isKilled(pod), 'one of them was killed');
  kubelet.withdraw('nested.json');
  await kubelet.untilAbsent('nested');
}

t.test('pods, classes and all pods are held to their limits', { skip }, async (t) => {
  const node = await testNode(t, true, () => settings);
  const { kubelet } = node;
  await kubelet.until('the limits of all pods are told', () => eventsOf(node, 'NodeAllocatableEnforced').length > 0);
  t.match(eventsOf(node, 'NodeAllocatableEnforced')[0], { type: 'Normal', message: 'Updated Node Allocatable limit across pods' });
  const memory = Number(/^MemTotal:\s+(\d+) kB/m.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1]) * 1024;
  const page = 4096;
  t.equal(Number(kernelText(podsOf(node), 'memory.limit_in_bytes')), Math.floor((memory - 150 * mebibyte) / page) * page, 'what is reserved is kept from all pods together');
  const limited = await valuesOfPods(t, node);
  await nestedLimit(t, node);

  await kubelet.kill();
  const own = cgroupOf(node, limited, 'burstable');
  writeFileSync(fileOf('cpu', own, 'cpu.shares'), '1024');
  writeFileSync(fileOf('cpu', podsOf(node), 'cpu.shares'), '1024');
  writeFileSync(fileOf('cpu', [...podsOf(node), 'burstable'], 'cpu.shares'), '1024');
  await kubelet.start();
  await kubelet.until('an agent that was killed before it set a cgroup sets it', () => kernelText(own, 'cpu.shares') === '102');
  await kubelet.until('... and those above', () => kernelText(podsOf(node), 'cpu.shares') !== '1024' && kernelText([...podsOf(node), 'burstable'], 'cpu.shares') === '256');
  kubelet.withdraw('open.json');
  await kubelet.until('a pod that goes counts no more', () => kernelText([...podsOf(node), 'burstable'], 'cpu.shares') === '102');
});

t.test('the node’s own cgroups', { skip }, async (t) => {
  const node = await testNode(t, false);
  const { kubelet, containerd } = node;
  const path = `${containerd.cgroupRoot}/own`;
  const name = path.split('/').filter((element) => element !== '');
  const enforce = { ...settings, enforceNodeAllocatable: ['pods', 'kube-reserved'], kubeReservedCgroup: path };
  kubelet.configure(enforce);
  kubelet.spawn();
  await kubelet.until('it refuses', () => kubelet.log.includes('failed to start ContainerManager'));
  t.equal((await kubelet.ended()) === 0, false);
  const told = new RegExp(`^Failed to enforce Kube Reserved Cgroup Limits on "${path}": cgroup \\[.*\\] has some missing paths: `);
  t.match(eventsOf(node, 'FailedNodeAllocatableEnforcement')[0]?.message ?? '', told);
  const cgroups = new CgroupfsPodCgroups({ podsCgroup: name.slice(0, -1), files: () => [] });
  await cgroups.ensure({ name, values: null, rewrite: false }, quietCall);
  t.teardown(() => cgroups.destroy({ name }, quietCall));
  await kubelet.start();
  t.strictSame([kernelText(name, 'cpu.shares'), kernelText(name, 'memory.limit_in_bytes'), kernelText(name, 'pids.max')], ['204', String(100 * mebibyte), '1000']);
  await kubelet.until('it says so', () => eventsOf(node, 'NodeAllocatableEnforced').some(({ message }) => message === `Updated limits on kube reserved cgroup ${path}`));
  await kubelet.stop();
  kubelet.configure({ ...enforce, enforceNodeAllocatable: ['kube-reserved-compressible'], kubeReserved: { cpu: '300m', memory: '90Mi' } });
  await kubelet.start();
  t.strictSame([kernelText(name, 'cpu.shares'), kernelText(name, 'memory.limit_in_bytes')], ['307', String(100 * mebibyte)], 'of what can be taken back alone');
});
