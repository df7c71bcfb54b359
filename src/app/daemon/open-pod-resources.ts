// The socket `pod-resources/kubelet.sock` in the root directory, where monitoring agents query exclusive resources of containers.
// Invariant: the service is loaded at the first connection; a failure to open the socket is logged and doesn't affect pods.

import { rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import type { PodResourcesService } from '../../adapters/plugins/index.js';
import type { PodResourceQueries } from '../../ports/inbound/pod-resources.js';
import type { Logger } from '../../ports/outbound/logger.js';
import type { PodResourcesCall } from '../../ports/outbound/metrics/kubelet-metrics.js';
import type { Teardown } from './teardown.js';

const connectionsMax = 100;

export interface PodResourcesSettings {
  readonly rootDirectory: string;
  readonly queries: PodResourceQueries;
  readonly onCall: (call: PodResourcesCall) => void;
}

export async function openPodResources({ rootDirectory, queries, onCall }: PodResourcesSettings, logger: Logger, teardown: Teardown): Promise<void> {
  const path = join(rootDirectory, 'pod-resources', 'kubelet.sock');
  const connections = new Set<Socket>();
  let service: Promise<PodResourcesService> | null = null;
  const server = createServer((connection) => {
    connections.add(connection);
    connection.on('close', () => connections.delete(connection));
    connection.on('error', () => connection.destroy());
    service ??= import('../../adapters/plugins/pod-resources-service.js').then((loaded) => new loaded.PodResourcesService(queries, onCall));
    service.then(
      (ready) => ready.take(connection),
      (error: unknown) => {
        logger.log('error', 'Failed to serve pod resources', { err: String(error) });
        connection.destroy();
      },
    );
  });
  server.maxConnections = connectionsMax;
  try {
    // Left by a killed agent.
    rmSync(path, { force: true });
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(path, resolve));
  } catch (error) {
    logger.log('error', 'Failed to listen to socket while starting pod resources', { path, err: error instanceof Error ? error.message : String(error) });
    return;
  }
  server.on('error', (error) => logger.log('error', 'Failed to serve pod resources', { path, err: error.message }));
  teardown.add('pod resources', async () => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    await (await service?.catch(() => null))?.close();
    for (const connection of connections) connection.destroy();
    await closed;
  });
}
