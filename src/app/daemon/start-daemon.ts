// Starts a kubelet as a daemon: checks, locks, the handshake with the runtime, the parts, the first event. Each step registers its teardown, so that
// a failed start is undone like a stop.
//
// | step                                             | refuses                                                     |
// |--------------------------------------------------|-------------------------------------------------------------|
// | configuration, lock file, root directory         | bad values, another agent on the same root                  |
// | access to the apiserver                          | an unusable kubeconfig or unusable credentials              |
// | handshake with the runtime, cgroup driver        | a runtime that doesn't answer or speaks another version;    |
// |                                                  | the driver systemd on a host without systemd                |
// | host                                             | swap, kernel tunables                                       |
// | resource managers                                | inconsistent policies, machine and state files              |
// | pods on the host                                 | pods of another agent, unless this agent owns the node      |
// | reserved cgroups                                 | one that is absent, or accepts no limit                     |
// | agent, notices, listener, service manager        | an unwritable record, a port in use                         |
import { randomInt } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { runtimeCgroupDriver, validateServices } from '../../adapters/cri/index.js';
import { EndedSteps, FlightRecorder } from '../../adapters/flight-record/index.js';
import { hostAddresses, labelPluginDirectories, readHost, readPassingFacts, watchPassingFacts } from '../../adapters/linux/index.js';
import { holdLockFile, lockRootDirectory, settleProcess, Watchdog } from '../../adapters/native-linux/index.js';
import { makeDataDirectories, OwnedPods, pluginDirectories, shareRootDirectory } from '../../adapters/storage/index.js';
import { meetSystemd } from '../../adapters/systemd/index.js';
import { podResourceQueries } from '../../domain/agent/resource-managers/pod-holdings.js';
import { strangers, strangersRefusal, uidsOnHost } from '../../domain/agent-queries/foreign-pods.js';
import type { CgroupDriver } from '../../domain/cgroups/cgroup-name.js';
import type { AgentQueries } from '../../ports/inbound/agent-queries.js';
import { SetupFailure, StartRefusal } from '../../ports/start-refusal.js';
import type { Resolver } from '../bind-to.js';
import { daemonContainer } from '../modules.js';
import { type Recording, tokens } from '../tokens.js';
import { alignmentSettings } from './alignment-start.js';
import { checkAllocationFiles } from './allocation-start.js';
import { openKubeletApi } from './api/kubelet-api.js';
import { type ApiAccess, openApiAccess } from './api-access.js';
import { asRefusal } from './as-refusal.js';
import { certificateDirectory } from './certificate-directory.js';
import { cgroupDriverInEffect } from './cgroup-driver.js';
import { clusterNode } from './cluster-node.js';
import { credentialProvidersOf } from './credential-providers.js';
import type { DaemonContext } from './daemon-context.js';
import { draSettings } from './dra-start.js';
import { podsOnHost, uidsOfManifests } from './foreign-pods.js';
import { nodeFactsOf, type SteadyFacts } from './host-node-facts.js';
import { kubeletSettings, nodeIpsOf, nodeNameOf } from './kubelet-settings.js';
import { openListener } from './listener.js';
import { enforceReserved, nodeCgroupSettings } from './node-cgroups-start.js';
import { observedTimesSettings } from './observed-times-start.js';
import { type LivePage, openLivePage } from './open-live-page.js';
import { type NodeNumbers, openNodeStats } from './open-node-stats.js';
import { openOomWatch } from './open-oom-watch.js';
import { openPodResources } from './open-pod-resources.js';
import { setAsideSettings } from './set-aside-start.js';
import { type EventAtStart, recordAtStart, setupFailed } from './setup-failed.js';
import { checkConfiguration, checkHost, logNotes } from './start-checks.js';
import { Teardown } from './teardown.js';
import { openTracing } from './tracing/open-tracing.js';
import { userNamespaceRange } from './user-namespace-range.js';

export type DaemonEnd =
  /** A failed assertion, or something else that leaves no state to trust. */
  | { readonly kind: 'failed'; readonly error: unknown }
  /** Another process wants the lock file. */
  | { readonly kind: 'contended' };

export interface Daemon {
  readonly queries: AgentQueries;
  /** The address of the loopback listener, e.g. `127.0.0.1:10248`; null: none. */
  readonly address: string | null;
  /** Port of the authenticated API; null: it isn't served. */
  readonly apiPort: number | null;
  /** The live page; null: it isn't open. */
  readonly page: LivePage | null;
  readonly nodeName: string;
  /** Resolves when the daemon ends by itself; it is still to be stopped then. */
  readonly ended: Promise<DaemonEnd>;
  /** UIDs that this agent marked as its own; null where it owns the node. */
  ownedUids(): ReadonlySet<string> | null;
  /** The container of all parts, for tests. */
  readonly resolver: Resolver;
  /** Withdraws all pods from the agent, despite its manifests: for demonstrations that clean up. */
  withdrawPods(): void;
  /** Stops the agent. Containers keep running. Idempotent, never rejects, within 3 s. */
  stop(): Promise<void>;
}

const calling = (): { readonly signal: AbortSignal; readonly timeoutMicros: null } => ({ signal: new AbortController().signal, timeoutMicros: null });

/** Throws StartRefusal, with nothing left running. */
export async function startDaemon(context: DaemonContext): Promise<Daemon> {
  const teardown = new Teardown(context.logger);
  const start = new DaemonStart(context, teardown);
  try {
    return await start.run();
  } catch (error) {
    if (error instanceof SetupFailure) await start.record(setupFailed(error.reason));
    await teardown.run();
    throw asRefusal(error);
  }
}

class DaemonStart {
  private readonly container;
  private readonly resolver: Resolver;
  private end: (end: DaemonEnd) => void = () => {};
  private readonly ended: Promise<DaemonEnd>;

  constructor(
    private readonly context: DaemonContext,
    private readonly teardown: Teardown,
  ) {
    const { loaded, profile, logger, clock, native } = context;
    this.ended = new Promise((resolve) => {
      this.end = resolve;
    });
    this.container = daemonContainer((bind) => {
      bind.toValue(tokens.configuration, loaded);
      bind.toValue(tokens.profile, profile);
      bind.toValue(tokens.logger, logger);
      bind.toValue(tokens.logFailure, this.context.logFailure);
      bind.toValue(tokens.clock, clock);
      bind.toValue(tokens.native, native);
      bind.toValue(tokens.teardown, teardown);
      bind.toValue(tokens.environment, { environment: context.environment });
      bind.toValue(tokens.ending, { fatal: (error) => this.fail(error) });
    });
    this.resolver = this.container.resolver;
  }

  async run(): Promise<Daemon> {
    const { loaded, profile, logger, native, environment } = this.context;
    const { configuration, options } = loaded;
    const host = readHost();
    const startup = checkConfiguration(loaded, host, environment);
    logNotes(loaded, profile, logger);
    if (native.degradations.length > 0) logger.log('warn', 'Running without the native addon', { reason: native.reason, degradations: native.degradations });
    if (options.lockFile !== '') {
      const onContention = options.exitOnLockContention ? () => this.end({ kind: 'contended' }) : null;
      await holdLockFile(options.lockFile, native, this.teardown, onContention);
    }
    const credentialProviders = credentialProvidersOf(options);
    const nodeName = nodeNameOf(options.hostnameOverride, hostname());
    nodeIpsOf(options.nodeIp);
    await lockRootDirectory(options.rootDir, native, this.teardown);
    const endedSteps = EndedSteps.open(options.rootDir, logger);
    this.container.add((bind) => bind.toValue(tokens.endedSteps, endedSteps));
    const tracing = await openTracing(this.context, this.teardown);
    this.container.add((bind) => bind.toValue(tokens.tracing, { tracing }));
    const access = await this.openApi(nodeName);
    const [cgroupDriver, sendsEvents] = await Promise.all([this.shakeHands(), this.resolver.get(tokens.notices).open()]);
    const tunables = checkHost(loaded, host, profile, logger);
    const node = access.clients === null ? null : clusterNode(loaded, nodeName, startup);
    const userNamespaces = await userNamespaceRange(configuration, environment);
    const managerPorts = { machine: this.resolver.get(tokens.machine), stateFiles: this.resolver.get(tokens.stateFiles), runtime: this.resolver.get(tokens.runtime) };
    await checkAllocationFiles(loaded.options.rootDir, managerPorts.stateFiles, calling());
    const alignment = await alignmentSettings(loaded, startup, managerPorts, calling());
    const dra = await draSettings(managerPorts.stateFiles, calling());
    const machine = await this.resolver.get(tokens.machine).read(null, calling());
    const nodeCgroups = nodeCgroupSettings(loaded, startup, machine, host);
    const setAside = await setAsideSettings(endedSteps, managerPorts.stateFiles, logger, calling());
    const observedTimes = await observedTimesSettings(machine, managerPorts.stateFiles, this.context.clock, logger, calling());
    const managers = { userNamespaces, apparmorEnabled: host.apparmorEnabled, alignment, dra, nodeCgroups, setAside, observedTimes };
    const settings = kubeletSettings(loaded, profile, nodeName, sendsEvents, node, credentialProviders, managers);
    const steady: SteadyFacts = { loaded, host, startup, cgroupDriver, machine };
    const passing = readPassingFacts(configuration.resolvConf, hostAddresses());
    this.container.add((bind) => {
      bind.toValue(tokens.settings, settings);
      bind.toValue(tokens.facts, nodeFactsOf(steady, passing));
      bind.toValue(tokens.seed, { seed: randomInt(0, 2 ** 31) });
    });
    makeDataDirectories({ rootDirectory: options.rootDir, podLogsDirectory: configuration.podLogsDir, containerLogLinks: profile.containerLogLinks });
    if (profile.ownsNode) await shareRootDirectory(options.rootDir, native.mounts, logger, calling());
    await labelPluginDirectories(pluginDirectories(options.rootDir), host.selinuxEnabled, logger);
    const owned = await this.admit();
    if (profile.ownsNode) settleProcess(configuration, tunables, native, logger);
    const record = (type: EventAtStart['type'], reason: string, message: string) => this.record({ type, reason, message });
    await enforceReserved(loaded, startup, cgroupDriver, host, this.resolver.get(tokens.podCgroups), record, calling());
    this.container.add((bind) => {
      bind.toValue(tokens.ownership, { pods: owned });
      bind.toValue(tokens.recording, this.recording());
    });
    return this.begin(nodeName, steady, owned);
  }

  /** Before the agent starts and after it stops, only logs. */
  async record(event: EventAtStart): Promise<void> {
    const { loaded, logger, clock } = this.context;
    const nodeName = nodeNameOf(loaded.options.hostnameOverride, hostname());
    const { clients } = this.resolver.get(tokens.apiAccess);
    await recordAtStart(event, { nodeName, wall: clock.wall(), log: this.resolver.get(tokens.events), writer: clients?.writer ?? null, logger });
  }

  private async openApi(nodeName: string): Promise<ApiAccess> {
    const { loaded, logger, clock, environment } = this.context;
    const inbox = this.resolver.get(tokens.inbox);
    const access = await openApiAccess({
      loaded,
      nodeName,
      certificateDirectory: certificateDirectory(loaded.options),
      logger,
      clock,
      environment,
      trace: this.resolver.get(tokens.tracing).tracing?.apiRequest ?? null,
      deliver: (events) => inbox.deliver(events),
      stopped: (name, stop) => this.teardown.add(name, stop),
      end: (error) => this.end({ kind: 'failed', error }),
    });
    this.container.add((bind) => bind.toValue(tokens.apiAccess, access));
    return access;
  }

  /** Both services of the runtime, and the cgroup driver that counts. */
  private async shakeHands(): Promise<CgroupDriver> {
    const { loaded, logger } = this.context;
    const connection = this.resolver.get(tokens.runtimeService).runtimeService;
    const imageConnection = this.resolver.get(tokens.imageService).imageService;
    const state = this.resolver.get(tokens.runtime);
    const images = this.resolver.get(tokens.images);
    const version = await validateServices({ connection, state }, { connection: imageConnection, images }, calling().signal);
    const fromRuntime = await runtimeCgroupDriver(connection, calling().signal, (micros) => delay(micros / 1000));
    logger.log('info', 'Container runtime connected', { runtime: version.runtimeName, version: version.runtimeVersion, endpoint: connection.endpoint });
    const driver = cgroupDriverInEffect(fromRuntime, loaded.configuration.cgroupDriver as CgroupDriver, logger);
    this.container.add((bind) => bind.toValue(tokens.cgroupDriving, { driver }));
    if (driver === 'systemd' && loaded.configuration.cgroupsPerQOS) await meetSystemd(this.resolver.get(tokens.systemdUnits), logger);
    return driver;
  }

  /** That the host holds no pods of others. Null where this agent owns the node. */
  private async admit(): Promise<OwnedPods | null> {
    const { loaded, profile, logger } = this.context;
    if (profile.ownsNode) return null;
    const ports = this.resolver.get(tokens.ports);
    const { fileSource } = this.resolver.get(tokens.settings);
    const found = await podsOnHost(ports, loaded.configuration.cgroupsPerQOS);
    const owned = new OwnedPods(loaded.options.rootDir);
    const directories = await ports.podDirectories.list(null, calling());
    const known = new Set([...owned.uids, ...directories, ...(profile.adoptsByManifest ? await uidsOfManifests(ports, fileSource) : [])]);
    const others = strangers(found, known);
    const advice = profile.takeOverAdvice;
    const refusal = strangersRefusal(others, loaded.configuration.containerRuntimeEndpoint, advice);
    if (refusal !== null && !profile.takeOver) throw new StartRefusal(`failed to run Kubelet: ${refusal}`);
    if (refusal !== null) logger.log('warn', 'Taking over a runtime with pods that this agent does not know', { pods: others });
    owned.keepOnly(new Set([...uidsOnHost(found), ...directories]));
    owned.forgetBy(async () => {
      const [now, ofPods] = await Promise.all([podsOnHost(ports, loaded.configuration.cgroupsPerQOS), ports.podDirectories.list(null, calling())]);
      return new Set([...uidsOnHost(now), ...ofPods]);
    });
    return owned;
  }

  private recording(): Recording {
    const { profile, logger } = this.context;
    if (profile.flightRecord === null) return { recorder: null };
    const beginning = { ...this.resolver.get(tokens.seed), settings: this.resolver.get(tokens.settings), facts: this.resolver.get(tokens.facts) };
    try {
      const recorder = FlightRecorder.begin(profile.flightRecord, beginning, (why) => logger.log('warn', 'The flight record has ended', { why }));
      this.teardown.add('flight record', () => recorder.close());
      logger.log('warn', 'Every input is recorded, pod specs with their environment included', { file: profile.flightRecord.path });
      return { recorder };
    } catch (error) {
      throw new StartRefusal(`failed to run Kubelet: flight record: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  private async begin(nodeName: string, steady: SteadyFacts, owned: OwnedPods | null): Promise<Daemon> {
    const { native, logger } = this.context;
    const { resolver, teardown } = this;
    const shell = resolver.get(tokens.shell);
    const queries = resolver.get(tokens.queries);
    teardown.add('agent', () => shell.stop());
    resolver.get(tokens.inbox).connect((event) => shell.deliver(event));
    resolver.get(tokens.notices).connect((event) => shell.deliver(event));
    let numbers: Promise<NodeNumbers> | null = null;
    const nodeNumbers = () => {
      numbers ??= openNodeStats(this.context, resolver, teardown, nodeName, Date.now());
      return numbers;
    };
    resolver.get(tokens.agentNodeStats).connect(async () => (await nodeNumbers()).reading());
    const api = await openKubeletApi(this.context, resolver, teardown, nodeName, steady.startup, nodeNumbers);
    const podResources = { rootDirectory: steady.loaded.options.rootDir, queries: podResourceQueries(resolver.get(tokens.kernel).state.agent) };
    await openPodResources({ ...podResources, onCall: (call) => resolver.get(tokens.observer).podResourcesCall(call) }, logger, teardown);
    const address = await openListener(this.context, queries, teardown);
    const page = await openLivePage(this.context, resolver, teardown, nodeName, nodeNumbers);
    // In a cluster the node itself records it.
    if (resolver.get(tokens.settings).node === null) await resolver.get(tokens.events).record(startingEvent(nodeName), calling());
    shell.deliver({ type: 'start' });
    await openOomWatch(this.context, resolver, teardown, (kill) => shell.deliver({ type: 'oomKill', kill }));
    teardown.add(
      'node facts',
      watchPassingFacts(steady.loaded.configuration.resolvConf, (passing) => shell.deliver({ type: 'nodeFacts', facts: nodeFactsOf(steady, passing) })),
    );
    const watchdog = new Watchdog(native.serviceManager, () => queries.health(), logger);
    watchdog.start();
    teardown.add('watchdog', () => watchdog.stop());
    this.notifyReady();
    return {
      queries,
      address,
      apiPort: api.port,
      page,
      nodeName,
      ended: this.ended,
      resolver,
      ownedUids: () => owned?.uids ?? null,
      withdrawPods: () => shell.deliver({ type: 'withdraw-pods' }),
      stop: () => teardown.run(),
    };
  }

  private notifyReady(): void {
    try {
      this.context.native.serviceManager.notify(['READY=1']);
    } catch (error) {
      this.context.logger.log('warn', 'Unable to send systemd daemon successful start message', { err: error instanceof Error ? error.message : String(error) });
    }
  }

  private fail(error: unknown): void {
    this.context.logger.log('error', 'The agent failed and ends', { err: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    this.end({ kind: 'failed', error });
  }
}

function startingEvent(nodeName: string) {
  return { involvedObject: { kind: 'Node', name: nodeName, uid: nodeName }, type: 'Normal', reason: 'Starting', message: 'Starting kubelet.' } as const;
}
