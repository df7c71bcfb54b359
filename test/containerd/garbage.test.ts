// A kubelet's cleanup on a real containerd: unused images, dead containers and sandboxes beyond their limits, logs and
// directories of unknown pods. Images in use, and those of sandboxes, stay.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import t, { type Test } from 'tap';
import { ContainerState } from '../../src/adapters/cri/gen/cri-runtime-v1.js';
import type { Pod } from '../../src/ports/model/pod.js';
import { InsideContainer } from './inside-container.js';
import { freePort, idOf, nodeName, scripted, statusOf } from './kubelet-process.js';
import { skipWithoutContainerd } from './private-containerd.js';
import { type TestNode, testNode } from './test-node.js';

t.setTimeout(400_000);
const skip = skipWithoutContainerd();
/** Containers are collected once a minute. */
const collectedMs = 150_000;
const unusedImage = 'registry.example/unused:1';
const waiting = 'trap "exit 0" TERM; while :; do sleep 0.05; done';

const imagesOf = ({ containerd }: TestNode): string[] =>
  containerd
    .ctr('images', 'list', '--quiet')
    .split('\n')
    .filter((name) => /^[^@]+\/[^@]+:[^@]+$/.test(name))
    .sort();

/** An image with an id of its own: a second name for one that is in use would stay with it. */
function addImage({ containerd }: TestNode, name: string): void {
  const layout = mkdtempSync(join(containerd.directory, 'unused-'));
  rmSync(layout, { recursive: true });
  const archive = `${layout}.tar`;
  const run = (program: string, ...words: string[]): void => void execFileSync(program, words, { stdio: 'ignore' });
  run('umoci', 'init', '--layout', layout);
  run('umoci', 'new', '--image', `${layout}:made`);
  writeFileSync(`${layout}.txt`, 'nothing reads this');
  run('umoci', 'insert', '--image', `${layout}:made`, `${layout}.txt`, '/file');
  run('skopeo', '--insecure-policy', 'copy', `oci:${layout}:made`, `docker-archive:${archive}:${name}`);
  containerd.ctr('images', 'import', archive);
}

/** Settings with which the kubelet shows its metrics. */
async function metricsServer() {
  const authentication = { anonymous: { enabled: true }, webhook: { enabled: false } };
  return { enableServer: true, port: await freePort(), address: '127.0.0.1', readOnlyPort: await freePort(), authentication };
}

async function removalsCounted(readOnlyPort: number): Promise<string[]> {
  const text = await (await fetch(`http://127.0.0.1:${readOnlyPort}/metrics`)).text();
  return text.split('\n').filter((line) => line.startsWith('kubelet_image_garbage_collected_total{'));
}

async function images(t: Test, node: TestNode): Promise<void> {
  const { kubelet, containerd } = node;
  const { busybox, pause } = containerd.images;
  const pod = await kubelet.untilRunning('user');
  addImage(node, unusedImage);
  t.strictSame(imagesOf(node), [busybox, pause, unusedImage].sort());
  await kubelet.stop();

  const { readOnlyPort, ...served } = await metricsServer();
  // More than a hundredth of every disk is in use, and an age below a microsecond is none.
  const policy = { imageGCHighThresholdPercent: 1, imageGCLowThresholdPercent: 0, imageMinimumGCAge: '1ns' };
  kubelet.configure({ ...policy, ...served, readOnlyPort });
  await kubelet.start();
  await kubelet.untilRunning('user');
  const metric = () => removalsCounted(readOnlyPort);
  t.strictSame(await metric(), []);
  t.strictSame(imagesOf(node), [busybox, pause, unusedImage].sort(), 'a kubelet beside that of the node removes no images');
  await kubelet.stop();

  const own = join(containerd.directory, 'own.yaml');
  writeFileSync(own, 'images: own\n');
  kubelet.environment.KUBELET_TS_CONFIG = own;
  await kubelet.start();
  await kubelet.until('the unused image is gone', () => !imagesOf(node).includes(unusedImage));
  await kubelet.until('its removal is counted', async () => (await metric()).length > 0);
  t.strictSame(await metric(), ['kubelet_image_garbage_collected_total{reason="space"} 1']);
  t.strictSame(imagesOf(node), [busybox, pause].sort(), 'what is in use stays, and so does what sandboxes are made of');
  t.equal(idOf(await kubelet.untilRunning('user')), idOf(pod), 'nothing of it touched the container');
  node.apply('late', { containers: [scripted(containerd, 'main', waiting)] });
  await kubelet.untilRunning('late');
}

/** After `images`: the kubelet owns the runtime's images. */
async function oldImages(t: Test, node: TestNode): Promise<void> {
  const { kubelet, containerd } = node;
  const { busybox, pause } = containerd.images;
  const pod = await kubelet.untilRunning('user');
  await kubelet.stop();
  addImage(node, unusedImage);
  const { readOnlyPort, ...served } = await metricsServer();
  // Nothing is ever removed for its space, and an image is old before the first look.
  kubelet.configure({ imageGCHighThresholdPercent: 100, imageGCLowThresholdPercent: 80, imageMinimumGCAge: '1ns', imageMaximumGCAge: '1ms', ...served, readOnlyPort });
  await kubelet.start();
  await kubelet.until('the old image is gone', () => !imagesOf(node).includes(unusedImage));
  await kubelet.until('its removal is counted', async () => (await removalsCounted(readOnlyPort)).length > 0);
  t.strictSame(await removalsCounted(readOnlyPort), ['kubelet_image_garbage_collected_total{reason="age"} 1']);
  t.strictSame(imagesOf(node), [busybox, pause].sort(), 'what is in use stays, however old it is');
  t.equal(idOf(await kubelet.untilRunning('user')), idOf(pod), 'nothing of it touched the container');
}

async function deadContainers(t: Test, { kubelet, runtime }: TestNode): Promise<void> {
  const pod = await kubelet.untilPod('crashing', (pod) => statusOf(pod, 'main').restartCount >= 3, 'has crashed three times');
  const uid = pod.metadata.uid ?? '';
  const ofPod = async () => (await runtime.containers()).filter(({ labels }) => labels['io.kubernetes.pod.uid'] === uid);
  const dead = async () => (await ofPod()).filter(({ state }) => state === ContainerState.CONTAINER_EXITED);
  const directory = join(kubelet.podLogs, `default_crashing-${nodeName}_${uid}`, 'main');
  const links = join(kubelet.root, 'containers-log');
  await kubelet.until('one dead container is left, with its log', async () => (await dead()).length === 1 && readdirSync(directory).length <= 2, collectedMs);
  const attempts = (await ofPod()).map(({ metadata }) => metadata?.attempt ?? 0);
  t.ok(Math.min(...attempts) >= 2, `the newest stay: ${attempts.join(', ')}`);
  t.ok(Math.max(...attempts) - Math.min(...attempts) <= 1);
  t.strictSame(
    readdirSync(directory).filter((name) => !attempts.includes(Number.parseInt(name, 10))),
    [],
    'no logs of others',
  );
  const targets = readdirSync(links)
    .map((name) => readlinkSync(join(links, name)))
    .filter((target) => target.includes(uid));
  for (const target of targets) t.ok(existsSync(target), `${target} is there`);
}

async function deadSandbox(t: Test, node: TestNode): Promise<void> {
  const { kubelet, runtime } = node;
  const before = await kubelet.untilRunning('reborn');
  const ofPod = async () => (await runtime.sandboxes()).filter(({ metadata }) => metadata?.uid === before.metadata.uid);
  const [old] = await ofPod();
  process.kill(InsideContainer.byId(runtime.processes(), old?.id ?? '').pid, 'SIGKILL');
  const another = (pod: Pod) => kubelet.untilPod('reborn', (now) => statusOf(now, 'main').state?.running != null && idOf(now) !== idOf(pod), 'runs again');
  const again = await another(before);
  // A dead container keeps its sandbox, and the newest one stays: with another dead one the first goes, and its sandbox after it.
  t.equal((await ofPod()).length, 2);
  process.kill(InsideContainer.of(node, again).pid, 'SIGKILL');
  await another(again);
  await kubelet.until('the dead sandbox is gone', async () => (await ofPod()).every(({ id }) => id !== old?.id), collectedMs);
  t.equal((await ofPod()).length, 1, 'the other one stays');
  await kubelet.untilRunning('reborn');
}

/** What a kubelet that was here before has left. */
function leave({ kubelet }: TestNode): string[] {
  const uid = 'd0e5f6a7-0000-4000-8000-000000000001';
  const directory = join(kubelet.root, 'pods', uid);
  mkdirSync(join(directory, 'volumes', 'kubernetes.io~empty-dir', 'cache'), { recursive: true });
  mkdirSync(join(directory, 'containers', 'main'), { recursive: true });
  writeFileSync(join(directory, 'etc-hosts'), '127.0.0.1 localhost\n');
  const logs = join(kubelet.podLogs, `default_forgotten_${uid}`);
  mkdirSync(join(logs, 'main'), { recursive: true });
  writeFileSync(join(logs, 'main', '0.log'), 'x\n');
  const links = join(kubelet.root, 'containers-log');
  mkdirSync(links, { recursive: true });
  const dangling = join(links, 'forgotten_default_main-0123456789abcdef.log');
  symlinkSync(join(logs, 'main', '0.log'), dangling);
  return [directory, logs, dangling];
}

t.test('what is left behind and not needed goes', { skip, timeout: 400_000 }, async (t) => {
  const node = await testNode(t, false);
  const { apply, containerd, kubelet } = node;
  kubelet.flags.push('--maximum-dead-containers-per-container=1', '--minimum-container-ttl-duration=0s');
  kubelet.configure({ crashLoopBackOff: { maxContainerRestartPeriod: '1s' } });
  const left = leave(node);
  await kubelet.start();
  apply('user', { containers: [scripted(containerd, 'main', waiting)] });
  apply('crashing', { containers: [scripted(containerd, 'main', 'echo once; exit 1')] });
  apply('reborn', { hostNetwork: false, dnsPolicy: 'Default', containers: [scripted(containerd, 'main', waiting)] });
  await t.test('dead containers beyond their number, with their logs', (t) => deadContainers(t, node));
  await t.test('a sandbox that died', (t) => deadSandbox(t, node));
  await t.test('directories, logs and links of a pod that nobody knows', async (t) => {
    const isThere = (path: string): boolean => readdirSync(dirname(path)).includes(basename(path));
    const remaining = (): string[] => left.filter(isThere);
    await kubelet
      .until(
        'they are gone',
        () => remaining().length === 0,
        collectedMs,
        () => remaining().join(' '),
      )
      .catch(() => {});
    t.strictSame(remaining(), []);
  });
  await t.test('images', (t) => images(t, node));
  await t.test('images that were not used for long', (t) => oldImages(t, node));
});
