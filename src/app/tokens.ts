// The parts that a daemon is wired from. One token a role; two roles of one technology have types of their own, so that they can't be mixed up.
import type { CriConnection, RuntimeNotices } from '../adapters/cri/index.js';
import type { EndedSteps, FlightRecorder } from '../adapters/flight-record/index.js';
import type { NativeLinux } from '../adapters/native-linux/index.js';
import type { AgentNodeStats } from '../adapters/node-stats/index.js';
import type { OwnedPods } from '../adapters/storage/index.js';
import type { SystemBus, SystemdUnits } from '../adapters/systemd/index.js';
import type { KubeletEvent, KubeletOperations, KubeletPorts, KubeletSettings, KubeletState } from '../domain/agent/kubelet.js';
import type { LoopHealth } from '../domain/agent-queries/loop-health.js';
import type { CgroupDriver } from '../domain/cgroups/cgroup-name.js';
import type { LoadedConfiguration } from '../domain/configuration/load-configuration.js';
import type { NodeFacts } from '../domain/containers/node-facts.js';
import type { Kernel } from '../domain/kernel/kernel.js';
import type { AgentObserver } from '../domain/kubelet-metrics/agent-observer.js';
import type { PodLives } from '../domain/live-page/pod-lives.js';
import type { AgentQueries } from '../ports/inbound/agent-queries.js';
import type { ContainerCheckpointOperations } from '../ports/inbound/container-checkpoints.js';
import type { NodeContainerOperations } from '../ports/inbound/node-containers.js';
import type { PortOf } from '../ports/operation.js';
import type { Logger } from '../ports/outbound/logger.js';
import { operationNames } from '../ports/outbound/operation-names.js';
import type { RuntimeStreamingOperations } from '../ports/outbound/runtime-streaming.js';
import { type TokensOfMembers, token } from './bind-to.js';
import type { Clock } from './clock.js';
import type { ApiAccess } from './daemon/api-access.js';
import type { DaemonProfile } from './daemon/daemon-profile.js';
import type { Inbox } from './daemon/inbox.js';
import type { Teardown } from './daemon/teardown.js';
import type { DaemonTracing } from './daemon/tracing/daemon-tracing.js';
import type { Shell } from './shell/shell.js';

export interface RuntimeService {
  readonly runtimeService: CriConnection;
}
export interface ImageService {
  readonly imageService: CriConnection;
}
/** null: this agent owns the node, and every pod in its runtime. */
export interface Ownership {
  readonly pods: OwnedPods | null;
}
/** Variables of this process. */
export interface Environment {
  readonly environment: Readonly<Record<string, string | undefined>>;
}
export interface Recording {
  readonly recorder: FlightRecorder | null;
}
/** null: it isn't configured. */
export interface Tracing {
  readonly tracing: DaemonTracing | null;
}
/** The manager of the cgroup tree. */
export interface CgroupDriving {
  readonly driver: CgroupDriver;
}
export interface Seed {
  readonly seed: number;
}
export interface Ending {
  /** A programmer error: the daemon ends. */
  fatal(error: unknown): void;
}

const portNames = [...Object.keys(operationNames), 'manifestDirectory', 'manifestUrl'];
/** One for each outbound port, from the table of ports. */
export const portTokens = Object.fromEntries(portNames.map((name) => [name, token(name)])) as unknown as TokensOfMembers<KubeletPorts>;

export const tokens = {
  ...portTokens,
  configuration: token<LoadedConfiguration>('configuration'),
  profile: token<DaemonProfile>('profile'),
  logger: token<Logger>('logger'),
  logFailure: token<() => string | null>('logFailure'),
  clock: token<Clock>('clock'),
  native: token<NativeLinux>('native'),
  ending: token<Ending>('ending'),
  teardown: token<Teardown>('teardown'),
  inbox: token<Inbox>('inbox'),
  observer: token<AgentObserver>('observer'),
  lives: token<PodLives>('lives'),
  tracing: token<Tracing>('tracing'),
  environment: token<Environment>('environment'),
  systemBus: token<SystemBus>('systemBus'),
  systemdUnits: token<SystemdUnits>('systemdUnits'),
  cgroupDriving: token<CgroupDriving>('cgroupDriving'),

  apiAccess: token<ApiAccess>('apiAccess'),
  runtimeService: token<RuntimeService>('runtimeService'),
  imageService: token<ImageService>('imageService'),
  notices: token<RuntimeNotices>('notices'),

  agentNodeStats: token<AgentNodeStats>('agentNodeStats'),
  ports: token<KubeletPorts>('ports'),

  settings: token<KubeletSettings>('settings'),
  facts: token<NodeFacts>('facts'),
  seed: token<Seed>('seed'),
  ownership: token<Ownership>('ownership'),
  recording: token<Recording>('recording'),
  endedSteps: token<EndedSteps>('endedSteps'),
  kernel: token<Kernel<KubeletState, KubeletEvent, KubeletOperations>>('kernel'),
  shell: token<Shell<KubeletState, KubeletEvent, KubeletOperations>>('shell'),
  loopHealth: token<LoopHealth>('loopHealth'),
  queries: token<AgentQueries>('queries'),
  nodeContainers: token<PortOf<NodeContainerOperations>>('nodeContainers'),
  streaming: token<PortOf<RuntimeStreamingOperations>>('streaming'),
  checkpoints: token<PortOf<ContainerCheckpointOperations>>('checkpoints'),
} as const;
