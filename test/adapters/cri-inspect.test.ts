// The full inspection of a pod, field by field, on a runtime with configured answers.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Server, ServerCredentials, status } from '@grpc/grpc-js';
import t from 'tap';
import { criProtocol } from '../../src/adapters/cri/index.js';
import type { PodRuntimeStatus } from '../../src/ports/model/runtime-status.js';
import { PortError } from '../../src/ports/port-error.js';
import { call } from '../ports/container-runtime.contract.js';
import { criClient } from '../ports/cri-harness.js';

const { Container, ContainerState, ContainerStatus, NamespaceMode, PodSandbox, PodSandboxState, PodSandboxStatus, Signal } = criProtocol;

type SandboxPart = criProtocol.DeepPartial<criProtocol.PodSandboxStatus>;
type ContainerPart = criProtocol.DeepPartial<criProtocol.ContainerStatus>;

interface Told {
  /** The runtime's objects, by id. null: listed, but absent when inspected. A number: the status code of the answer. */
  readonly sandboxes: Readonly<Record<string, SandboxPart | null | number>>;
  readonly containers: Readonly<Record<string, ContainerPart | null | number>>;
}

const labels = { 'io.kubernetes.pod.uid': 'u', 'io.kubernetes.pod.name': 'p', 'io.kubernetes.pod.namespace': 'n', 'io.kubernetes.container.name': 'c' };
const metadata = { name: 'p', namespace: 'n', uid: 'u', attempt: 0 };
const directory = mkdtempSync(join(tmpdir(), 'kubelet-ts-inspect-'));
let sockets = 0;
t.teardown(() => rmSync(directory, { recursive: true }));

type Answer = (error: Partial<{ code: status; details: string }> | null, value?: unknown) => void;

function answerWith(told: unknown, id: string, answer: Answer, make: () => unknown): void {
  if (told === null || told === undefined) answer({ code: status.NOT_FOUND, details: `no ${id}` });
  else if (typeof told === 'number') answer({ code: told, details: `refused ${id}` });
  else answer(null, { status: make(), info: {}, containersStatuses: [], timestamp: 0n });
}

async function inspect(told: Told): Promise<PodRuntimeStatus | null> {
  const items = Object.keys(told.sandboxes).map((id) => PodSandbox.fromPartial({ id, labels, metadata }));
  const containers = Object.keys(told.containers).map((id) => Container.fromPartial({ id, podSandboxId: `of-${id}`, labels }));
  const methods = {
    listPodSandbox: (_call: unknown, answer: Answer) => answer(null, { items }),
    listContainers: (_call: unknown, answer: Answer) => answer(null, { containers }),
    podSandboxStatus: ({ request: { podSandboxId: id } }: { request: criProtocol.PodSandboxStatusRequest }, answer: Answer) =>
      answerWith(told.sandboxes[id], id, answer, () => PodSandboxStatus.fromPartial({ id, metadata, createdAt: 1_999n, ...(told.sandboxes[id] as SandboxPart) } as never)),
    containerStatus: ({ request: { containerId: id } }: { request: criProtocol.ContainerStatusRequest }, answer: Answer) =>
      answerWith(told.containers[id], id, answer, () =>
        ContainerStatus.fromPartial({
          id,
          metadata: { name: 'c' },
          createdAt: 5_000n,
          image: { image: 'i' },
          imageRef: 'i@sha256:1',
          labels,
          ...(told.containers[id] as ContainerPart),
        }),
      ),
  };
  const server = new Server();
  const path = join(directory, `${++sockets}.sock`);
  server.addService(criProtocol.RuntimeServiceService, methods as never);
  await new Promise<void>((resolve, reject) => server.bindAsync(`unix:${path}`, ServerCredentials.createInsecure(), (error) => (error === null ? resolve() : reject(error))));
  const { connection, ports } = criClient(path);
  try {
    return await ports.runtime.inspectPod({ uid: 'u' }, call());
  } finally {
    connection.close();
    server.forceShutdown();
  }
}

const ready = { state: PodSandboxState.SANDBOX_READY };
const notReady = { state: PodSandboxState.SANDBOX_NOTREADY };
const network = (ip: string, ...additional: string[]) => ({ network: { ip, additionalIps: additional.map((each) => ({ ip: each })) } });

const sandboxRows: readonly (readonly [what: string, sandboxes: Told['sandboxes'], want: object])[] = [
  [
    'addresses in their order',
    { a: { ...ready, ...network('10.0.0.1', 'fd00::1') } },
    { ips: ['10.0.0.1', 'fd00::1'], sandboxes: [{ ip: '10.0.0.1', hasNetwork: true, createdAt: 1 }] },
  ],
  ['an empty primary is left out', { a: { ...ready, ...network('', 'fd00::1') } }, { ips: ['fd00::1'], sandboxes: [{ ip: '' }] }],
  ['one bad address and there are none', { a: { ...ready, ...network('10.0.0.1', 'ten') } }, { ips: [], sandboxes: [{ ip: '10.0.0.1' }] }],
  ['a sandbox that is not ready has none', { a: { ...notReady, ...network('10.0.0.1') } }, { ips: [], sandboxes: [{ state: 'notReady' }] }],
  ['no network object at all', { a: ready }, { ips: [], sandboxes: [{ hasNetwork: false, ip: null, networkMode: 'pod' }] }],
  [
    'the newest by attempt counts',
    { a: { ...ready, ...network('10.0.0.1') }, b: { ...ready, ...network('10.0.0.2'), metadata: { ...metadata, attempt: 1 } } },
    { ips: ['10.0.0.2'], sandboxes: [{ id: 'b' }, { id: 'a' }] },
  ],
  [
    'of equal attempts the later',
    { a: { ...ready, ...network('10.0.0.1') }, b: { ...notReady, ...network('10.0.0.2'), createdAt: 9_000n } },
    { ips: [], sandboxes: [{ id: 'b' }, { id: 'a' }] },
  ],
  ['the host network', { a: { ...ready, linux: { namespaces: { options: { network: NamespaceMode.NODE } } } } }, { sandboxes: [{ networkMode: 'node' }] }],
  ['one that is gone is left out', { a: null, b: { ...ready, ...network('10.0.0.2') } }, { ips: ['10.0.0.2'], sandboxes: [{ id: 'b' }] }],
];

t.test('sandboxes', async (t) => {
  for (const [what, sandboxes, want] of sandboxRows) {
    const got = await inspect({ sandboxes, containers: {} });
    t.match(got, { uid: 'u', name: 'p', namespace: 'n', containers: [], ...want }, what);
    t.equal(got?.sandboxes.length, (want as { sandboxes: unknown[] }).sandboxes.length, what);
  }
});

const exited = { state: ContainerState.CONTAINER_EXITED, startedAt: 7_000n, finishedAt: 9_000n, exitCode: 3, reason: 'Error', message: 'from the runtime' };
const resources = (linux: object) => ({ resources: { linux } });

const containerRows: readonly (readonly [what: string, container: ContainerPart, want: object])[] = [
  [
    'created: no times',
    { state: ContainerState.CONTAINER_CREATED, startedAt: 7_000n },
    { state: 'created', startedAt: null, finishedAt: null, createdAt: 5, sandboxId: 'of-a', name: 'c' },
  ],
  [
    'running: what belongs to an end is not said',
    { ...exited, state: ContainerState.CONTAINER_RUNNING },
    { state: 'running', startedAt: 7, finishedAt: null, exitCode: 0, reason: '', message: '' },
  ],
  ['exited', exited, { state: 'exited', startedAt: 7, finishedAt: 9, exitCode: 3, reason: 'Error', message: 'from the runtime' }],
  ['never started, but exited: the epoch, as the runtime says', { ...exited, startedAt: 0n }, { state: 'exited', startedAt: 0 }],
  ['unknown', { state: ContainerState.CONTAINER_UNKNOWN }, { state: 'unknown', finishedAt: null }],
  ['annotations', { annotations: { 'io.kubernetes.container.restartCount': '7', 'io.kubernetes.container.hash': '8e45cbd0' } }, { restartCount: 7, hash: '8e45cbd0' }],
  ['annotations that are missing or wrong', { annotations: { 'io.kubernetes.container.restartCount': '-1' } }, { restartCount: 0, hash: '' }],
  [
    'images',
    { image: { image: 'docker.io/library/busybox:1' }, imageRef: 'b@sha256:1', imageId: 'sha256:2' },
    { image: 'docker.io/library/busybox:1', imageRef: 'b@sha256:1', imageId: 'sha256:2' },
  ],
  ['no resources reported', {}, { resources: null, user: null }],
  [
    'resources',
    resources({ cpuPeriod: 100_000n, cpuQuota: 50_000n, cpuShares: 256n, memoryLimitInBytes: 67_108_864n }),
    { resources: { cpuRequest: '250m', cpuLimit: '500m', memoryRequest: null, memoryLimit: '64Mi' } },
  ],
  ['the fewest shares, no quota', resources({ cpuPeriod: 100_000n, cpuQuota: -1n, cpuShares: 2n }), { resources: { cpuRequest: '2m', cpuLimit: null, memoryLimit: null } }],
  ['zero is not reported', resources({ cpuQuota: 50_000n, cpuShares: 1n }), { resources: { cpuRequest: null, cpuLimit: null } }],
  ['shares round up', resources({ cpuShares: 1_025n }), { resources: { cpuRequest: '1001m' } }],
  ['the user', { user: { linux: { uid: 1_000n, gid: 2_000n, supplementalGroups: [3n] } } }, { user: { uid: 1_000, gid: 2_000, supplementalGroups: [3] } }],
  ['the signal that ends it', { stopSignal: Signal.SIGINT }, { stopSignal: 'SIGINT' }],
  ['a signal above the lowest', { stopSignal: Signal.SIGRTMINPLUS3 }, { stopSignal: 'SIGRTMIN+3' }],
  ['a signal below the highest', { stopSignal: Signal.SIGRTMAXMINUS1 }, { stopSignal: 'SIGRTMAX-1' }],
  ['no signal told', {}, { stopSignal: undefined }],
  ['a signal that nobody knows', { stopSignal: 999 as criProtocol.Signal }, { stopSignal: undefined }],
];

t.test('containers', async (t) => {
  for (const [what, container, want] of containerRows) {
    const got = await inspect({ sandboxes: {}, containers: { a: container } });
    t.match(got, { uid: 'u', name: 'p', namespace: 'n', ips: [], sandboxes: [], containers: [want] }, what);
  }
  const several = await inspect({ sandboxes: {}, containers: { a: {}, b: { createdAt: 6_000n }, c: null, d: {} } });
  t.strictSame(
    several?.containers.map(({ id }) => id),
    ['b', 'a', 'd'],
    'newest first, then by id, and what is gone left out',
  );
});

const nothing: Told['containers'] = {};
const otherPod = { ...labels, 'io.kubernetes.pod.uid': 'v' };
const failures: readonly (readonly [told: Told, kind: string, message: RegExp])[] = [
  [{ sandboxes: { a: status.UNAVAILABLE, b: ready }, containers: nothing }, 'unavailable', /^refused a$/],
  [{ sandboxes: { a: ready }, containers: { b: status.UNKNOWN } }, 'unknown', /^refused b$/],
  [{ sandboxes: { a: { ...ready, id: '' } }, containers: nothing }, 'internal', /^status\.Id is not set$/],
  [{ sandboxes: { a: { ...ready, metadata: undefined } as never }, containers: nothing }, 'internal', /^status\.Metadata is not set$/],
  [
    { sandboxes: { a: { ...ready, metadata: { ...metadata, uid: '' } } }, containers: nothing },
    'internal',
    /^metadata\.Name, metadata\.Namespace or metadata\.Uid is not in metadata /,
  ],
  [{ sandboxes: { a: { ...ready, createdAt: 0n } }, containers: nothing }, 'internal', /^status\.CreatedAt is not set$/],
  [{ sandboxes: {}, containers: { a: { id: '' } } }, 'internal', /^status\.Id is not set$/],
  [{ sandboxes: {}, containers: { a: { metadata: { name: '' } } } }, 'internal', /^metadata\.Name is not in metadata /],
  [{ sandboxes: {}, containers: { a: { createdAt: 0n } } }, 'internal', /^status\.CreatedAt is not set$/],
  [{ sandboxes: {}, containers: { a: { image: { image: '' } } } }, 'internal', /^status\.Image is not set$/],
  [{ sandboxes: {}, containers: { a: { imageRef: '' } } }, 'internal', /^status\.ImageRef is not set$/],
  [{ sandboxes: { '': ready }, containers: nothing }, 'internal', /^the list has a sandbox whose Id is not set$/],
  [{ sandboxes: { a: ready }, containers: { '': {} } }, 'internal', /^the list has a container "c" whose Id is not set$/],
  [{ sandboxes: { a: { ...ready, id: 'b' } }, containers: nothing }, 'internal', /^status\.Id is not the one that was asked for$/],
  [{ sandboxes: {}, containers: { a: { id: 'b' } } }, 'internal', /^status\.Id is not the one that was asked for$/],
  [{ sandboxes: { a: { ...ready, labels: otherPod } }, containers: nothing }, 'internal', /^the list has it for pod "u", and its status for pod "v"$/],
  [{ sandboxes: {}, containers: { a: { labels: otherPod } } }, 'internal', /^the list has it for pod "u", and its status for pod "v"$/],
];

t.test('one failure other than absence fails the whole look', async (t) => {
  for (const [told, kind, message] of failures) {
    const error = await inspect(told).catch((reason: unknown) => reason);
    t.ok(error instanceof PortError);
    t.match(error, { kind, message, operation: 'runtime.inspectPod' });
  }
});

t.test('nothing left is null', async (t) => {
  t.equal(await inspect({ sandboxes: {}, containers: {} }), null);
  t.equal(await inspect({ sandboxes: { a: null }, containers: { b: null } }), null);
});
