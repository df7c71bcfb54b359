// A mock runtime with one container, and a client of its streams: the base of tests of exec, attach and port-forward.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import { CriStreaming } from '../../src/adapters/cri/index.js';
import { type MockCriOptions, type MockCriServer, startMockCri } from '../../src/adapters/mock-cri/index.js';
import type { SpdyStream } from '../../src/adapters/streaming/index.js';
import { call } from '../ports/container-runtime.contract.js';
import { criClient } from '../ports/cri-harness.js';
import { commandStreams, spdy, textOf } from './stream-client.js';

const quick = { look: 0, runSandbox: 0, createContainer: 0, startContainer: 0, stop: 0, remove: 0, pull: 0, exec: 0 };
const busybox = { reference: 'docker.io/library/busybox:1', sizeBytes: 4_000_000, present: true };
export const outputs = { stdin: false, stdout: true, stderr: true, tty: false };

export interface Stand {
  readonly server: MockCriServer;
  readonly streaming: CriStreaming;
  readonly sandboxId: string;
  readonly containerId: string;
  stopContainer(): Promise<unknown>;
  exec(command: readonly string[], wishes?: Partial<typeof outputs>): Promise<string>;
  forward(ports?: readonly number[]): Promise<string>;
}

/** A mock runtime with one container that behaves as the script says. */
export async function stand(t: Test, script = 'run=forever', options: Partial<MockCriOptions> = {}): Promise<Stand> {
  const directory = mkdtempSync(join(tmpdir(), 'kubelet-ts-streams-'));
  const server = await startMockCri({ listen: join(directory, 'a.sock'), seed: 1, images: [busybox], latencies: quick, ...options });
  const { connection, ports } = criClient(server.endpoint);
  t.teardown(async () => {
    connection.close();
    await server.stop();
    rmSync(directory, { recursive: true });
  });
  const labels = { 'io.kubernetes.pod.name': 'p', 'io.kubernetes.pod.namespace': 'ns', 'io.kubernetes.pod.uid': 'u' };
  const sandbox = { metadata: { name: 'p', namespace: 'ns', uid: 'u', attempt: 0 }, hostname: 'p', labels, annotations: { 'sim.kubelet-ts/c': script } };
  const { sandboxId } = await ports.sandboxes.run({ config: sandbox, runtimeHandler: '' }, call());
  const config = { metadata: { name: 'c', attempt: 0 }, image: { image: busybox.reference }, labels, annotations: {}, logPath: '', envs: [{ key: 'COLOUR', value: 'green' }] };
  const { containerId } = await ports.containers.create({ sandboxId, config, sandboxConfig: sandbox }, call());
  await ports.containers.start({ containerId }, call());
  const streaming = new CriStreaming(connection);
  return {
    server,
    streaming,
    sandboxId,
    containerId,
    stopContainer: () => ports.containers.stop({ containerId, gracePeriodSeconds: 0 }, call()),
    exec: async (command, wishes = {}) => (await streaming.exec({ containerId, command, ...outputs, ...wishes }, call())).url,
    forward: async (asked = []) => (await streaming.portForward({ sandboxId, ports: asked }, call())).url,
  };
}

export interface Ran {
  readonly stdout: string;
  readonly stderr: string;
  readonly status: {
    readonly status: string;
    readonly reason?: string;
    readonly message?: string;
    readonly details?: { readonly causes: readonly { readonly message: string }[] };
  };
}

/** Runs a command as kubectl would. */
export async function run(at: Stand, command: readonly string[], input: string | Buffer | null = null): Promise<Ran> {
  const connection = await spdy(await at.exec(command, { stdin: input !== null }), 'v4.channel.k8s.io');
  const streams = await commandStreams(connection, ['error', ...(input === null ? [] : ['stdin']), 'stdout', 'stderr']);
  const said = Promise.all(['stdout', 'stderr', 'error'].map((type) => textOf(streams[type] as SpdyStream)));
  streams.stdin?.end(input ?? undefined);
  streams.stdin?.resume();
  const [stdout = '', stderr = '', status = ''] = await said;
  connection.close();
  return { stdout, stderr, status: JSON.parse(status) as Ran['status'] };
}

export const codeOf = ({ status }: Ran) => (status.status === 'Success' ? 0 : Number(status.details?.causes[0]?.message));
