// The daemon's way to the apiserver: what `--kubeconfig` says, as clients that the agent's ports stand on. Without one the node is standalone.
//
// | the kubeconfig                                        | the start                                                    |
// |-------------------------------------------------------|--------------------------------------------------------------|
// | is not given                                          | goes on without an apiserver                                 |
// | can't be read, has no context, no server, a bad field | is refused                                                   |
// | holds authorities, a pair or files that can't be used | is refused                                                   |
// | is fine, and the server is away, or says no           | goes on; the agent asks again, as for everything             |
import { type ApiClients, type ClientConfig, KubeconfigError, loadKubeconfig, openApiClients, unusableCredentials } from '../../adapters/apiserver/index.js';
import type { LoadedConfiguration } from '../../domain/configuration/load-configuration.js';
import { microsPerSecond } from '../../domain/values/time.js';
import type { Micros } from '../../ports/micros.js';
import type { ApiWatchEvents } from '../../ports/outbound/apiserver.js';
import type { Logger } from '../../ports/outbound/logger.js';
import { reportedVersion } from '../cli/version.js';
import { micros } from './kubelet-settings.js';
import { StartRefusal } from './start-refusal.js';

/** null: the node is standalone. */
export interface ApiAccess {
  readonly clients: ApiClients | null;
}

export interface ApiAccessOptions {
  readonly loaded: LoadedConfiguration;
  readonly logger: Logger;
  readonly clock: { now(): Micros };
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export function openApiAccess({ loaded, logger, clock, environment }: ApiAccessOptions, deliver: (events: ApiWatchEvents) => void): ApiAccess {
  const { configuration: c, options } = loaded;
  if (options.kubeconfig === '') return { clients: null };
  const config = loadedKubeconfig(loaded);
  const unusable = unusableCredentials(config);
  if (unusable !== null) throw new StartRefusal(`failed to run Kubelet: failed to initialize kubelet client: ${unusable}`);
  logger.log('info', 'Using kubeconfig', { path: config.path, server: config.server });
  const clients = openApiClients({
    config,
    userAgent: userAgent(),
    main: { perSecond: c.kubeAPIQPS, burst: c.kubeAPIBurst },
    events: { perSecond: c.eventRecordQPS, burst: c.eventBurst },
    heartbeatTimeoutMicros: heartbeatTimeout(micros(c.nodeStatusUpdateFrequency), c.nodeLeaseDurationSeconds * microsPerSecond),
    environment,
    now: () => clock.now(),
    deliver,
    problem: (err) => logger.log('error', 'Client credentials can not be used', { err }),
  });
  return { clients };
}

function loadedKubeconfig({ configuration, options }: LoadedConfiguration): ClientConfig {
  try {
    return loadKubeconfig(options.kubeconfig);
  } catch (error) {
    if (!(error instanceof KubeconfigError)) throw error;
    throw new StartRefusal(`failed to run Kubelet: ${configuration.rotateCertificates ? 'unable to load kubeconfig' : 'invalid kubeconfig'}: ${error.message}`);
  }
}

/** A heartbeat that takes longer than either is of no use. */
function heartbeatTimeout(statusUpdate: Micros, lease: Micros): Micros {
  return Math.min(statusUpdate, lease);
}

/** As the reference's clients name themselves; servers take the part before the slash for the owner of fields. */
function userAgent(): string {
  const architectures: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386' };
  return `kubelet/${reportedVersion()} (${process.platform}/${architectures[process.arch] ?? process.arch}) kubernetes/unknown`;
}
