// What every container runtime behind the ports has to do: run on the simulated runtime, on the CRI adapter with the mock server, and on
// the CRI adapter with a real containerd. Each row makes its own pod and leaves nothing behind.

import t from 'tap';
import { microsBetween } from '../../src/domain/values/instant.js';
import type { ContainerConfig } from '../../src/ports/model/container-config.js';
import type { PodRuntimeStatus, RuntimeContainerStatus } from '../../src/ports/model/runtime-status.js';
import type { SandboxConfig } from '../../src/ports/model/sandbox-config.js';
import type { Call } from '../../src/ports/operation.js';
import { PortError, type PortErrorKind } from '../../src/ports/port-error.js';
import { type Behaviour, behaviours } from './container-behaviours.js';
import type { RuntimeHarness, RuntimePortsUnderTest } from './runtime-harness.js';

export type { RuntimeHarness, RuntimePortsUnderTest } from './runtime-harness.js';

let pods = 0;

/** The runtime, and the ways in which the rows use it. */
class Runtime {
  constructor(private readonly harness: RuntimeHarness) {}

  get ports(): RuntimePortsUnderTest {
    return this.harness.ports;
  }

  sandboxConfig(behaviour: Behaviour['name'] = 'runs', uid = `00000000-0000-4000-8000-${String(++pods).padStart(12, '0')}`, attempt = 0): SandboxConfig {
    const labels = { 'io.kubernetes.pod.name': 'p', 'io.kubernetes.pod.namespace': 'contract', 'io.kubernetes.pod.uid': uid, app: 'x' };
    const { cgroupParent } = this.harness;
    return {
      metadata: { name: 'p', namespace: 'contract', uid, attempt },
      hostname: 'p',
      labels,
      annotations: { 'sim.kubelet-ts/c': behaviours[behaviour].script },
      linux: { ...(cgroupParent !== '' && { cgroupParent }), securityContext: { namespaceOptions: { network: 'POD', pid: 'CONTAINER', ipc: 'POD' } } },
    };
  }

  containerConfig(sandbox: SandboxConfig, behaviour: Behaviour['name'], attempt = 0): ContainerConfig {
    const { app: _app, ...labels } = sandbox.labels;
    return {
      metadata: { name: 'c', attempt },
      image: { image: this.harness.image },
      command: behaviours[behaviour].command,
      labels: { ...labels, 'io.kubernetes.container.name': 'c' },
      annotations: { 'io.kubernetes.container.hash': '8e45cbd0', 'io.kubernetes.container.restartCount': String(attempt) },
      logPath: '',
      linux: { resources: { cpuShares: 256, cpuPeriod: 100_000, cpuQuota: 50_000, memoryLimitInBytes: 64 * 1024 * 1024 } },
    };
  }

  /** A pod with one container, created and started. */
  async startPod(behaviour: Behaviour['name']): Promise<{ readonly uid: string; readonly sandboxId: string; readonly containerId: string }> {
    const config = this.sandboxConfig(behaviour);
    const { sandboxId } = await this.ports.sandboxes.run({ config, runtimeHandler: '' }, call());
    const { containerId } = await this.ports.containers.create({ sandboxId, config: this.containerConfig(config, behaviour), sandboxConfig: config }, call());
    await this.ports.containers.start({ containerId }, call());
    return { uid: config.metadata.uid, sandboxId, containerId };
  }

  async inspect(uid: string): Promise<PodRuntimeStatus> {
    const status = await this.ports.runtime.inspectPod({ uid }, call());
    if (status === null) throw new Error(`the runtime has nothing of pod ${uid}`);
    return status;
  }

  async only(uid: string): Promise<RuntimeContainerStatus> {
    const [container] = (await this.inspect(uid)).containers;
    if (container === undefined) throw new Error(`the runtime has no container of pod ${uid}`);
    return container;
  }

  until(holds: () => Promise<boolean>): Promise<void> {
    return this.harness.until(holds);
  }

  async remove(sandboxId: string): Promise<void> {
    await this.ports.sandboxes.stop({ sandboxId }, call());
    await this.ports.sandboxes.remove({ sandboxId }, call());
  }
}

export function call(signal: AbortSignal = new AbortController().signal): Call {
  return { signal, timeoutMicros: null };
}

/** The failure of an operation; a success is an error of the test. */
async function failure(answer: Promise<unknown>): Promise<PortError> {
  const result = await answer.then(
    () => null,
    (error: unknown) => error,
  );
  if (result instanceof PortError) return result;
  throw new Error(`no PortError but ${String(result)}`);
}

const absentId = 'f'.repeat(64);

type Row = readonly [what: string, run: (t: Tap, runtime: Runtime, harness: RuntimeHarness) => Promise<void>];
type Tap = typeof t;

const lookingRows: readonly Row[] = [
  [
    'it says who it is and that it is ready',
    async (t, { ports }) => {
      const version = await ports.runtime.version(null, call());
      t.ok(version.runtimeName !== '' && version.runtimeVersion !== '' && version.runtimeApiVersion !== '');
      const health = await ports.runtime.status(null, call());
      t.equal(health.runtimeReady?.status, true);
      t.equal(health.networkReady?.status, true);
    },
  ],
  [
    'images: what is there has an id and a size, what is not is null',
    async (t, { ports }, { image }) => {
      const status = await ports.images.status({ image: { image } }, call());
      t.match(status?.id, /^sha256:[0-9a-f]{64}$/);
      t.ok((status?.sizeBytes ?? 0) > 0);
      t.equal(await ports.images.status({ image: { image: 'nowhere.invalid/absent:1' } }, call()), null);
      t.ok((await ports.images.list(null, call())).some(({ id }) => id === status?.id));
      const [filesystem] = await ports.images.fsInfo(null, call());
      t.match(filesystem, { mountpoint: /^\//, usedBytes: Number });
      t.equal(await ports.images.remove({ image: { image: 'nowhere.invalid/absent:1' } }, call()), null);
    },
  ],
  [
    'a pull from a registry that does not answer fails and names the image',
    async (t, { ports }, { unreachableImage }) => {
      const error = await failure(ports.images.pull({ image: { image: unreachableImage }, credentials: null, sandboxConfig: null }, call()));
      t.equal(error.operation, 'images.pull');
      t.match(error.message, new RegExp(`^failed to pull and unpack image "${unreachableImage}": failed to resolve reference "${unreachableImage}"`));
    },
  ],
  [
    'a cancelled call rejects as cancelled and changes nothing',
    async (t, runtime) => {
      const config = runtime.sandboxConfig();
      const { kind } = await failure(runtime.ports.sandboxes.run({ config, runtimeHandler: '' }, call(AbortSignal.abort())));
      t.equal(kind, 'cancelled' satisfies PortErrorKind);
      t.equal(await runtime.ports.runtime.inspectPod({ uid: config.metadata.uid }, call()), null);
    },
  ],
];

const sandboxRows: readonly Row[] = [
  [
    'a sandbox that runs is listed as ready and has an address',
    async (t, runtime) => {
      const config = runtime.sandboxConfig();
      const { uid } = config.metadata;
      const { sandboxId } = await runtime.ports.sandboxes.run({ config, runtimeHandler: '' }, call());
      const { pods, foreign, observedAt } = await runtime.ports.runtime.listPods({ uid: null }, call());
      t.equal(foreign, 0);
      t.match(
        pods.find((pod) => pod.uid === uid),
        { name: 'p', namespace: 'contract', sandboxes: [{ id: sandboxId, state: 'ready', attempt: 0 }], containers: [] },
      );
      const status = await runtime.inspect(uid);
      t.match(status, { uid, name: 'p', namespace: 'contract', sandboxes: [{ id: sandboxId, attempt: 0, state: 'ready', networkMode: 'pod', hasNetwork: true }] });
      t.match(status.ips, [/^\d+\.\d+\.\d+\.\d+$/]);
      t.equal(status.sandboxes[0]?.ip, status.ips[0]);
      t.ok(status.observedAt >= observedAt);
      await runtime.remove(sandboxId);
      t.equal(await runtime.ports.runtime.inspectPod({ uid }, call()), null);
    },
  ],
  [
    'the name of a sandbox is reserved until it is removed',
    async (t, runtime) => {
      const config = runtime.sandboxConfig();
      const { sandboxId } = await runtime.ports.sandboxes.run({ config, runtimeHandler: '' }, call());
      const error = await failure(runtime.ports.sandboxes.run({ config, runtimeHandler: '' }, call()));
      t.ok(['already-exists', 'unknown'].includes(error.kind), error.kind);
      t.match(error.message, /is reserved for/);
      await runtime.ports.sandboxes.stop({ sandboxId }, call());
      const next = runtime.sandboxConfig('runs', config.metadata.uid, 1);
      const second = await runtime.ports.sandboxes.run({ config: next, runtimeHandler: '' }, call());
      const status = await runtime.inspect(config.metadata.uid);
      t.strictSame(
        status.sandboxes.map(({ id, state, attempt }) => [id, state, attempt]),
        [
          [second.sandboxId, 'ready', 1],
          [sandboxId, 'notReady', 0],
        ],
      );
      await runtime.remove(second.sandboxId);
      await runtime.remove(sandboxId);
    },
  ],
  [
    "what carries no pod labels is somebody else's: counted, never listed",
    async (t, runtime) => {
      const { foreign } = await runtime.ports.runtime.listPods({ uid: null }, call());
      const config = { ...runtime.sandboxConfig(), labels: { app: 'x' } };
      const { sandboxId } = await runtime.ports.sandboxes.run({ config, runtimeHandler: '' }, call());
      const listing = await runtime.ports.runtime.listPods({ uid: null }, call());
      t.equal(listing.foreign, foreign + 1);
      t.notOk(find(listing.pods, config.metadata.uid));
      t.equal(await runtime.ports.runtime.inspectPod({ uid: config.metadata.uid }, call()), null);
      const made = { ...runtime.containerConfig(config, 'runs'), labels: {} };
      await runtime.ports.containers.create({ sandboxId, config: made, sandboxConfig: config }, call());
      const { foreignImages } = await runtime.ports.runtime.listPods({ uid: null }, call());
      const known = await runtime.ports.images.status({ image: made.image }, call());
      const names = [known?.id ?? '', ...(known?.repoTags ?? []), ...(known?.repoDigests ?? [])];
      t.ok(
        foreignImages.some((image) => names.includes(image)),
        `the image of its container is named: ${foreignImages.join()}`,
      );
      await runtime.remove(sandboxId);
      const after = await runtime.ports.runtime.listPods({ uid: null }, call());
      t.equal(after.foreign, foreign);
      t.strictSame(after.foreignImages, []);
    },
  ],
  [
    'an unknown runtime handler is refused',
    async (t, runtime) => {
      const error = await failure(runtime.ports.sandboxes.run({ config: runtime.sandboxConfig(), runtimeHandler: 'nothing-of-this-name' }, call()));
      t.match(error.message, /no runtime for "nothing-of-this-name" is configured/);
    },
  ],
  [
    'stopping a sandbox ends its containers, removing it takes them along',
    async (t, runtime) => {
      const { uid, sandboxId } = await runtime.startPod('runs');
      await runtime.ports.sandboxes.stop({ sandboxId }, call());
      await runtime.until(async () => (await runtime.only(uid)).state === 'exited');
      const status = await runtime.inspect(uid);
      t.match(status, { ips: [], sandboxes: [{ state: 'notReady' }], containers: [{ exitCode: 137 }] });
      await runtime.ports.sandboxes.stop({ sandboxId }, call());
      await runtime.ports.sandboxes.remove({ sandboxId }, call());
      t.strictSame((await runtime.ports.runtime.listPods({ uid }, call())).pods, []);
    },
  ],
  [
    'stop and remove of what is absent succeed, other operations say not-found',
    async (t, runtime) => {
      const { ports } = runtime;
      t.equal(await ports.sandboxes.stop({ sandboxId: absentId }, call()), null);
      t.equal(await ports.sandboxes.remove({ sandboxId: absentId }, call()), null);
      t.equal(await ports.containers.stop({ containerId: absentId, gracePeriodSeconds: 2 }, call()), null);
      t.equal(await ports.containers.remove({ containerId: absentId }, call()), null);
      t.equal((await failure(ports.containers.start({ containerId: absentId }, call()))).kind, 'not-found');
      t.equal((await failure(ports.containers.updateResources({ containerId: absentId, resources: {} }, call()))).kind, 'not-found');
      const config = runtime.sandboxConfig();
      const orphan = ports.containers.create({ sandboxId: absentId, config: runtime.containerConfig(config, 'runs'), sandboxConfig: config }, call());
      t.equal((await failure(orphan)).kind, 'not-found');
    },
  ],
];

const containerRows: readonly Row[] = [
  [
    'a command in a container: its exit code, its time limit, and no container to run it in',
    async (t, runtime) => {
      const { execSync } = runtime.ports.containers;
      const exec = execSync.bind(runtime.ports.containers);
      const failing = await runtime.startPod('commands-fail');
      t.match(await exec({ containerId: failing.containerId, command: ['sh', '-c', 'exit 3'], timeoutSeconds: 0 }, call()), { exitCode: 3, stdout: '' });
      await runtime.remove(failing.sandboxId);
      const lasting = await runtime.startPod('commands-last');
      const late = await failure(exec({ containerId: lasting.containerId, command: ['sleep', '30'], timeoutSeconds: 1 }, call()));
      t.match(late, { kind: 'deadline-exceeded' satisfies PortErrorKind, operation: 'containers.execSync' });
      await runtime.remove(lasting.sandboxId);
      t.equal((await failure(exec({ containerId: absentId, command: ['true'], timeoutSeconds: 1 }, call()))).kind, 'not-found');
      const fine = await runtime.startPod('runs');
      t.match(await exec({ containerId: fine.containerId, command: ['true'], timeoutSeconds: 10 }, call()), { exitCode: 0, stdout: '', stderr: '' });
      await runtime.remove(fine.sandboxId);
    },
  ],
  [
    'a container is created, then runs, and its status says what it was asked for',
    async (t, runtime) => {
      const config = runtime.sandboxConfig();
      const { sandboxId } = await runtime.ports.sandboxes.run({ config, runtimeHandler: '' }, call());
      const request = { sandboxId, config: runtime.containerConfig(config, 'runs', 4), sandboxConfig: config };
      const { containerId } = await runtime.ports.containers.create(request, call());
      const { uid } = config.metadata;
      t.match(await runtime.only(uid), { id: containerId, sandboxId, name: 'c', state: 'created', startedAt: null, finishedAt: null });
      const again = await failure(runtime.ports.containers.create(request, call()));
      t.match(again.message, /is reserved for/);
      await runtime.ports.containers.start({ containerId }, call());
      const running = await runtime.only(uid);
      t.match(running, { state: 'running', finishedAt: null, exitCode: 0, reason: '', message: '', restartCount: 4, hash: '8e45cbd0' });
      t.ok((running.startedAt ?? 0) >= running.createdAt);
      t.match(running.imageRef, /sha256:[0-9a-f]{64}$/);
      if (running.resources !== null) t.strictSame(running.resources, { cpuRequest: '250m', cpuLimit: '500m', memoryRequest: null, memoryLimit: '64Mi' });
      const twice = await failure(runtime.ports.containers.start({ containerId }, call()));
      t.match(twice.message, /RUNNING state/);
      await runtime.remove(sandboxId);
    },
  ],
  [
    'a container that ends by itself has its exit code and times',
    async (t, runtime) => {
      const { uid, sandboxId, containerId } = await runtime.startPod('fails');
      await runtime.until(async () => (await runtime.only(uid)).state === 'exited');
      const exited = await runtime.only(uid);
      t.match(exited, { exitCode: 3, reason: 'Error' });
      t.ok([exited.startedAt, exited.finishedAt].every((at) => at !== null && at >= exited.createdAt));
      t.equal(await runtime.ports.containers.stop({ containerId, gracePeriodSeconds: 30 }, call()), null, 'stopping it does nothing');
      await runtime.ports.containers.remove({ containerId }, call());
      t.strictSame((await runtime.inspect(uid)).containers, []);
      await runtime.remove(sandboxId);
    },
  ],
  [
    'stop asks first: the container ends in its own way, and is down when stop answers',
    async (t, runtime) => {
      const { uid, sandboxId, containerId } = await runtime.startPod('runs');
      await runtime.ports.containers.stop({ containerId, gracePeriodSeconds: 30 }, call());
      t.match(await runtime.only(uid), { state: 'exited', exitCode: 143 });
      await runtime.remove(sandboxId);
    },
  ],
  [
    'stop kills what ignores it once the grace period is over',
    async (t, runtime) => {
      const { uid, sandboxId, containerId } = await runtime.startPod('ignores-term');
      await runtime.ports.containers.stop({ containerId, gracePeriodSeconds: 1 }, call());
      const killed = await runtime.only(uid);
      t.match(killed, { state: 'exited', exitCode: 137 });
      t.ok(killed.finishedAt !== null && killed.startedAt !== null && microsBetween(killed.startedAt, killed.finishedAt) >= 900_000, 'not before the grace period was over');
      await runtime.remove(sandboxId);
    },
  ],
  [
    'removing a running container kills it',
    async (t, runtime) => {
      const { uid, sandboxId, containerId } = await runtime.startPod('runs');
      await runtime.ports.containers.remove({ containerId }, call());
      t.strictSame((await runtime.inspect(uid)).containers, []);
      await runtime.remove(sandboxId);
    },
  ],
  [
    'resources of a container that runs can be changed',
    async (t, runtime) => {
      const { sandboxId, containerId } = await runtime.startPod('runs');
      for (const cpusetCpus of ['0', '0']) t.equal(await runtime.ports.containers.updateResources({ containerId, resources: { cpusetCpus } }, call()), null);
      await runtime.remove(sandboxId);
    },
  ],
  [
    'the log of a container that runs is opened again, that of another is not',
    async (t, runtime) => {
      const { containers } = runtime.ports;
      const running = await runtime.startPod('runs');
      t.equal(await containers.reopenLog({ containerId: running.containerId }, call()), null);
      await containers.stop({ containerId: running.containerId, gracePeriodSeconds: 30 }, call());
      t.match(await failure(containers.reopenLog({ containerId: running.containerId }, call())), { operation: 'containers.reopenLog', message: /container is not running/ });
      t.equal((await failure(containers.reopenLog({ containerId: absentId }, call()))).kind, 'not-found');
      await runtime.remove(running.sandboxId);
    },
  ],
  [
    'the list keeps what did not change, and sees what did',
    async (t, runtime) => {
      const quiet = await runtime.startPod('runs');
      const busy = await runtime.startPod('runs');
      const list = () => runtime.ports.runtime.listPods({ uid: null }, call());
      const first = await list();
      t.equal((await list()).pods, first.pods, 'the same array while nothing changed');
      t.strictSame(
        first.pods.map(({ uid }) => uid),
        [quiet.uid, busy.uid].sort(),
      );
      await runtime.ports.containers.stop({ containerId: busy.containerId, gracePeriodSeconds: 30 }, call());
      const second = await list();
      t.not(second.pods, first.pods);
      t.equal(find(second.pods, quiet.uid), find(first.pods, quiet.uid), 'the pod that did not change is the same object');
      t.match(find(second.pods, busy.uid), { containers: [{ id: busy.containerId, name: 'c', state: 'exited', sandboxId: busy.sandboxId }] });
      t.match((await runtime.ports.runtime.listPods({ uid: quiet.uid }, call())).pods, [{ uid: quiet.uid, containers: [{ state: 'running' }] }]);
      await runtime.remove(quiet.sandboxId);
      await runtime.remove(busy.sandboxId);
      t.strictSame((await list()).pods, []);
    },
  ],
];

function find<Pod extends { readonly uid: string }>(pods: readonly Pod[], uid: string): Pod | undefined {
  return pods.find((pod) => pod.uid === uid);
}

/** Runs the suite on one runtime. `open` starts it; it has no pods, and no pods of others. */
export function containerRuntimeContract(name: string, skip: string | false, open: () => Promise<RuntimeHarness>): void {
  void t.test(name, { skip }, async (t) => {
    const harness = await open();
    try {
      for (const [what, run] of [...lookingRows, ...sandboxRows, ...containerRows]) await t.test(what, (t) => run(t as unknown as Tap, new Runtime(harness), harness));
    } finally {
      await harness.close();
    }
  });
}
