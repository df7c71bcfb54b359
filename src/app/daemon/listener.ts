// The loopback listener: /healthz for whoever watches the daemon, and /pods for those on the node who ask, unless that would be a way around the
// kubelet's own port. Invariant: pods are told to loopback only; a port that is taken is tried again and never ends the daemon.
import { healthRoutes, isLoopback, LoopbackHttpServer, pingOnly, podsRoutes } from '../../adapters/http-server/index.js';
import type { KubeletConfiguration } from '../../domain/configuration/schema.js';
import type { AgentQueries } from '../../ports/inbound/agent-queries.js';
import type { DaemonContext } from './daemon-context.js';
import type { Teardown } from './teardown.js';

const retryMillis = 5_000;
const closeMillis = 200;

/** Whoever can be on loopback, as every pod on the node's network is, is not to read there what the kubelet's own port asks credentials for. */
export function tellsPods({ enableServer, authentication, authorization }: KubeletConfiguration): boolean {
  return !enableServer || (authentication.anonymous.enabled && authorization.mode === 'AlwaysAllow');
}

/** The address that it listens on, as `host:port`; null when it is switched off or could not be had yet. */
export async function openListener({ loaded, profile, logger }: DaemonContext, queries: AgentQueries, teardown: Teardown): Promise<string | null> {
  const { healthzPort, healthzBindAddress } = loaded.configuration;
  const address = isLoopback(healthzBindAddress) ? healthzBindAddress : '127.0.0.1';
  const port = profile.listenPort ?? healthzPort;
  if (port === 0 && profile.listenPort === null) return null;
  if (address !== healthzBindAddress) logger.log('warn', 'The health check listens on loopback only', { healthzBindAddress, address });
  // A demonstration, which is started with a port, says where its own commands look.
  const pods = profile.listenPort !== null || tellsPods(loaded.configuration) ? podsRoutes(queries) : [];
  let server: LoopbackHttpServer | null = null;
  let retry: NodeJS.Timeout | null = null;
  let closed = false;
  const listen = async (): Promise<void> => {
    try {
      server = await LoopbackHttpServer.listen({
        address,
        port,
        routes: [...healthRoutes(pingOnly), ...pods],
        onError: (error, path) => logger.log('error', 'Request failed', { path, err: String(error) }),
      });
      if (closed) await server.close(0);
    } catch (error) {
      logger.log('error', 'Failed to start healthz server', { err: error instanceof Error ? error.message : String(error) });
      if (!closed) retry = setTimeout(() => void listen(), retryMillis).unref();
    }
  };
  teardown.add('listener', async () => {
    closed = true;
    if (retry !== null) clearTimeout(retry);
    await server?.close(closeMillis);
  });
  await listen();
  return server === null ? null : hostPort(address, (server as LoopbackHttpServer).port);
}

function hostPort(address: string, port: number): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
}
