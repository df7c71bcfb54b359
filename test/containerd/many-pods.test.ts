// Fifty pods at once on a real containerd, bad manifests among good ones, and a runtime with another owner.
import { mkdirSync, readdirSync, renameSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { isRunning, KubeletProcess, manifest, nodeName, pausing } from './kubelet-process.js';
import { skipWithoutContainerd } from './private-containerd.js';
import { type TestNode, testNode } from './test-node.js';

// For the whole file; a machine that does other things needs several times what it takes.
t.setTimeout(300_000);
const skip = skipWithoutContainerd();

const many = 50;

async function fifty(t: Test, { apply, containerd, kubelet, runtime }: TestNode): Promise<void> {
  const before = kubelet.cpuSeconds;
  const start = Date.now();
  for (let i = 0; i < many; i++) apply(`pod-${i}`, { containers: [pausing(containerd)] });
  // Checked in the log, at no cost for the kubelet and the runtime.
  await kubelet.until('all of them have started', () => kubelet.logLines().filter(({ reason }) => reason === 'Started').length === many, 120_000);
  const upMs = Date.now() - start;
  await kubelet.until('all of them run', async () => (await kubelet.pods()).filter(isRunning).length === many);
  const running = await runtime.runningContainers();
  t.equal(running.length, many);
  t.equal(new Set(running.map(({ labels }) => labels['io.kubernetes.pod.uid'])).size, many, 'one a pod');
  const upCpu = kubelet.cpuSeconds - before;
  t.comment(`${many} pods run after ${upMs} ms, ${Math.round((upCpu / many) * 1000)} ms of processor time a pod`);
  const removal = Date.now();
  for (let i = 0; i < many; i++) kubelet.withdraw(`pod-${i}.json`);
  const besteffort = join('/sys/fs/cgroup/pids', containerd.cgroupRoot, 'kubepods/besteffort');
  await kubelet.until('their cgroups are gone', () => !readdirSync(besteffort).some((name) => name.startsWith('pod')), 120_000);
  await kubelet.until('all of them are gone', async () => (await kubelet.pods()).length === 0 && runtime.processes().size === 0);
  const downCpu = kubelet.cpuSeconds - before - upCpu;
  t.comment(`gone after ${Date.now() - removal} ms, ${Math.round((downCpu / many) * 1000)} ms of processor time a pod`);
  const killed = kubelet.logLines().filter(({ reason }) => reason === 'Killing').length;
  t.equal(killed, many, 'each was killed once');
}

const podText = (name: string, more = ''): string => `apiVersion: v1
kind: Pod
metadata:
  name: ${name}
spec:
  hostNetwork: true
  containers:
  - name: main
    image: registry.k8s.io/pause:3.10
${more}`;

/** Bad files beside good manifests, written atomically, and the log line of each, which names the file and, if known, the field. */
const bad: readonly (readonly [file: string, make: (path: string) => void, line: RegExp])[] = [
  ['broken.yaml', (path) => writeFileSync(path, 'kind: [Pod\n  x: }'), /broken\.yaml.*couldn't parse as pod/],
  ['tabs.yaml', (path) => writeFileSync(path, podText('tabs').replace('  name', '\tname')), /tabs\.yaml.*(tab|line 4)/i],
  ['twice.yaml', (path) => writeFileSync(path, podText('twice').replace('kind: Pod', 'kind: Pod\nkind: Pod')), /twice\.yaml.*kind/],
  ['documents.yaml', (path) => writeFileSync(path, `${podText('documents')}---\n${podText('second-document')}`), /documents\.yaml.*document/],
  ['binary.yaml', (path) => writeFileSync(path, Buffer.from([0xff, 0xfe, 0, 1, 2, 3, 0x80])), /binary\.yaml/],
  ['huge.yaml', makeHuge, /huge\.yaml.*(size|large|bytes)/i],
  ['directory.yaml', (path) => mkdirSync(path), /directory\.yaml.*directory/i],
  ['loop.yaml', (path) => symlinkSync('loop.yaml', path), /loop\.yaml.*(loop|link|ELOOP)/i],
  ['unknown.yaml', (path) => writeFileSync(path, podText('unknown', '    imagePullPolcy: Never\n')), /unknown\.yaml.*spec\.containers\[0\]\.imagePullPolcy/],
  ['name.yaml', (path) => writeFileSync(path, podText('Not_A_Name')), /name\.yaml.*metadata\.name/],
  [
    'quantity.yaml',
    (path) => writeFileSync(path, podText('quantity', '    resources: {limits: {memory: 12XB}}\n')),
    /quantity\.yaml.*spec\.containers\[0\]\.resources\.limits.*memory/,
  ],
  ['same.yaml', (path) => writeFileSync(path, podText('good-zero')), /"good-zero-node-under-test".*(same|good-0)\.(yaml|json)/],
];

function makeHuge(path: string): void {
  writeFileSync(path, podText('huge'));
  truncateSync(path, 50 * 1024 * 1024);
}

async function badManifests(t: Test, { apply, containerd, kubelet }: TestNode): Promise<void> {
  kubelet.apply('good-0.json', manifest('good-zero', { containers: [pausing(containerd)] }));
  await kubelet.untilRunning('good-zero');
  const staging = join(containerd.directory, 'bad');
  mkdirSync(staging);
  for (const [file, make] of bad) {
    make(join(staging, file));
    renameSync(join(staging, file), join(kubelet.manifests, file));
  }
  apply('good-one', { containers: [pausing(containerd)] });
  await kubelet.untilRunning('good-one');
  for (const [file, , line] of bad) await kubelet.until(`a line about ${file}`, () => kubelet.logLines().some(({ msg }) => line.test(msg)));
  const about = kubelet.logLines().filter(({ msg }) => bad.some(([file]) => msg.includes(`/${file}`)));
  for (const [file] of bad) t.equal(about.filter(({ msg }) => msg.includes(`/${file}`)).length, 1, `one line about ${file}`);
  t.strictSame(
    about.filter(({ msg }) => msg.includes('\n')),
    [],
    'a line is a line',
  );
  // Repeated and unknown fields and further documents are reported, and the pod runs anyway.
  const wanted = ['documents', 'good-one', 'good-zero', 'twice', 'unknown'];
  for (const name of wanted) await kubelet.untilRunning(name);
  const names = (await kubelet.pods()).map(({ metadata }) => metadata.name.replace(`-${nodeName}`, '')).sort();
  t.strictSame(names, wanted, 'nothing came of the others');
}

async function contents(runtime: TestNode['runtime']): Promise<object> {
  const containers = (await runtime.containers()).map(({ id, state }) => `${id} ${state}`).sort();
  const sandboxes = (await runtime.sandboxes()).map(({ id, state }) => `${id} ${state}`).sort();
  return { containers, sandboxes, processes: [...runtime.processes()].sort() };
}

async function foreignPods(t: Test, { containerd, kubelet, runtime }: TestNode): Promise<void> {
  // Before it ends, it may still remove what has ended.
  await kubelet.stop();
  const before = await contents(runtime);
  const stranger = await KubeletProcess.prepare(containerd, 'stranger');
  t.teardown(() => stranger.kill());
  stranger.apply('own.json', manifest('own', { containers: [pausing(containerd)] }));
  stranger.spawn();
  t.equal(await stranger.ended(), 1, 'it refuses to start');
  const refusal = stranger.logLines().at(-1);
  t.match(refusal, { level: 'error', msg: 'command failed' });
  t.match(String(refusal?.err), /is in use: it holds pods that this agent does not know \(.*default\/good-one-node-under-test/);
  const after = await contents(runtime);
  t.strictSame(after, before, 'nothing was touched');
  await kubelet.start();
  t.ok(isRunning(await kubelet.untilRunning('good-one')), 'whose pods they are is let in');
}

const scenarios: readonly (readonly [what: string, scenario: (t: Test, node: TestNode) => Promise<void>])[] = [
  [`${many} pods at once`, fifty],
  ['bad manifests beside good ones', badManifests],
  ['a runtime with pods of others is refused and untouched', foreignPods],
];

t.test('many pods, bad ones, and those of others', { skip, timeout: 300_000 }, async (t) => {
  const node = await testNode(t);
  for (const [what, scenario] of scenarios) await t.test(what, (t) => scenario(t, node));
});
