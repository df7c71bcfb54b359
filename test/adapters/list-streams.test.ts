// Lists in parts: from a mock runtime that offers them, from one that doesn't, and from one that breaks off.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import t, { type Test } from 'tap';
import { CriConnection, CriImages, CriRuntimeState, criProtocol } from '../../src/adapters/cri/index.js';
import { startMockCri } from '../../src/adapters/mock-cri/index.js';
import { PortError } from '../../src/ports/port-error.js';
import { call, containerRuntimeContract } from '../ports/container-runtime.contract.js';
import { portsOf, untilHolds } from '../ports/cri-harness.js';

const quick = { look: 0, runSandbox: 0, createContainer: 0, startContainer: 0, stop: 0, remove: 0, pull: 0 };
const images = Array.from({ length: 9 }, (_, i) => ({ reference: `docker.io/library/image:${i}`, sizeBytes: 1_000 + i, present: true }));

function socket(t: Pick<Test, 'teardown'>): string {
  const directory = mkdtempSync(join(tmpdir(), 'list-streams-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  return `unix://${join(directory, 'runtime.sock')}`;
}

/** Ports whose lists are asked for in parts, and the kinds of calls that were made. */
function streaming(endpoint: string, requestTimeoutMicros = 20_000_000) {
  const made: string[] = [];
  const connection = new CriConnection({ endpoint, requestTimeoutMicros, observe: ({ operationType, failed }) => made.push(`${operationType}${failed ? ' failed' : ''}`) });
  const ports = {
    ...portsOf(connection).ports,
    runtime: new CriRuntimeState(connection, () => Date.now() * 1_000, { streamLists: true }),
    images: new CriImages(connection, { streamLists: true }),
  };
  return { connection, ports, made };
}

for (const offersListStreams of [true, false]) {
  containerRuntimeContract(`the contract, asking for parts of a runtime that ${offersListStreams ? 'has them' : 'has none'}`, false, async () => {
    const directory = mkdtempSync(join(tmpdir(), 'list-streams-'));
    const listen = `unix://${join(directory, 'runtime.sock')}`;
    const server = await startMockCri({
      listen,
      seed: 1,
      images: [{ reference: 'docker.io/library/busybox:1', sizeBytes: 4_000_000, present: true }],
      latencies: quick,
      offersListStreams,
    });
    const { connection, ports } = streaming(server.endpoint);
    return {
      ports,
      image: 'docker.io/library/busybox:1',
      unreachableImage: 'nowhere.invalid/x:1',
      cgroupParent: '',
      until: untilHolds,
      async close() {
        connection.close();
        await server.stop();
        rmSync(directory, { recursive: true });
      },
    };
  });
}

t.test('in parts, and whole where that is all there is', async (t) => {
  for (const offersListStreams of [true, false]) {
    const server = await startMockCri({ listen: socket(t), seed: 1, images, latencies: quick, offersListStreams });
    const { connection, ports, made } = streaming(server.endpoint);
    t.teardown(async () => {
      connection.close();
      await server.stop();
    });
    t.equal((await ports.images.list(null, call())).length, 9);
    t.equal((await ports.images.list(null, call())).length, 9);
    const expected = offersListStreams ? ['stream_images', 'stream_images'] : ['stream_images failed', 'list_images', 'list_images'];
    // A list of images also asks which one sandboxes have.
    const lists = made.filter((operation) => operation !== 'status');
    t.strictSame(lists, expected, 'a runtime without streams is asked once');
  }
});

t.test('a list that breaks off is no list', async (t) => {
  const listen = socket(t);
  const server = new Server();
  let ending: 'error' | 'hang' = 'error';
  server.addService(criProtocol.ImageServiceService, {
    streamImages(stream: { write(part: unknown): void; emit(event: 'error', status: object): void }) {
      stream.write({ images: [{ id: 'sha256:1', repoTags: ['a:1'], repoDigests: [], size: 1n, username: '', pinned: false }] });
      if (ending === 'error') stream.emit('error', { code: 14, details: 'disk is gone' });
    },
  } as never);
  await new Promise<void>((resolve, reject) =>
    server.bindAsync(`unix:${listen.slice('unix://'.length)}`, ServerCredentials.createInsecure(), (error) => (error ? reject(error) : resolve())),
  );
  const { connection, ports, made } = streaming(listen, 300_000);
  t.teardown(() => {
    connection.close();
    server.forceShutdown();
  });
  const failure = (signal?: AbortSignal) =>
    ports.images.list(null, call(signal)).then(
      () => null,
      (error: unknown) => (error instanceof PortError ? error.kind : error),
    );
  t.equal(await failure(), 'unavailable');
  ending = 'hang';
  t.equal(await failure(), 'deadline-exceeded', 'all parts have the time of one call');
  const abort = new AbortController();
  const cancelled = failure(abort.signal);
  abort.abort();
  t.equal(await cancelled, 'cancelled');
  t.equal(await failure(AbortSignal.abort()), 'cancelled');
  t.strictSame(new Set(made), new Set(['stream_images failed']), 'and the whole list is not asked for instead');
});
