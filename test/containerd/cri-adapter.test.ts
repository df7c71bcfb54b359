// The CRI adapter against a real containerd: the contract of all runtimes, the handshake, and messages of containers that ended.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { CriImages, CriRuntimeEvents, CriRuntimeState, runtimeCgroupDriver, validateServices } from '../../src/adapters/cri/index.js';
import type { ContainerConfig } from '../../src/ports/model/container-config.js';
import type { SandboxConfig } from '../../src/ports/model/sandbox-config.js';
import type { RuntimeEvent } from '../../src/ports/outbound/runtime-events.js';
import { call, containerRuntimeContract } from '../ports/container-runtime.contract.js';
import { type CriClient, criClient, untilHolds } from '../ports/cri-harness.js';
import { PrivateContainerd, skipWithoutContainerd } from './private-containerd.js';

const skip = skipWithoutContainerd();

containerRuntimeContract('CRI adapter, containerd', skip, async () => {
  const containerd = await PrivateContainerd.start();
  const { connection, ports } = criClient(containerd.endpoint);
  const close = async () => {
    connection.close();
    await containerd.stop();
  };
  const cgroupParent = join(containerd.cgroupRoot, 'contract');
  return { ports, image: containerd.images.busybox, unreachableImage: 'no.invalid/image:1', cgroupParent, until: untilHolds, close };
});

/** What a container does before it exits with 1, its policy, and the message that its status must have. */
const endings: readonly (readonly [command: string, policy: string, message: RegExp])[] = [
  ['echo -n farewell > /dev/termination-log', 'File', /^farewell$/],
  ['echo from the log', 'File', /^$/],
  ['echo first; echo second >&2', 'FallbackToLogsOnError', /^(first\nsecond|second\nfirst)\n$/],
  ['i=0; while [ $i -lt 100 ]; do echo line $i; i=$((i+1)); done', 'FallbackToLogsOnError', /^line 20\n(line \d+\n){78}line 99\n$/],
];

async function endedMessage({ ports }: CriClient, containerd: PrivateContainerd, attempt: number, command: string, policy: string): Promise<string | undefined> {
  const logDirectory = join(containerd.directory, `logs-${attempt}`);
  const message = join(containerd.directory, `message-${attempt}`);
  mkdirSync(join(logDirectory, 'c'), { recursive: true });
  writeFileSync(message, '');
  const labels = { 'io.kubernetes.pod.uid': `ending-${attempt}`, 'io.kubernetes.container.name': 'c' };
  const metadata = { name: 'p', namespace: 'n', uid: `ending-${attempt}`, attempt: 0 };
  const config: SandboxConfig = { metadata, logDirectory, labels, annotations: {}, linux: { cgroupParent: join(containerd.cgroupRoot, 'endings') } };
  const { sandboxId } = await ports.sandboxes.run({ config, runtimeHandler: '' }, call());
  const container: ContainerConfig = {
    metadata: { name: 'c', attempt: 0 },
    image: { image: containerd.images.busybox },
    command: ['sh', '-c', `${command}; exit 1`],
    labels,
    annotations: { 'io.kubernetes.container.terminationMessagePath': '/dev/termination-log', 'io.kubernetes.container.terminationMessagePolicy': policy },
    mounts: [{ containerPath: '/dev/termination-log', hostPath: message }],
    logPath: 'c/0.log',
  };
  const { containerId } = await ports.containers.create({ sandboxId, config: container, sandboxConfig: config }, call());
  await ports.containers.start({ containerId }, call());
  const status = async () => (await ports.runtime.inspectPod({ uid: metadata.uid }, call()))?.containers[0];
  await untilHolds(async () => (await status())?.state === 'exited');
  const ended = await status();
  await ports.sandboxes.stop({ sandboxId }, call());
  await ports.sandboxes.remove({ sandboxId }, call());
  return ended?.message;
}

t.test('handshake, events and messages', { skip }, async (t) => {
  const containerd = await PrivateContainerd.start();
  const client = criClient(containerd.endpoint);
  const { connection } = client;
  t.teardown(async () => {
    connection.close();
    await containerd.stop();
  });
  const { signal } = new AbortController();
  const state = new CriRuntimeState(connection, () => Date.now() * 1_000);
  const version = await validateServices({ connection, state }, { connection, images: new CriImages(connection) }, signal);
  t.equal(version.runtimeName, 'containerd');
  const isVersion1 = /^v?1\./.test(version.runtimeVersion);
  const driver = await runtimeCgroupDriver(connection, signal, async () => {
    t.fail('no second try');
  });
  t.ok(isVersion1 ? driver === null : driver !== null, 'containerd 1 does not say its cgroup driver');
  const events: RuntimeEvent[] = [];
  const source = new CriRuntimeEvents(connection);
  source.start((event) => events.push(event));
  for (const [i, [command, policy, message]] of endings.entries()) t.match(await endedMessage(client, containerd, i, command, policy), message, `${policy}: ${command}`);
  t.match(events[0], { kind: isVersion1 ? 'unsupported' : 'lost' });
  source.stop();
});
