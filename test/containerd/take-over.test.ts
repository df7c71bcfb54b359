// A Go kubelet's pods on a real containerd, made over the plain CRI as it makes them, and then this agent on the same manifests: no container
// is stopped, started or made.
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { SandboxConfig } from '../../src/ports/model/sandbox-config.js';
import { type GoPod, goContainerMetadata, goSandboxMetadata } from '../go-kubelet-fixture.js';
import { call, type RuntimePortsUnderTest } from '../ports/container-runtime.contract.js';
import { criClient } from '../ports/cri-harness.js';
import { idOf, isRunning, nodeName, pausing, scripted, statusOf } from './kubelet-process.js';
import { skipWithoutContainerd } from './private-containerd.js';
import { type TestNode, testNode } from './test-node.js';

t.setTimeout(240_000);

/** Containers with their commands; without one it is the pause image. */
type Left = Readonly<Record<string, readonly string[]>>;

async function leavePod({ containerd, kubelet }: TestNode, ports: RuntimePortsUnderTest, pod: GoPod, containers: Left): Promise<void> {
  const { uid } = pod;
  const directory = `${pod.namespace}_${pod.name}_${uid}`;
  for (const container of Object.keys(containers)) mkdirSync(join(kubelet.podLogs, directory, container), { recursive: true });
  for (const part of ['volumes', 'plugins']) mkdirSync(join(kubelet.root, 'pods', uid, part), { recursive: true, mode: 0o750 });
  const config: SandboxConfig = {
    metadata: { ...pod, attempt: 0 },
    logDirectory: join(kubelet.podLogs, directory),
    ...goSandboxMetadata(pod),
    linux: { cgroupParent: `${containerd.cgroupRoot}/kubepods/besteffort/pod${uid}`, securityContext: { namespaceOptions: { network: 'NODE', pid: 'CONTAINER', ipc: 'POD' } } },
  };
  const { sandboxId } = await ports.sandboxes.run({ config, runtimeHandler: '' }, call());
  for (const [container, command] of Object.entries(containers)) {
    const image = command.length === 0 ? containerd.images.pause : containerd.images.busybox;
    const made = await ports.containers.create(
      {
        sandboxId,
        sandboxConfig: config,
        config: {
          metadata: { name: container, attempt: 2 },
          image: { image },
          ...(command.length === 0 ? {} : { command }),
          logPath: `${container}/2.log`,
          ...goContainerMetadata(pod, { name: container, image, restartCount: 2, gracePeriodSeconds: 1 }),
          linux: { resources: { oomScoreAdj: 1000 }, securityContext: { namespaceOptions: { network: 'NODE', pid: 'CONTAINER', ipc: 'POD' } } },
        },
      },
      call(),
    );
    await ports.containers.start({ containerId: made.containerId }, call());
  }
}

t.test('pods of another kubelet go on running', { skip: skipWithoutContainerd() }, async (t) => {
  const node = await testNode(t, false);
  const { containerd, kubelet, runtime } = node;
  const { connection, ports } = criClient(containerd.endpoint);
  t.teardown(() => connection.close());

  const leave = (name: string, uid: string, containers: Left) => leavePod(node, ports, { name: `${name}-${nodeName}`, namespace: 'default', uid }, containers);
  const script = 'while :; do echo alive; sleep 1; done';
  await leave('generated', '6287591835d55682e8af25e213704261', { main: [], side: ['sh', '-c', script] });
  await leave('fixed', '6f1d0a52-3c5e-4b6e-8a57-000000000001', { main: [] });
  const startTimes = async () =>
    Object.fromEntries(
      await Promise.all(
        (await runtime.containers()).map(async ({ id }) => {
          const status = await runtime.status(id);
          return [id, `${status?.state} since ${status?.startedAt}`] as const;
        }),
      ),
    );
  const before = await startTimes();

  node.apply('generated', { containers: [pausing(containerd, 'main'), scripted(containerd, 'side', script)] });
  node.apply('fixed', { containers: [pausing(containerd, 'main')] }, { uid: '6f1d0a52-3c5e-4b6e-8a57-000000000001' });
  await kubelet.start();
  const generated = await kubelet.untilRunning('generated');
  const fixed = await kubelet.untilRunning('fixed');
  t.equal(generated.metadata.uid, '6287591835d55682e8af25e213704261');
  for (const status of [statusOf(generated, 'main'), statusOf(generated, 'side'), statusOf(fixed, 'main')]) t.match(status, { restartCount: 2, ready: true });
  await kubelet.stop();
  await kubelet.start();
  await kubelet.untilPod('generated', isRunning);
  await kubelet.until('it has synced both', () => kubelet.logLines().some(({ msg, reason }) => msg === 'Event occurred' && reason === 'Starting'));
  t.strictSame(await startTimes(), before, 'the same containers, running since the same moment, and no other');
  for (const name of ['generated', 'fixed'])
    t.strictSame(
      kubelet.events(name).filter(({ reason }) => reason !== 'Pulled'),
      [],
      'nothing was done to it',
    );
  const log = join(kubelet.podLogs, `default_generated-${nodeName}_6287591835d55682e8af25e213704261`, 'side', '2.log');
  const written = readFileSync(log, 'utf8').length;
  await kubelet.until('its log goes on', () => readFileSync(log, 'utf8').length > written);
  t.ok(idOf(fixed) !== '');
});
