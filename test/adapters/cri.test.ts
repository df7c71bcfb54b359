// The CRI adapter against the mock server over a real socket: the contract of all runtimes, and CRI specifics.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Server, ServerCredentials, status } from '@grpc/grpc-js';
import t from 'tap';
import {
  CriConnection,
  CriRuntimeEvents,
  CriRuntimeState,
  containerConfigFromCri,
  containerConfigToCri,
  criProtocol,
  runtimeCgroupDriver,
  sandboxConfigFromCri,
  sandboxConfigToCri,
  socketPathOf,
  validateServices,
} from '../../src/adapters/cri/index.js';
import { type MockCriOptions, startMockCri } from '../../src/adapters/mock-cri/index.js';
import type { CriCallObservation } from '../../src/ports/outbound/metrics/kubelet-metrics.js';
import type { RuntimeEvent } from '../../src/ports/outbound/runtime-events.js';
import { PortError } from '../../src/ports/port-error.js';
import { call, containerRuntimeContract } from '../ports/container-runtime.contract.js';
import { criClient, portsOf, untilHolds } from '../ports/cri-harness.js';
import { fullContainer as container, fullSandbox as sandbox } from './full-configurations.js';

const busybox = { reference: 'docker.io/library/busybox:1', sizeBytes: 4_000_000, present: true };
const quick = { look: 0, runSandbox: 0, createContainer: 0, startContainer: 0, stop: 0, remove: 0, pull: 0 };
const directory = mkdtempSync(join(tmpdir(), 'kubelet-ts-cri-'));
let sockets = 0;

t.teardown(() => rmSync(directory, { recursive: true }));

function mockOptions(options: Partial<MockCriOptions> = {}): MockCriOptions {
  return { listen: join(directory, `${++sockets}.sock`), seed: 1, images: [busybox], latencies: quick, ...options };
}

containerRuntimeContract('CRI adapter, mock server', false, async () => {
  const server = await startMockCri(mockOptions());
  const { connection, ports } = criClient(server.endpoint);
  const close = async () => {
    connection.close();
    await server.stop();
  };
  return { ports, image: busybox.reference, unreachableImage: 'no.invalid/image:1', cgroupParent: '', until: untilHolds, close };
});

const endpoints: readonly (readonly [string, string | RegExp])[] = [
  ['unix:///run/a.sock', '/run/a.sock'],
  ['unix:/run/a.sock', '/run/a.sock'],
  ['/run/a.sock', '/run/a.sock'],
  ['tcp://127.0.0.1:1', /^only support unix socket endpoint$/],
  ['http://x', /^protocol "http" not supported$/],
  ['', /^endpoint is not set$/],
  ['unix://', /^endpoint is not set$/],
];

t.test('endpoints', async (t) => {
  for (const [endpoint, want] of endpoints) {
    if (typeof want === 'string') t.equal(socketPathOf(endpoint), want, endpoint);
    else t.throws(() => socketPathOf(endpoint), { message: want }, endpoint);
  }
});

t.test('configurations survive the way over the wire', async (t) => {
  const { PodSandboxConfig, ContainerConfig } = criProtocol;
  t.strictSame(sandboxConfigFromCri(PodSandboxConfig.decode(PodSandboxConfig.encode(sandboxConfigToCri(sandbox)).finish())), sandbox);
  t.strictSame(containerConfigFromCri(ContainerConfig.decode(ContainerConfig.encode(containerConfigToCri(container)).finish())), container);
  t.equal(containerConfigToCri(container).linux?.securityContext?.apparmorProfile, 'unconfined');
  const secret = { ...container, envs: [{ key: 'RAW', value: Uint8Array.of(0xff, 0x00, 0x41) }] };
  t.strictSame(containerConfigFromCri(ContainerConfig.decode(ContainerConfig.encode(containerConfigToCri(secret)).finish())), secret, 'a value that is no text keeps its bytes');
});

/** A runtime with the given methods; all others are UNIMPLEMENTED. */
async function withRuntime(
  methods: Partial<criProtocol.RuntimeServiceServer> & Partial<criProtocol.ImageServiceServer>,
  run: (client: ReturnType<typeof criClient>) => Promise<void>,
  timeoutMicros?: number,
): Promise<void> {
  const path = join(directory, `${++sockets}.sock`);
  const server = new Server();
  server.addService(criProtocol.RuntimeServiceService, methods as criProtocol.RuntimeServiceServer);
  server.addService(criProtocol.ImageServiceService, methods as criProtocol.ImageServiceServer);
  await new Promise<void>((resolve, reject) => server.bindAsync(`unix:${path}`, ServerCredentials.createInsecure(), (error) => (error === null ? resolve() : reject(error))));
  const client = criClient(path, timeoutMicros);
  try {
    await run(client);
  } finally {
    client.connection.close();
    server.forceShutdown();
  }
}

async function failure(answer: Promise<unknown>): Promise<PortError> {
  const error = await answer.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (error instanceof PortError) return error;
  throw new Error(`no PortError but ${String(error)}`);
}

const image = { image: { image: 'x' } };

t.test('answers that leave out what must be there', async (t) => {
  const methods: Parameters<typeof withRuntime>[0] = {
    version: (_call, answer) => answer(null, { version: '0.1.0', runtimeName: '', runtimeVersion: '', runtimeApiVersion: 'v1' }),
    status: (_call, answer) =>
      answer(null, { status: { conditions: [{ type: 'RuntimeReady', status: true, reason: '', message: '' }] }, info: {}, runtimeHandlers: [], features: undefined }),
    runPodSandbox: (_call, answer) => answer(null, { podSandboxId: '' }),
    createContainer: (_call, answer) => answer(null, { containerId: '' }),
    listPodSandbox: (_call, answer) => answer(null, { items: [] }),
    listContainers: (_call, answer) => answer(null, { containers: [{ ...emptyContainer, id: 'a', labels: { 'io.kubernetes.pod.uid': 'u' } }] }),
    containerStatus: (_call, answer) => answer(null, { status: undefined, info: {} }),
    imageStatus: (_call, answer) => answer(null, { image: { ...emptyImage, id: 'sha256:1' }, info: {} }),
    pullImage: (_call, answer) => answer(null, { imageRef: '' }),
  };
  await withRuntime(methods, async ({ ports: { runtime, sandboxes, containers, images } }) => {
    const messages: readonly (readonly [() => Promise<unknown>, RegExp])[] = [
      [() => runtime.version(null, call()), /^not all fields are set in VersionResponse \(missing RuntimeName, RuntimeVersion\)$/],
      [() => runtime.status(null, call()), /^RuntimeReady or NetworkReady condition are not set$/],
      [() => sandboxes.run({ config: sandbox, runtimeHandler: '' }, call()), /^PodSandboxId is not set for sandbox /],
      [() => containers.create({ sandboxId: 's', config: container, sandboxConfig: sandbox }, call()), /^ContainerId is not set for container /],
      [() => runtime.inspectPod({ uid: 'u' }, call()), /^container status is nil$/],
      [() => images.status(image, call()), /^Id or size of image "x" is not set$/],
      [() => images.pull({ ...image, credentials: null, sandboxConfig: null }, call()), /^imageRef of image "x" is not set$/],
    ];
    for (const [answer, message] of messages) t.match((await failure(answer())).toFailure(), { kind: 'internal', message });
  });
});

const emptyContainer: criProtocol.Container = criProtocol.Container.fromPartial({});
const emptyImage: criProtocol.Image = criProtocol.Image.fromPartial({});

t.test('another version of the interface is refused', async (t) => {
  await withRuntime(
    { version: (_call, answer) => answer(null, { version: '0.2.0', runtimeName: 'r', runtimeVersion: '1', runtimeApiVersion: 'v1' }) },
    async ({ connection, ports }) => {
      const state = new CriRuntimeState(connection, () => 0);
      t.match((await failure(state.version(null, call()))).message, /^runtime api version is not supported$/);
      const image = { connection, images: ports.images as never };
      const error = await failure(validateServices({ connection, state }, image, new AbortController().signal));
      t.match(error.message, /^validate service connection: validate CRI v1 runtime API for endpoint ".*\.sock": runtime api version is not supported$/);
    },
  );
});

t.test('status codes become kinds, and messages what the runtime said', async (t) => {
  let code: status = status.OK;
  const refuse = (_call: unknown, answer: (error: Partial<{ code: status; details: string }>) => void) => answer({ code, details: 'what it said' });
  await withRuntime({ startContainer: refuse, pullImage: refuse, stopContainer: refuse } as never, async ({ ports: { containers, images } }) => {
    const kinds = ['cancelled', 'unknown', 'invalid-argument', 'deadline-exceeded', 'not-found', 'already-exists', 'permission-denied', 'resource-exhausted'];
    kinds.push('failed-precondition', 'aborted', 'out-of-range', 'unimplemented', 'internal', 'unavailable', 'data-loss', 'unauthenticated');
    for (const [i, kind] of kinds.entries()) {
      code = i + 1;
      const error = await failure(containers.start({ containerId: 'a' }, call()));
      t.match(error.toFailure(), { kind, operation: 'containers.start', subject: 'a', message: code === status.DEADLINE_EXCEEDED ? 'context deadline exceeded' : 'what it said' });
    }
    const pull = () => failure(images.pull({ ...image, credentials: null, sandboxConfig: null }, call()));
    code = status.UNKNOWN;
    t.equal((await pull()).message, 'what it said');
    code = status.NOT_FOUND;
    t.equal((await pull()).message, 'rpc error: code = NotFound desc = what it said');
    t.equal(await containers.stop({ containerId: 'a', gracePeriodSeconds: 2 }, call()), null);
  });
});

t.test('texts of errors: what people read in events is what the reference prints', async (t) => {
  let code: status = status.OK;
  const refuse = (_call: unknown, answer: (error: Partial<{ code: status; details: string }>) => void) => answer({ code, details: 'no' });
  const names = [
    'runPodSandbox',
    'stopPodSandbox',
    'updatePodSandboxResources',
    'createContainer',
    'startContainer',
    'stopContainer',
    'updateContainerResources',
    'execSync',
    'pullImage',
  ];
  await withRuntime(Object.fromEntries(names.map((name) => [name, refuse])) as never, async ({ ports: { sandboxes, containers, images } }) => {
    const calls: readonly (readonly [string, (about: ReturnType<typeof call>) => Promise<unknown>, unknown: string, internal: string])[] = [
      ['a sandbox', (about) => sandboxes.run({ config: sandbox, runtimeHandler: '' }, about), 'rpc error: code = Unknown desc = no', 'rpc error: code = Internal desc = no'],
      ['its end', (about) => sandboxes.stop({ sandboxId: 'a' }, about), 'rpc error: code = Unknown desc = no', 'rpc error: code = Internal desc = no'],
      ['a start', (about) => containers.start({ containerId: 'a' }, about), 'no', 'no'],
      ['a stop', (about) => containers.stop({ containerId: 'a', gracePeriodSeconds: 2 }, about), 'rpc error: code = Unknown desc = no', 'rpc error: code = Internal desc = no'],
      [
        'a command',
        (about) => containers.execSync({ containerId: 'a', command: ['x'], timeoutSeconds: 1 }, about),
        'rpc error: code = Unknown desc = no',
        'rpc error: code = Internal desc = no',
      ],
      ['a pull', (about) => images.pull({ ...image, credentials: null, sandboxConfig: null }, about), 'no', 'rpc error: code = Internal desc = no'],
    ];
    for (const [what, ask, unknown, internal] of calls) {
      code = status.UNKNOWN;
      t.equal((await failure(ask(call()))).message, unknown, `${what}: unknown`);
      code = status.INTERNAL;
      t.equal((await failure(ask(call()))).message, internal, `${what}: internal`);
    }
  });
});

t.test('deadlines: of the client, of the caller, and none; the authority is localhost', async (t) => {
  const deadlines = new Map<string, number | null>();
  const hosts = new Set<string>();
  const note = (name: string) => (rpc: { getDeadline(): Date | number; getHost(): string }, answer: (error: Partial<{ code: status; details: string }>) => void) => {
    hosts.add(rpc.getHost());
    const deadline = rpc.getDeadline();
    deadlines.set(name, deadline === Number.POSITIVE_INFINITY ? null : Math.round((Number(deadline) - Date.now()) / 1_000));
    answer({ code: status.UNKNOWN, details: '' });
  };
  const methods = { runPodSandbox: note('run'), stopContainer: note('stop'), startContainer: note('start'), pullImage: note('pull'), imageStatus: note('image') };
  await withRuntime(
    methods as never,
    async ({ ports: { sandboxes, containers, images } }) => {
      await failure(sandboxes.run({ config: sandbox, runtimeHandler: '' }, call()));
      await failure(containers.stop({ containerId: 'a', gracePeriodSeconds: 30 }, call()));
      await failure(containers.start({ containerId: 'a' }, call()));
      await failure(images.status(image, { ...call(), timeoutMicros: 5_000_000 }));
      await failure(images.pull({ ...image, credentials: null, sandboxConfig: null }, call()));
    },
    100_000_000,
  );
  t.strictSame([...hosts], ['localhost']);
  t.strictSame(Object.fromEntries(deadlines), { run: 200, stop: 130, start: 100, image: 5, pull: null });
});

t.test('a call ends at its deadline or when it is cancelled; the runtime hears of the latter', async (t) => {
  let cancelled: (() => void) | null = null;
  const heard = new Promise<void>((resolve) => {
    cancelled = resolve;
  });
  let reached: (() => void) | null = null;
  const arrived = new Promise<void>((resolve) => {
    reached = resolve;
  });
  const methods: Parameters<typeof withRuntime>[0] = {
    startContainer: () => {},
    pullImage: (rpc) => {
      rpc.on('cancelled', () => cancelled?.());
      reached?.();
    },
  };
  await withRuntime(methods, async ({ ports: { containers, images } }) => {
    t.match((await failure(containers.start({ containerId: 'a' }, { ...call(), timeoutMicros: 50_000 }))).toFailure(), {
      kind: 'deadline-exceeded',
      message: 'context deadline exceeded',
    });
    const abort = new AbortController();
    const pull = failure(images.pull({ ...image, credentials: null, sandboxConfig: null }, call(abort.signal)));
    await arrived;
    abort.abort();
    t.equal((await pull).kind, 'cancelled');
    await heard;
  });
});

t.test('one call may ask about many containers at once', async (t) => {
  const warnings: string[] = [];
  const heard = ({ name }: Error): void => {
    warnings.push(name);
  };
  process.on('warning', heard);
  t.teardown(() => process.off('warning', heard));
  await withRuntime({ startContainer: (_call, answer) => answer(null, {}) }, async ({ ports: { containers } }) => {
    const one = call(new AbortController().signal);
    await Promise.all(Array.from({ length: 50 }, (_, index) => containers.start({ containerId: `c${index}` }, one)));
  });
  t.same(warnings, []);
});

t.test('answers of up to 16 MiB are taken', async (t) => {
  let bytes = 0;
  const methods: Parameters<typeof withRuntime>[0] = {
    listImages: (_call, answer) => answer(null, { images: [{ ...emptyImage, id: 'x', username: 'u'.repeat(bytes) }] }),
  };
  await withRuntime(methods, async ({ ports: { images } }) => {
    bytes = 15 * 1024 * 1024;
    t.equal((await images.list(null, call()))[0]?.username.length, bytes);
    bytes = 17 * 1024 * 1024;
    t.equal((await failure(images.list(null, call()))).kind, 'resource-exhausted');
  });
});

t.test('a socket that is down fails at once, and works again when it is back', async (t) => {
  const options = mockOptions();
  const { connection, ports } = criClient(options.listen);
  t.teardown(() => connection.close());
  t.equal((await failure(ports.runtime.version(null, call()))).kind, 'unavailable');
  const first = await startMockCri(options);
  await untilHolds(() =>
    ports.runtime.version(null, call()).then(
      () => true,
      () => false,
    ),
  );
  await first.stop();
  t.equal((await failure(ports.runtime.version(null, call()))).kind, 'unavailable');
  const second = await startMockCri(options);
  t.teardown(() => second.stop());
  await untilHolds(() =>
    ports.runtime.version(null, call()).then(
      () => true,
      () => false,
    ),
  );
});

t.test('calls are observed under the names of the metrics', async (t) => {
  const seen: CriCallObservation[] = [];
  const server = await startMockCri(mockOptions());
  const connection = new CriConnection({ endpoint: server.endpoint, requestTimeoutMicros: 1_000_000, observe: (one) => seen.push(one) });
  const { ports } = portsOf(connection);
  await ports.runtime.listPods({ uid: null }, call());
  await failure(ports.containers.start({ containerId: 'a' }, call()));
  await ports.images.fsInfo(null, call());
  const types = seen.map(({ operationType, failed }) => [operationType, failed]);
  t.strictSame(types.slice(0, 2).sort(), [
    ['list_containers', false],
    ['list_podsandbox', false],
  ]);
  t.strictSame(types.slice(2), [
    ['start_container', true],
    ['image_fs_info', false],
  ]);
  t.ok(seen.every(({ durationMicros }) => durationMicros > 0));
  connection.close();
  await server.stop();
});

t.test('the cgroup driver: what the runtime says, null when it does not', async (t) => {
  const never = new AbortController().signal;
  const server = await startMockCri(mockOptions({ cgroupDriver: 'systemd' }));
  t.teardown(() => server.stop());
  const { connection } = criClient(server.endpoint);
  t.equal(await runtimeCgroupDriver(connection, never, async () => {}), 'systemd');
  connection.close();
  await withRuntime({}, async ({ connection }) => {
    t.equal(await runtimeCgroupDriver(connection, never, async () => {}), null);
  });
  const unknown = (_call: unknown, answer: (error: null, reply: object) => void) => answer(null, { linux: { cgroupDriver: 7 } });
  await withRuntime({ runtimeConfig: unknown } as never, async ({ connection }) => {
    t.match(await failure(runtimeCgroupDriver(connection, never, async () => {})), { message: 'runtime returned an unknown cgroup driver 7' });
  });
  let tries = 0;
  const refuse = (_call: unknown, answer: (error: Partial<{ code: status; details: string }>) => void) => {
    tries++;
    answer({ code: status.UNAVAILABLE, details: 'starting' });
  };
  await withRuntime({ runtimeConfig: refuse } as never, async ({ connection }) => {
    let paused = 0;
    const error = await failure(
      runtimeCgroupDriver(connection, never, async (micros) => {
        paused += micros;
      }),
    );
    t.match(error.toFailure(), { kind: 'unavailable', message: 'starting' });
    t.strictSame([tries, paused], [3, 4_000_000]);
  });
});

t.test('events: lost first, then changes, and lost again after each new connection', async (t) => {
  const server = await startMockCri(mockOptions());
  const { connection, ports } = criClient(server.endpoint);
  const events: RuntimeEvent[] = [];
  const source = new CriRuntimeEvents(connection);
  source.start((event) => events.push(event));
  await untilHolds(async () => events.length > 0);
  t.strictSame(events, [{ kind: 'lost' }]);
  const config = { ...sandbox, linux: {}, labels: { 'io.kubernetes.pod.uid': 'u' } };
  const { sandboxId } = await ports.sandboxes.run({ config, runtimeHandler: '' }, call());
  await untilHolds(async () => events.length === 3);
  t.match(events.slice(1), [
    { kind: 'changed', podUid: 'u', at: Number },
    { kind: 'changed', podUid: 'u' },
  ]);
  await server.stop();
  await untilHolds(async () => events.at(-1)?.kind === 'lost');
  t.match(sandboxId, /^[0-9a-f]{64}$/);
  source.stop();
  connection.close();
});

t.test('events: a runtime without them says so once', async (t) => {
  const server = await startMockCri(mockOptions({ offersEvents: false }));
  const { connection } = criClient(server.endpoint);
  const events: RuntimeEvent[] = [];
  const source = new CriRuntimeEvents(connection);
  source.start((event) => events.push(event));
  await untilHolds(async () => events.length > 0);
  t.strictSame(events, [{ kind: 'unsupported' }]);
  source.stop();
  connection.close();
  await server.stop();
});
