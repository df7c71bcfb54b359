// The CRI adapter on a socket, as the contract of container runtimes wants it.
import { setTimeout as delay } from 'node:timers/promises';
import { CriConnection, CriContainers, CriImages, CriRuntimeState, CriSandboxes } from '../../src/adapters/cri/index.js';
import type { RuntimePortsUnderTest } from './container-runtime.contract.js';

const pollMs = 20;
const untilTimeMs = 60_000;

export interface CriClient {
  readonly connection: CriConnection;
  readonly ports: RuntimePortsUnderTest;
}

export function criClient(endpoint: string, requestTimeoutMicros = 120_000_000): CriClient {
  return portsOf(new CriConnection({ endpoint, requestTimeoutMicros }));
}

export function portsOf(connection: CriConnection): CriClient {
  return {
    connection,
    ports: {
      runtime: new CriRuntimeState(connection, () => Date.now() * 1_000),
      sandboxes: new CriSandboxes(connection),
      containers: new CriContainers(connection),
      images: new CriImages(connection),
    },
  };
}

/** Asks again until it holds, in real time. */
export async function untilHolds(holds: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + untilTimeMs;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error('it did not come to hold in time');
    await delay(pollMs);
  }
}
