// The loopback listener: /healthz for monitors of the daemon, and /pods for local clients, unless that would bypass the
// kubelet's own port. Invariant: pods are served on loopback only; a busy port is retried and never ends the daemon.
import { healthRoutes, isLoopback, LoopbackHttpServer, pingOnly, podsRoutes } from '../../adapters/http-server/index.js';
import type { KubeletConfiguration } from '../../domain/configuration/schema.js';
import type { AgentQueries } from '../../ports/inbound/agent-queries.js';
import type { DaemonContext } from './daemon-context.js';
import type { Teardown } from './teardown.js';

const retryMillis = 5_000;
const closeMillis = 200;

/** Pods on the host network can access loopback: it must not serve what the kubelet's own port protects by authentication. */
export function servesPods({ enableServer, authentication, authorization }: KubeletConfiguration): boolean {
  return !enableServer || (authentication.anonymous.enabled && authorization.mode === 'AlwaysAllow');
}

/** The address that it listens on, as `host:port`; null if disabled or not available yet. */
export async function openListener({ loaded, profile, logger }: DaemonContext, queries: AgentQueries, teardown: Teardown): Promise<string | null> {
  const { healthzPort, healthzBindAddress } = loaded.configuration;
  const address = isLoopback(healthzBindAddress) ? healthzBindAddress : '127.0.0.1';
  const port = profile.listenPort ?? healthzPort;
  if (port === 0 && profile.listenPort === null) return null;
  if (address !== healthzBindAddress) logger.log('warn', 'The health check listens on loopback only', { healthzBindAddress, address });
  // A demonstration, which is started with a port, serves its own commands.
  const pods = profile.listenPort !== null || servesPods(loaded.configuration) ? podsRoutes(queries) : [];
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
