// Warnings about the server that a configuration creates: that it is too open, as it is without a
// configuration file (the Go kubelet's legacy defaults, which are kept), and that it allows weak settings.
import type { KubeletConfiguration } from './schema.js';
import { insecureCipherSuites } from './tls-options.js';

/** One line about everything that is open; null: nothing is. */
export function opennessWarning({ enableServer, authentication, authorization, readOnlyPort, address, port }: KubeletConfiguration): string | null {
  if (!enableServer) return null;
  const isAnonymous = authentication.anonymous.enabled;
  const isFree = authorization.mode === 'AlwaysAllow';
  const server = `on ${address}:${port}`;
  const commands = `any client that reaches it ${server} may run commands in every container (authentication.anonymous.enabled with authorization.mode AlwaysAllow)`;
  const open = [
    ...(isAnonymous && isFree ? [commands] : []),
    ...(!isAnonymous && isFree ? [`any client that can authenticate ${server} may do everything (authorization.mode AlwaysAllow)`] : []),
    ...(readOnlyPort === 0 ? [] : [`any client that reaches ${address}:${readOnlyPort} may read all pods and numbers, without TLS (readOnlyPort)`]),
  ];
  return open.length === 0 ? null : `THIS NODE IS OPEN: ${open.join('; ')}`;
}

/** Problems of its TLS settings, in the Go kubelet's words. */
export function tlsWarnings({ tlsMinVersion, tlsCipherSuites }: Pick<KubeletConfiguration, 'tlsMinVersion' | 'tlsCipherSuites'>): readonly string[] {
  const insecure = tlsCipherSuites.filter((name) => insecureCipherSuites.has(name)).map((name) => `Use of insecure cipher '${name}' detected.`);
  const useless = tlsMinVersion === 'VersionTLS13' && tlsCipherSuites.length > 0 ? ['Warning: TLS 1.3 cipher suites are not configurable.'] : [];
  return [...insecure, ...useless];
}
