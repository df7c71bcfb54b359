// Checks of the configuration and the host before anything is started, in the Go kubelet's order.
// Invariant: nothing is changed here; a refusal is the whole line that the process ends with.
import { availableParallelism } from 'node:os';
import { EndpointError, socketPathOf } from '../../adapters/cri/index.js';
import { type HostReading, readTunables } from '../../adapters/linux/index.js';
import { checkWatchdog } from '../../adapters/native-linux/index.js';
import { unusedSettings } from '../../domain/configuration/acted-on.js';
import type { LoadedConfiguration } from '../../domain/configuration/load-configuration.js';
import { checkStartup, type StartupValues } from '../../domain/configuration/startup-checks.js';
import { cloudProviderRefusal, type HostFacts, planTunables, privilegeWarning, requiredTunables, swapRefusal } from '../../domain/configuration/startup-refusals.js';
import { badNameServers, shortPeriods } from '../../domain/configuration/taken-values.js';
import { parseCpuSet } from '../../domain/values/cpu-set.js';
import { cleanPath } from '../../domain/values/slash-paths.js';
import type { Logger } from '../../ports/outbound/logger.js';
import { StartRefusal } from '../../ports/start-refusal.js';
import { type DaemonProfile, defaultRootDirectory } from './daemon-profile.js';

/** Checks of the configuration alone. */
export function checkConfiguration(loaded: LoadedConfiguration, host: HostReading, environment: Readonly<Record<string, string | undefined>>): StartupValues {
  const { configuration, options } = loaded;
  const online = parseCpuSet(host.onlineCpus);
  const cpus = online.ok ? online.value : Array.from({ length: availableParallelism() }, (_, cpu) => cpu);
  const startup = checkStartup(configuration, options, cpus);
  if (!startup.ok) throw new StartRefusal(startup.error);
  checkWatchdog(environment);
  for (const setting of ['containerRuntimeEndpoint', 'imageServiceEndpoint'] as const) checkEndpoint(setting, configuration[setting]);
  if (options.kubeconfig === '') {
    const without = 'failed to run Kubelet: no client provided, cannot use webhook';
    if (configuration.authentication.webhook.enabled) throw new StartRefusal(`${without} authentication`);
    if (configuration.authorization.mode === 'Webhook') throw new StartRefusal(`${without} authorization`);
  }
  const cloud = cloudProviderRefusal(options.cloudProvider);
  if (cloud !== null) throw new StartRefusal(`failed to run Kubelet: ${cloud}`);
  const canonical = cleanPath(options.rootDir);
  if (canonical !== options.rootDir || !canonical.startsWith('/')) {
    throw new StartRefusal(`failed to run Kubelet: rootDirectory not in canonical form: expected ${canonical}, was ${options.rootDir}`);
  }
  return startup.values;
}

/** Checks only the text: a connection shows later whether a process listens there. An empty image endpoint defaults to the runtime's. */
function checkEndpoint(setting: string, endpoint: string): void {
  if (setting === 'imageServiceEndpoint' && endpoint === '') return;
  try {
    socketPathOf(endpoint);
  } catch (error) {
    if (error instanceof EndpointError) throw new StartRefusal(`failed to run Kubelet: ${setting} ${JSON.stringify(endpoint)}: ${error.message}`);
    throw error;
  }
}

/** Swap and kernel tunables. The tunables that have to be set are the answer; empty where they are right, or not this agent's to set. */
export function checkHost(loaded: LoadedConfiguration, host: HostReading, profile: DaemonProfile, logger: Logger): Readonly<Record<string, number>> {
  const { configuration } = loaded;
  const facts: HostFacts = {
    swapOn: host.swapOn,
    cgroupVersion: host.cgroupVersion,
    effectiveUserId: process.geteuid?.() ?? 0,
    tunables: readTunables(Object.keys(requiredTunables)),
  };
  const swap = swapRefusal(configuration, facts);
  if (swap !== null) throw new StartRefusal(`failed to run Kubelet: ${swap}`);
  const plan = planTunables(configuration, facts);
  if (plan.kind === 'refuse') throw new StartRefusal(`failed to run Kubelet: ${plan.error}`);
  if (profile.ownsNode) return plan.values;
  if (Object.keys(plan.values).length > 0) {
    logger.log('debug', 'Kernel tunables are left as they are, since this is not the kubelet of the node', {
      rootDirectory: defaultRootDirectory,
      differing: Object.keys(plan.values),
    });
  }
  return {};
}

/** Logs notes on the configuration, once each. */
export function logNotes(loaded: LoadedConfiguration, profile: DaemonProfile, logger: Logger): void {
  const { configuration, options } = loaded;
  const privilege = privilegeWarning({ swapOn: false, cgroupVersion: 2, effectiveUserId: process.geteuid?.() ?? 0, tunables: {} });
  // An agent that shares its host, such as a demonstration, doesn't need them.
  if (privilege !== null) logger.log(profile.ownsNode ? 'error' : 'info', privilege);
  if (loaded.strictDecodingError !== null) logger.log('warn', 'Using lenient decoding as strict decoding failed', { err: loaded.strictDecodingError });
  for (const warning of loaded.gateWarnings) logger.log('warn', warning);
  for (const path of loaded.skippedDropIns) logger.log('debug', 'Skipping file in the drop-in directory that does not end in .conf', { path });
  for (const ip of badNameServers(configuration)) logger.log('info', 'Invalid clusterDNS IP', { IP: ip });
  for (const setting of shortPeriods(configuration)) logger.log('warn', 'Setting is too short a period, 100ms is taken', { setting });
  for (const setting of unusedSettings(configuration, options.config !== '')) logger.log('warn', 'Setting is not acted on by this kubelet yet', { setting });
  for (const flag of unusedOptions(loaded)) logger.log('warn', 'Flag is not acted on by this kubelet yet', { flag });
}

function unusedOptions({ options }: LoadedConfiguration): string[] {
  const given: readonly (readonly [string, boolean])[] = [
    ['--bootstrap-kubeconfig', options.bootstrapKubeconfig !== '' && options.kubeconfig === ''],
    ['--cloud-provider', options.cloudProvider !== '' && options.kubeconfig === ''],
    ['--node-labels', Object.keys(options.nodeLabels).length > 0 && options.kubeconfig === ''],
    ['--runtime-cgroups', options.runtimeCgroups !== ''],
  ];
  return given.flatMap(([flag, isGiven]) => (isGiven ? [flag] : []));
}
