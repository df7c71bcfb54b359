// Traces of a pod on the node while it runs and afterwards: labels and annotations by which kubelets recognize their containers, logs,
// cgroups, and grace periods of its containers. The spellings are those of the Go kubelet: either of the two must be able to
// take a node over from the other without touching a container.
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { Container } from '../../src/adapters/cri/gen/cri-runtime-v1.js';
import type { Pod } from '../../src/ports/model/pod.js';
import { idOf, type KubeletProcess, nodeName, pausing, scripted } from './kubelet-process.js';
import { skipWithoutContainerd } from './private-containerd.js';
import type { RuntimeView } from './runtime-view.js';
import { type TestNode, testNode } from './test-node.js';

// For the whole file; a machine that does other things needs several times what it takes.
t.setTimeout(240_000);
const skip = skipWithoutContainerd();

interface End {
  /** Seconds from the event of the kill to the container's end. */
  readonly seconds: number;
  readonly exitCode: number;
}

const uidOf = (pod: Pod): string => pod.metadata.uid ?? '';
const podsOf = (all: readonly Container[], pod: Pod): readonly Container[] => all.filter(({ labels }) => labels['io.kubernetes.pod.uid'] === uidOf(pod));

/** How a container ends once its manifest is gone; null when it vanished between two looks. */
async function endOf(kubelet: KubeletProcess, runtime: RuntimeView, name: string, containerId: string): Promise<End | null> {
  let end: { readonly finishedAt: number; readonly exitCode: number } | null = null;
  await kubelet.until(`the container of ${name} has ended`, async () => {
    const status = await runtime.status(containerId);
    if (status !== null && BigInt(status.finishedAt) > 0n) end = { finishedAt: Number(status.finishedAt) / 1e9, exitCode: status.exitCode };
    return status === null || end !== null;
  });
  const found = end as { readonly finishedAt: number; readonly exitCode: number } | null;
  const killing = kubelet.events(name).find(({ reason }) => reason === 'Killing');
  return found === null || killing === undefined ? null : { seconds: found.finishedAt - killing.ts / 1000, exitCode: found.exitCode };
}

/** Directories of a cgroup in all hierarchies that have it. */
function cgroupDirectories(path: string): string[] {
  return readdirSync('/sys/fs/cgroup')
    .map((hierarchy) => join('/sys/fs/cgroup', hierarchy, path))
    .filter((directory) => existsSync(directory));
}

async function labelsAndAnnotations(t: Test, { apply, containerd, kubelet, runtime }: TestNode): Promise<void> {
  const ports = [{ name: 'web', containerPort: 8080, protocol: 'TCP' }];
  const container = scripted(containerd, 'main', 'exec sleep 1000', { ports });
  apply('labelled', { containers: [container], hostNetwork: false, terminationGracePeriodSeconds: 2 }, { labels: { app: 'web' }, annotations: { note: 'mine' } });
  const pod = await kubelet.untilRunning('labelled');
  const podName = `labelled-${nodeName}`;
  const [created, ...more] = podsOf(await runtime.containers(), pod);
  t.same(more, []);
  t.strictSame(created?.labels, {
    'io.kubernetes.container.name': 'main',
    'io.kubernetes.pod.name': podName,
    'io.kubernetes.pod.namespace': 'default',
    'io.kubernetes.pod.uid': uidOf(pod),
  });
  t.strictSame(created?.annotations, {
    // Made with another implementation of the hash, for this name and this image.
    'io.kubernetes.container.hash': '3408b2ef',
    'io.kubernetes.container.ports': '[{"name":"web","containerPort":8080,"protocol":"TCP"}]',
    'io.kubernetes.container.restartCount': '0',
    'io.kubernetes.container.terminationMessagePath': '/dev/termination-log',
    'io.kubernetes.container.terminationMessagePolicy': 'File',
    'io.kubernetes.pod.terminationGracePeriod': '2',
  });
  t.match(created?.metadata, { name: 'main', attempt: 0 });
  const sandbox = (await runtime.sandboxes()).find(({ id }) => id === created?.podSandboxId);
  t.match(sandbox?.metadata, { name: podName, namespace: 'default', uid: uidOf(pod), attempt: 0 });
  t.strictSame(sandbox?.labels, { app: 'web', 'io.kubernetes.pod.name': podName, 'io.kubernetes.pod.namespace': 'default', 'io.kubernetes.pod.uid': uidOf(pod) });
  const { 'kubernetes.io/config.seen': seen = '', ...annotations } = sandbox?.annotations ?? {};
  t.strictSame(annotations, { note: 'mine', 'kubernetes.io/config.hash': uidOf(pod), 'kubernetes.io/config.source': 'file' });
  t.match(seen, /^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)$/);
  t.match(pod.status?.podIP, new RegExp(`^${containerd.podCidr.replace(/0\/24$/, '').replaceAll('.', '\\.')}\\d+$`), 'an address of the pod network');
}

async function logs(t: Test, { apply, containerd, kubelet }: TestNode): Promise<void> {
  apply('talking', { restartPolicy: 'Never', containers: [scripted(containerd, 'main', 'echo to the output; echo to the errors >&2; printf unfinished')] });
  const pod = await kubelet.untilPod('talking', ({ status }) => status?.phase === 'Succeeded', 'has said all');
  const file = join(kubelet.podLogs, `default_talking-${nodeName}_${uidOf(pod)}`, 'main', '0.log');
  await kubelet.until('all is logged', () => readFileSync(file, 'utf8').includes('unfinished'));
  const lines = readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .sort((a, b) => (a.replace(/^\S+/, '') < b.replace(/^\S+/, '') ? -1 : 1));
  const time = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)`;
  t.match(lines[0], new RegExp(`^${time} stderr F to the errors$`));
  t.match(lines[1], new RegExp(`^${time} stdout F to the output$`));
  t.match(lines[2], new RegExp(`^${time} stdout P unfinished$`));
  const link = join(kubelet.root, 'containers-log', `talking-${nodeName}_default_main-${idOf(pod)}.log`);
  t.equal(readlinkSync(link), file);
  kubelet.withdraw('talking.json');
  await kubelet.until('its log and the link to it are gone', () => !existsSync(file) && !existsSync(link));
}

async function cgroups(t: Test, { apply, containerd, kubelet, runtime }: TestNode): Promise<void> {
  const amounts = { cpu: '100m', memory: '64Mi' };
  const classes: readonly (readonly [name: string, parent: string, resources: object])[] = [
    ['best-effort', 'kubepods/besteffort', {}],
    ['burstable', 'kubepods/burstable', { requests: { cpu: '50m' } }],
    ['guaranteed', 'kubepods', { requests: amounts, limits: amounts }],
  ];
  for (const [name, , resources] of classes) apply(name, { containers: [{ ...pausing(containerd), resources }] });
  for (const [name, parent] of classes) {
    const pod = await kubelet.untilRunning(name);
    const path = join(containerd.cgroupRoot, parent, `pod${uidOf(pod)}`);
    const pid = runtime.processes().get(idOf(pod));
    const inside = readFileSync(`/proc/${String(pid)}/cgroup`, 'utf8')
      .trim()
      .split('\n');
    for (const controller of ['cpu', 'memory', 'pids', 'cpuset', 'freezer']) {
      const line = inside.find((one) => one.split(':')[1]?.split(',').includes(controller));
      if (line !== undefined) t.equal(line.split(':')[2], join(path, idOf(pod)), `${name}: ${controller}`);
    }
    t.ok(cgroupDirectories(path).length > 3, `${name}: in every hierarchy`);
    kubelet.withdraw(`${name}.json`);
    await kubelet.untilAbsent(name);
    await kubelet.until(`the cgroup of ${name} is gone`, () => cgroupDirectories(path).length === 0);
    t.ok(cgroupDirectories(join(containerd.cgroupRoot, 'kubepods')).length > 3, 'the pods’ cgroup stays');
  }
}

async function grace(t: Test, { apply, containerd, kubelet, runtime }: TestNode): Promise<void> {
  const polite = scripted(containerd, 'main', 'trap "sleep 1; exit 4" TERM; while :; do sleep 0.1; done');
  const deaf = scripted(containerd, 'main', 'trap "" TERM; while :; do sleep 0.1; done');
  apply('polite', { containers: [polite], terminationGracePeriodSeconds: 30 });
  apply('deaf', { containers: [deaf], terminationGracePeriodSeconds: 3 });
  const ids = [idOf(await kubelet.untilRunning('polite')), idOf(await kubelet.untilRunning('deaf'))] as const;
  // The trap is set when the shell has come so far, which nothing outside can see: it is the first thing it does.
  await kubelet.until('both shells wait', () =>
    ids.every((id) => readFileSync(`/proc/${String(runtime.processes().get(id))}/task/${String(runtime.processes().get(id))}/children`, 'utf8') !== ''),
  );
  const ends = Promise.all([endOf(kubelet, runtime, 'polite', ids[0]), endOf(kubelet, runtime, 'deaf', ids[1])]);
  kubelet.withdraw('polite.json');
  kubelet.withdraw('deaf.json');
  const [politeEnd, deafEnd] = await ends;
  t.equal(politeEnd?.exitCode, 4, 'it ended as it wanted to');
  t.ok((politeEnd?.seconds ?? 99) >= 1 && (politeEnd?.seconds ?? 99) < 15, 'in its own time', { politeEnd });
  t.equal(deafEnd?.exitCode, 137, 'it was killed');
  t.ok((deafEnd?.seconds ?? 0) >= 2.9 && (deafEnd?.seconds ?? 99) < 15, 'when its three seconds were over', { deafEnd });
  await kubelet.untilAbsent('deaf');
}

const scenarios: readonly (readonly [what: string, scenario: (t: Test, node: TestNode) => Promise<void>])[] = [
  ['labels and annotations', labelsAndAnnotations],
  ['logs', logs],
  ['cgroups', cgroups],
  ['containers are given their grace, and no more', grace],
];

t.test('what pods leave on their node', { skip, timeout: 240_000 }, async (t) => {
  const node = await testNode(t);
  for (const [what, scenario] of scenarios) await t.test(what, (t) => scenario(t, node));
});
