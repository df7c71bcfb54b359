// DRA drivers as plugins of the node: which are accepted, and the endpoint of a driver. A driver may have several plugins at once, while a newer one takes
// over from an older.

import type { View } from '../kernel/view.js';
import type { PluginManager } from './plugin-manager-state.js';

export const draType = 'DRAPlugin';
/** The name that plugins use; the service itself is `k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin`. */
const supportedService = 'v1.DRAPlugin';

/** Why it can't be registered, in the words of the notification; null: it can. */
export function draPluginProblem({ draPlugins }: PluginManager, name: string, endpoint: string, services: readonly string[]): string | null {
  const refuse = (why: string) => `plugin validation failed with err: invalid supported gRPC versions of DRA driver plugin ${name} at endpoint ${endpoint}: ${why}`;
  if (services.length === 0) return refuse('empty list of supported gRPC services (aka supported versions)');
  if (!services.includes(supportedService)) return refuse(`none of [${services.join(' ')}] is supported by this kubelet, which supports ${supportedService}`);
  if (draPlugins.some((plugin) => plugin.name === name && plugin.endpoint === endpoint))
    return `plugin registration failed with err: endpoint ${endpoint} already registered for DRA driver plugin ${name}`;
  return null;
}

/** Returns the driver's name; null: the socket brought no plugin of a DRA driver. */
export function removeDraPlugin({ draPlugins }: PluginManager, socket: string): string | null {
  const at = draPlugins.findIndex((plugin) => plugin.socket === socket);
  return at < 0 ? null : (draPlugins.splice(at, 1)[0]?.name ?? null);
}

/** The endpoint of the driver's newest plugin; null: no plugin. */
export function draEndpoint({ draPlugins }: View<PluginManager>, driver: string): string | null {
  return draPlugins.findLast(({ name }) => name === driver)?.endpoint ?? null;
}
