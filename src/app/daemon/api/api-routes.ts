// The routes of the kubelet's port, as the configuration has them switched on (spec/config-and-api.md, 10.2 to 10.4).

import { FileLogReader } from '../../../adapters/container-logs/index.js';
import {
  checkpointRoute,
  configzRoute,
  containerLogRoutes,
  disabledRoute,
  flagzRoute,
  healthKubeletRoutes,
  type KubeletRoute,
  nodeLogQueryRoute,
  nodeLogRoute,
  type ProfileSources,
  podRoutes,
  profileRoute,
  runningPodsRoute,
  statuszRoute,
  streamRoutes,
  verbosityRoute,
} from '../../../adapters/http-server/index.js';
import { SystemJournal } from '../../../adapters/linux/index.js';
import { nodeLogFiles } from '../../../adapters/storage/index.js';
import { type FactsOfStart, settingsInEffect } from '../../../domain/configuration/settings-in-effect.js';
import { shownConfiguration, shownFlags } from '../../../domain/configuration/shown-settings.js';
import { nodeLogQueries } from '../../../domain/logs/node-log-query.js';
import { instantOf } from '../../../domain/values/instant.js';
import { formatRfc3339 } from '../../../domain/values/time.js';
import type { NodeContainerOperations } from '../../../ports/inbound/node-containers.js';
import type { PortOf } from '../../../ports/operation.js';
import type { Resolver } from '../../bind-to.js';
import { reportedVersion } from '../../cli/version.js';
import { tokens } from '../../tokens.js';
import type { DaemonContext } from '../daemon-context.js';
import { runningPods } from '../running-pods.js';

const nodeLogDirectory = '/var/log';
const debugPatterns = [
  '/run',
  '/run/',
  '/exec',
  '/exec/',
  '/attach',
  '/attach/',
  '/portForward',
  '/portForward/',
  '/containerLogs',
  '/containerLogs/',
  '/runningpods/',
  '/debug/pprof/',
  '/logs/',
];

/** Routes for every client with access to the node; the only ones on the read-only port, and without debugging handlers. */
export function readOnlyRoutes(resolver: Resolver): readonly KubeletRoute[] {
  const queries = resolver.get(tokens.queries);
  return [...healthKubeletRoutes(queries), ...podRoutes(queries), ...debugPatterns.map((pattern) => disabledRoute(pattern, 'Debug endpoints are disabled.\n'))];
}

export function allRoutes(context: DaemonContext, resolver: Resolver, startedMillis: number, factsOfStart: () => Omit<FactsOfStart, 'verbosity'>): readonly KubeletRoute[] {
  const { configuration, features } = context.loaded;
  let { verbosity } = configuration.logging;
  const setVerbosity = (level: number): void => {
    context.setVerbosity(level);
    verbosity = level;
  };
  const inEffect = () => settingsInEffect(context.loaded, { ...factsOfStart(), verbosity });
  const queries = resolver.get(tokens.queries);
  const containers = resolver.get(tokens.nodeContainers);
  return [
    ...healthKubeletRoutes(queries),
    ...podRoutes(queries),
    runningPodsRoute((signal) => runningPods(resolver.get(tokens.runtime), signal)),
    configzRoute(() => shownConfiguration(inEffect().configuration)),
    ...logRoutes(context, resolver, containers),
    ...streamRoutes(containers, features.translatesWebSockets),
    ...(features.containerCheckpoint ? [checkpointRoute(resolver.get(tokens.checkpoints))] : []),
    nodeLogs(context),
    configuration.enableProfilingHandler ? profileRoute(profileSources) : disabledRoute('/debug/pprof/', 'profiling endpoint is disabled.\n'),
    configuration.enableDebugFlagsHandler ? verbosityRoute(setVerbosity) : disabledRoute('/debug/flags/v', 'flags endpoint is disabled.\n'),
    ...zPages(context, startedMillis, () => shownFlags(inEffect())),
  ];
}

/** The inspector is loaded with the first profile. */
const profileSources: ProfileSources = {
  cpu: async (seconds, signal) => (await import('../../../adapters/profiling/index.js')).takeCpuProfile(seconds, signal),
  heap: async (seconds, signal) => (await import('../../../adapters/profiling/index.js')).takeHeapProfile(seconds, signal),
  commandLine: process.argv,
};

function nodeLogs({ loaded, native }: DaemonContext): KubeletRoute {
  const { enableSystemLogHandler, enableSystemLogQuery } = loaded.configuration;
  if (!enableSystemLogHandler) return disabledRoute('/logs/', 'logs endpoint is disabled.\n');
  const open = nodeLogFiles(nodeLogDirectory, native);
  return enableSystemLogQuery && loaded.features.nodeLogQuery ? nodeLogQueryRoute({ queries: nodeLogQueries, open, journal: new SystemJournal() }) : nodeLogRoute(open);
}

export function logRoutes({ loaded, native, clock }: DaemonContext, resolver: Resolver, containers: PortOf<NodeContainerOperations>): readonly KubeletRoute[] {
  const queries = resolver.get(tokens.queries);
  const reader = new FileLogReader({ openFileWatch: (listener) => native.openFileWatch(listener) });
  return containerLogRoutes({
    pod: (namespace, name) => queries.pod(namespace, name),
    containers,
    read: ({ path, containerId }, podUid, options, signal) => reader.read({ log: { path, mayGrow: async () => queries.isContainerRunning(podUid, containerId) }, options, signal }),
    wall: () => clock.wall(),
    splitStreams: loaded.features.splitsLogStreams,
  });
}

function zPages({ loaded }: DaemonContext, startedMillis: number, flags: () => ReturnType<typeof shownFlags>): readonly KubeletRoute[] {
  const { features } = loaded;
  const hasFlags = features.flagz;
  const statusz = statuszRoute(() => ({
    startTime: formatRfc3339(instantOf(startedMillis * 1000)),
    uptimeSeconds: Math.floor(process.uptime()),
    runtimeVersion: process.version,
    binaryVersion: reportedVersion(),
    emulationVersion: reportedVersion(),
    paths: ['/configz', '/debug', ...(hasFlags ? ['/flagz'] : []), '/healthz', '/metrics'],
  }));
  return [...(hasFlags ? [flagzRoute(flags)] : []), ...(features.statusz ? [statusz] : [])];
}
