// Long streams on a real containerd: commands, attached containers and forwarded ports, 64 MiB each way, with clients that read late, slowly and in bursts.
// Invariant: bytes are compared, and a round that loses one fails.
import { appendFileSync, mkdirSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import type { Test } from 'tap';
import { CriStreaming } from '../../src/adapters/cri/index.js';
import type { ContainerConfig } from '../../src/ports/model/container-config.js';
import type { SandboxConfig } from '../../src/ports/model/sandbox-config.js';
import { pattern } from '../adapters/long-stream-clients.js';
import { everyPlace, type Place, type Sessions } from '../adapters/long-stream-stand.js';
import { name, type Round, roundsOf, runRound } from '../adapters/long-streams.js';
import { call } from '../ports/container-runtime.contract.js';
import { criClient } from '../ports/cri-harness.js';
import { PrivateContainerd } from './private-containerd.js';

const megabytes = 64;
const bytes = megabytes * 1024 * 1024;
/** Rounds at once. */
const crowd = 3;

/** Echoes what comes on a connection. */
async function echoPort(t: Test): Promise<number> {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => socket.destroy());
    socket.pipe(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  return (server.address() as AddressInfo).port;
}

/** One sandbox in the host's network, with a container for commands, and one that echoes for each client that attaches. */
async function sessionsOf(t: Test, containerd: PrivateContainerd): Promise<Sessions> {
  const { ports, connection } = criClient(containerd.endpoint);
  t.teardown(() => connection.close());
  const streaming = new CriStreaming(connection);
  const logDirectory = join(containerd.directory, 'long-streams');
  mkdirSync(join(logDirectory, 'c'), { recursive: true });
  const config: SandboxConfig = {
    metadata: { name: 'p', namespace: 'n', uid: 'long-streams', attempt: 0 },
    logDirectory,
    labels: {},
    annotations: {},
    linux: { cgroupParent: join(containerd.cgroupRoot, 'streams'), securityContext: { namespaceOptions: { network: 'NODE' } } },
  };
  const { sandboxId } = await ports.sandboxes.run({ config, runtimeHandler: '' }, call());
  let attempt = 0;
  const container = async (command: readonly string[], more: Partial<ContainerConfig> = {}): Promise<string> => {
    const metadata = { name: 'c', attempt: attempt++ };
    const image = { image: containerd.images.busybox };
    const made: ContainerConfig = { metadata, image, command, labels: {}, annotations: {}, logPath: `c/${metadata.attempt}.log`, ...more };
    const { containerId } = await ports.containers.create({ sandboxId, config: made, sandboxConfig: config }, call());
    await ports.containers.start({ containerId }, call());
    return containerId;
  };
  // What commands write out.
  const files = join(containerd.directory, 'long-streams-files');
  mkdirSync(files);
  for (const block of pattern(bytes)) appendFileSync(join(files, 'long'), block);
  const idle = await container(['sleep', '100000'], { mounts: [{ containerPath: '/tmp', hostPath: files }] });
  return {
    exec: async (command, wishes) => (await streaming.exec({ containerId: idle, command, ...wishes }, call())).url,
    attach: async (wishes) => (await streaming.attach({ containerId: await container(['cat'], { stdin: true, stdinOnce: true }), ...wishes }, call())).url,
    forward: async (ports) => (await streaming.portForward({ sandboxId, ports }, call())).url,
  };
}

/** containerd ends a forwarded port a second after its client has ended its half. */
function asContainerdCan(round: Round): Round {
  return round.way === 'a port each way' ? { ...round, inputEnd: 'late' } : round;
}

/** Rounds of every way and protocol. @param places where clients connect @param ordinal which reader begins */
export async function longStreams(t: Test, places: readonly Place[], ordinal: number): Promise<void> {
  const containerd = await PrivateContainerd.start();
  t.teardown(() => containerd.stop());
  const sessions = await sessionsOf(t, containerd);
  const plan = { bytes, lateMillis: 2_000, port: await echoPort(t) };
  const offered = await everyPlace(t, sessions);
  const rounds = roundsOf(ordinal)
    .map(asContainerdCan)
    .filter(({ place }) => places.includes(place));
  t.ok(rounds.length > 10, `${rounds.length} rounds`);
  const began = performance.now();
  for (let i = 0; i < rounds.length; i += crowd) {
    await Promise.all(
      rounds.slice(i, i + crowd).map((round) => runRound(t, offered[round.place], round, plan).catch((error: unknown) => t.fail(`${name(round)}: ${String(error)}`))),
    );
  }
  t.comment(`${rounds.length} rounds of ${megabytes} MiB in ${Math.round((performance.now() - began) / 1_000)} s`);
}
