// Answers of a runtime over the wire in which something is absent, empty, absurd or broken, for each field of each answer that the agent reads: every
// call ends with a value of the right types or with a PortError, and nothing else is thrown.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import t from 'tap';
import {
  CriConnection,
  CriContainers,
  CriImages,
  CriRuntimeEvents,
  CriRuntimeState,
  CriStats,
  CriStreaming,
  criProtocol,
  runtimeCgroupDriver,
} from '../../src/adapters/cri/index.js';
import { PortError } from '../../src/ports/port-error.js';
import { call as calling } from '../ports/container-runtime.contract.js';
import { wireMutations } from './wire-mutations.js';

t.setTimeout(600_000);

const call = calling();

const { ImageServiceService, RuntimeServiceService } = criProtocol;
const labels = { 'io.kubernetes.pod.uid': 'u', 'io.kubernetes.pod.name': 'p', 'io.kubernetes.pod.namespace': 'n', 'io.kubernetes.container.name': 'c' };
const annotations = {
  'io.kubernetes.container.hash': 'ab12',
  'io.kubernetes.container.restartCount': '2',
  'io.kubernetes.container.terminationMessagePath': '/dev/termination-log',
  'io.kubernetes.container.terminationMessagePolicy': 'File',
  'io.kubernetes.container.preStopHandler': '{"exec":{"command":["a"]}}',
  'io.kubernetes.pod.terminationGracePeriod': '30',
};
const metadata = { name: 'p', namespace: 'n', uid: 'u', attempt: 1 };
const image = { image: 'i', annotations: { a: 'b' }, userSpecifiedImage: 'i:1', runtimeHandler: 'runc' };
const value = { value: 7n };
const usage = { timestamp: 5_000n, fsId: { mountpoint: '/var' }, usedBytes: value, inodesUsed: value };

/** The fullest answers, by the method's path. */
const full: Readonly<Record<string, Buffer>> = Object.fromEntries(
  (
    [
      [RuntimeServiceService.version, { version: '0.1.0', runtimeName: 'r', runtimeVersion: '2.0.0', runtimeApiVersion: 'v1' }],
      [
        RuntimeServiceService.status,
        {
          status: { conditions: ['RuntimeReady', 'NetworkReady'].map((type) => ({ type, status: true, reason: 'R', message: 'm' })) },
          info: { config: '{"sandboxImage":"pause"}' },
          runtimeHandlers: [{ name: 'runc', features: { recursiveReadOnlyMounts: true, userNamespaces: true } }],
          features: { supplementalGroupsPolicy: true },
        },
      ],
      [RuntimeServiceService.runtimeConfig, { linux: { cgroupDriver: 1 } }],
      [RuntimeServiceService.listPodSandbox, { items: [{ id: 's', metadata, state: 0, createdAt: 5_000n, labels, annotations, runtimeHandler: 'runc' }] }],
      [
        RuntimeServiceService.listContainers,
        { containers: [{ id: 'c', podSandboxId: 's', metadata: { name: 'c', attempt: 2 }, image, imageRef: 'r', state: 1, createdAt: 6_000n, labels, annotations, imageId: 'i' }] },
      ],
      [
        RuntimeServiceService.podSandboxStatus,
        {
          status: {
            id: 's',
            metadata,
            state: 0,
            createdAt: 5_000n,
            network: { ip: '10.0.0.1', additionalIps: [{ ip: 'fd00::1' }] },
            linux: {
              namespaces: { options: { network: 2, pid: 1, ipc: 0, targetId: 't', usernsOptions: { mode: 0, uids: [{ hostId: 1, containerId: 0, length: 65_536 }], gids: [] } } },
            },
            labels,
            annotations,
            runtimeHandler: 'runc',
          },
          info: { a: '{}' },
          timestamp: 9_000n,
        },
      ],
      [
        RuntimeServiceService.containerStatus,
        {
          status: {
            id: 'c',
            metadata: { name: 'c', attempt: 2 },
            state: 2,
            createdAt: 6_000n,
            startedAt: 7_000n,
            finishedAt: 8_000n,
            exitCode: 1,
            image,
            imageRef: 'r@sha256:1',
            reason: 'Error',
            message: 'm',
            labels,
            annotations,
            mounts: [{ containerPath: '/dev/termination-log', hostPath: '/absent/file', readonly: true, propagation: 1, uidMappings: [{ hostId: 1, containerId: 0, length: 1 }] }],
            logPath: '/absent/log',
            resources: { linux: { cpuPeriod: 1n, cpuQuota: 2n, cpuShares: 3n, memoryLimitInBytes: 4n, cpusetCpus: '0', cpusetMems: '0', unified: { a: 'b' } } },
            imageId: 'i',
            user: { linux: { uid: 1n, gid: 2n, supplementalGroups: [3n] } },
            stopSignal: 15,
          },
          info: { a: '{}' },
        },
      ],
      [
        RuntimeServiceService.listContainerStats,
        {
          stats: [
            {
              attributes: { id: 'c', metadata: { name: 'c', attempt: 2 }, labels, annotations },
              cpu: { timestamp: 5_000n, usageCoreNanoSeconds: value, usageNanoCores: value, psi: {} },
              memory: { timestamp: 5_000n, workingSetBytes: value, availableBytes: value, usageBytes: value, rssBytes: value, pageFaults: value, majorPageFaults: value },
              writableLayer: usage,
              swap: { timestamp: 5_000n, swapAvailableBytes: value, swapUsageBytes: value },
            },
          ],
        },
      ],
      [RuntimeServiceService.runPodSandbox, { podSandboxId: 's' }],
      [RuntimeServiceService.createContainer, { containerId: 'c' }],
      [RuntimeServiceService.execSync, { stdout: Buffer.from('out'), stderr: Buffer.from('err'), exitCode: 3 }],
      [RuntimeServiceService.exec, { url: 'http://127.0.0.1:1/x' }],
      [
        RuntimeServiceService.getContainerEvents,
        { containerId: 'c', containerEventType: 1, createdAt: 5_000n, podSandboxStatus: { id: 's', metadata, createdAt: 5_000n }, containersStatuses: [{ id: 'c', labels }] },
      ],
      [
        ImageServiceService.imageStatus,
        { image: { id: 'i', repoTags: ['i:1'], repoDigests: ['i@sha256:1'], size: 5n, uid: value, username: 'u', spec: image, pinned: true }, info: { a: '{}' } },
      ],
      [ImageServiceService.listImages, { images: [{ id: 'i', repoTags: ['i:1'], repoDigests: ['i@sha256:1'], size: 5n, uid: value, username: 'u', spec: image, pinned: true }] }],
      [ImageServiceService.pullImage, { imageRef: 'i@sha256:1' }],
      [ImageServiceService.imageFsInfo, { imageFilesystems: [usage], containerFilesystems: [usage] }],
    ] as unknown as readonly (readonly [Method, object])[]
  ).map(([method, answer]) => [method.path, method.responseSerialize(fromPartial(method, answer))]),
);

interface Method {
  readonly path: string;
  readonly responseSerialize: (value: unknown) => Buffer;
}

/** Generated messages are named as their methods. */
function fromPartial({ path }: Method, answer: object): unknown {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const special: Readonly<Record<string, string>> = { GetContainerEvents: 'ContainerEventResponse' };
  const type = (criProtocol as unknown as Readonly<Record<string, { fromPartial(value: object): unknown } | undefined>>)[special[name] ?? `${name}Response`];
  if (type === undefined) throw new Error(`no answer of ${name}`);
  return type.fromPartial(answer);
}

const directory = mkdtempSync(join(tmpdir(), 'kubelet-ts-answers-'));
t.teardown(() => rmSync(directory, { recursive: true }));

/** Answers each method with the bytes that are set for it. */
async function runtime(t: { teardown(run: () => unknown): unknown }): Promise<{ readonly endpoint: string; readonly answers: Map<string, Buffer> }> {
  const answers = new Map(Object.entries(full));
  const server = new Server();
  const raw = (service: object) =>
    Object.fromEntries(Object.entries(service).map(([name, method]) => [name, { ...(method as object), responseSerialize: (bytes: Buffer) => bytes }]));
  const methods = (service: object) =>
    Object.fromEntries(
      Object.entries(service).map(([name, method]) => {
        const { path, responseStream } = method as { readonly path: string; readonly responseStream: boolean };
        const bytes = (): Buffer => answers.get(path) ?? Buffer.alloc(0);
        if (responseStream) {
          const stream = (call: { write(bytes: Buffer): void; end(): void }): void => {
            call.write(bytes());
            call.end();
          };
          return [name, stream];
        }
        return [name, (_request: unknown, answer: (error: null, bytes: Buffer) => void) => answer(null, bytes())];
      }),
    );
  for (const service of [RuntimeServiceService, ImageServiceService]) server.addService(raw(service) as never, methods(service) as never);
  const endpoint = `unix://${join(directory, 'r.sock')}`;
  await new Promise<void>((resolve, reject) =>
    server.bindAsync(endpoint.replace('unix://', 'unix:'), ServerCredentials.createInsecure(), (error) => (error === null ? resolve() : reject(error))),
  );
  t.teardown(() => server.forceShutdown());
  return { endpoint, answers };
}

t.test('each field of each answer', async (t) => {
  const { endpoint, answers } = await runtime(t);
  const connection = new CriConnection({ endpoint, requestTimeoutMicros: 60_000_000 });
  t.teardown(() => connection.close());
  const [images, containers, stats] = [new CriImages(connection), new CriContainers(connection), new CriStats(connection, connection)];
  const state = (): CriRuntimeState => new CriRuntimeState(connection, () => 1);
  const spec = { image: 'i', annotations: {}, userSpecifiedImage: 'i', runtimeHandler: '' };
  const operations: readonly (readonly [path: string, ask: () => Promise<unknown>])[] = [
    [RuntimeServiceService.version.path, () => state().version(null, call)],
    [RuntimeServiceService.status.path, () => state().status(null, call)],
    [RuntimeServiceService.runtimeConfig.path, () => runtimeCgroupDriver(connection, call.signal, async () => {})],
    [RuntimeServiceService.listPodSandbox.path, () => state().listPods({ uid: null }, call)],
    [RuntimeServiceService.listContainers.path, () => state().listPods({ uid: null }, call)],
    [RuntimeServiceService.podSandboxStatus.path, () => state().inspectPod({ uid: 'u' }, call)],
    [RuntimeServiceService.containerStatus.path, () => state().inspectPod({ uid: 'u' }, call)],
    [RuntimeServiceService.listContainerStats.path, () => stats.containers(call)],
    [RuntimeServiceService.execSync.path, () => containers.execSync({ containerId: 'c', command: ['a'], timeoutSeconds: 1 } as never, call)],
    [RuntimeServiceService.exec.path, () => new CriStreaming(connection).exec({ containerId: 'c', command: ['a'], tty: false, stdin: false, stdout: true, stderr: false }, call)],
    [RuntimeServiceService.getContainerEvents.path, () => firstEvents(connection)],
    [ImageServiceService.imageStatus.path, () => images.status({ image: spec }, call)],
    [ImageServiceService.listImages.path, () => images.list(null, call)],
    [ImageServiceService.pullImage.path, () => images.pull({ image: spec, credentials: null, sandboxConfig: null }, call)],
    [ImageServiceService.imageFsInfo.path, () => images.fsInfo(null, call)],
    [ImageServiceService.imageFsInfo.path, () => stats.imageFilesystems(call)],
  ];
  let [good, refused] = [0, 0];
  for (const [path, ask] of operations) {
    t.ok(await ask().then(() => true), `${path}, as it should be`);
    for (const [name, bytes] of wireMutations(full[path] as Buffer)) {
      answers.set(path, bytes);
      try {
        checkNumbers(await ask(), `${path} ${name}`);
        good++;
      } catch (error) {
        if (!(error instanceof PortError)) t.fail(`${path} ${name}: ${String(error)}`);
        refused++;
      }
    }
    answers.set(path, full[path] as Buffer);
  }
  t.ok(good > 500 && refused > 50, `${good} were taken, ${refused} refused`);
});

/** No value of an answer is NaN or a bigint: the domain has neither. */
function checkNumbers(value: unknown, where: string): void {
  if (typeof value === 'bigint' && !where.includes('ListContainerStats')) throw new Error(`a bigint in ${where}`);
  if (typeof value === 'number' && Number.isNaN(value)) throw new Error(`NaN in ${where}`);
  if (typeof value === 'object' && value !== null && !(value instanceof Uint8Array)) for (const member of Object.values(value)) checkNumbers(member, where);
}

async function firstEvents(connection: CriConnection): Promise<unknown> {
  const events = new CriRuntimeEvents(connection);
  const seen: unknown[] = [];
  await new Promise<void>((resolve) => {
    events.start((event) => {
      seen.push(event);
      setImmediate(resolve);
    });
  });
  events.stop();
  return seen;
}
