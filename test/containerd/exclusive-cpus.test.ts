// CPUs that a container has for itself, seen from within: it may run on them alone, everybody else on the rest; after a restart, too.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { PodResourcesListerService } from '../../src/adapters/plugins/gen/podresources-v1.js';
import { callPlugin } from '../../src/adapters/plugins/plugin-calls.js';
import { parseCpuSet } from '../../src/domain/values/cpu-set.js';
import { quietCall } from '../ports/pull-records.contract.js';
import { InsideContainer } from './inside-container.js';
import { pausing, scripted } from './kubelet-process.js';
import { skipWithoutContainerd } from './private-containerd.js';
import { testNode } from './test-node.js';

t.setTimeout(300_000);

const online = parseCpuSet(readFileSync('/sys/devices/system/cpu/online', 'utf8').trim());
const cpus = online.ok ? online.value : [0];
const skip = skipWithoutContainerd() || (cpus.length < 2 ? 'needs two CPUs' : false);

/** What the kernel lets a process run on. */
const allowed = ({ pid }: InsideContainer) => /^Cpus_allowed_list:\s+(.*)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];

t.test('exclusive CPUs', { skip }, async (t) => {
  const settings = { cpuManagerPolicy: 'static', reservedSystemCPUs: String(cpus[0]), cpuManagerReconcilePeriod: '1s' };
  const node = await testNode(t, true, () => settings);
  const { apply, containerd, kubelet } = node;
  const own = { resources: { requests: { cpu: '1', memory: '32Mi' }, limits: { cpu: '1', memory: '32Mi' } } };
  const state = () => JSON.parse(readFileSync(join(kubelet.root, 'cpu_manager_state'), 'utf8')) as { defaultCpuSet: string; entries?: Record<string, Record<string, string>> };
  const rest = cpus.filter((cpu) => cpu !== cpus[1]).join();

  apply('shared', { containers: [pausing(containerd, 'main')] });
  const shared = await kubelet.untilRunning('shared');
  t.equal(allowed(InsideContainer.of(node, shared)), readFileSync('/sys/devices/system/cpu/online', 'utf8').trim(), 'all there are');

  apply('own', { containers: [scripted(containerd, 'main', 'grep Cpus_allowed_list /proc/self/status > /dev/termination-log; exec sleep 1000', own)] });
  const pod = await kubelet.untilRunning('own');
  const inside = InsideContainer.of(node, pod);
  t.equal(allowed(inside), String(cpus[1]), 'one CPU, seen from its process');
  t.match(inside.file('/dev/termination-log'), new RegExp(`Cpus_allowed_list:\\s+${cpus[1]}$`, 'm'), 'and by what it reads itself');
  t.equal(state().entries?.[pod.metadata.uid ?? '']?.main, String(cpus[1]));
  const socket = join(kubelet.root, 'pod-resources', 'kubelet.sock');
  const asked = { method: PodResourcesListerService.list, socket, request: {}, timeoutMillis: 60_000, operation: 'test.list' };
  const { podResources } = await callPlugin(asked, quietCall);
  const told = podResources.map(({ name, containers }) => [name, containers.map(({ name, cpuIds }) => [name, cpuIds.join()])]);
  t.strictSame(new Map(told as [string, unknown][]).get(pod.metadata.name), [['main', String(cpus[1])]], 'monitoring agents are told');
  const sharedInside = InsideContainer.of(node, shared);
  await kubelet.until('the other one keeps to the rest', () => parseSet(allowed(sharedInside)) === rest);

  apply('second', { containers: [scripted(containerd, 'main', 'exec sleep 1000', own)] });
  if (cpus.length === 2) {
    const refused = await kubelet.untilPod('second', ({ status }) => status?.phase === 'Failed', 'is refused');
    t.match(refused.status, {
      reason: 'UnexpectedAdmissionError',
      message: /Allocate failed due to not enough cpus available to satisfy request: requested=1, available=0, which is unexpected/,
    });
  }
  kubelet.withdraw('second.json');

  await kubelet.kill();
  await kubelet.start();
  await kubelet.untilRunning('own');
  t.equal(allowed(inside), String(cpus[1]), 'a fresh agent leaves it its CPU');
  kubelet.withdraw('own.json');
  await kubelet.until('the other one has all again', () => parseSet(allowed(sharedInside)) === cpus.join() && state().entries === undefined);
});

t.test('a state file of another policy is refused, and says what to do', { skip }, async (t) => {
  const node = await testNode(t, false, () => ({ cpuManagerPolicy: 'static', reservedSystemCPUs: String(cpus[0]) }));
  const file = join(node.kubelet.root, 'cpu_manager_state');
  writeFileSync(file, '{"policyName":"none","defaultCpuSet":"","checksum":1353318690}');
  await t.rejects(node.kubelet.start(), {
    message: /configured policy \\?"static\\?" differs from state checkpoint policy \\?"none\\?", please drain this node and delete the CPU manager checkpoint file/,
  });
});

function parseSet(text: string | undefined): string {
  const parsed = parseCpuSet(text ?? '');
  return parsed.ok ? parsed.value.join() : '';
}
