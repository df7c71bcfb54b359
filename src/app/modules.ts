// The modules of a daemon: the runtime behind its sockets, the host's files, and the agent on top of both.
// Invariant: making a part costs no I/O but opening its own directories; resources are registered in the teardown when they are opened.

import { resolve } from 'node:path';
import { Container, ContainerModule } from 'inversify';
import { NodeRegistryCredentials } from '../adapters/credentials/index.js';
import { CriConnection, CriContainers, CriImages, CriRuntimeEvents, CriRuntimeState, CriSandboxes, CriStreaming, RuntimeNotices } from '../adapters/cri/index.js';
import { failingPort, joining } from '../adapters/decorators/index.js';
import { type CgroupFilesOf, CgroupfsPodCgroups, HttpManifestUrl, LinuxMachine, LinuxManifestDirectory, SystemdPodCgroups } from '../adapters/linux/index.js';
import { LoggingEventSink } from '../adapters/logging/index.js';
import { AgentNodeStats } from '../adapters/node-stats/index.js';
import { NetworkProbing } from '../adapters/probes/index.js';
import { FileContainerLogs, FilePodDirectories, FilePodLogs, FilePullRecords, FileStateFiles } from '../adapters/storage/index.js';
import { LogindNodeShutdown, SystemdUnits, systemBusOf } from '../adapters/systemd/index.js';
import { type KubeletEvent, type KubeletOperations, type KubeletState, kubeletMachine, newKubeletState } from '../domain/agent/kubelet.js';
import { agentQueries, mirrorUids } from '../domain/agent-queries/agent-queries.js';
import { endedAgent } from '../domain/agent-queries/ended-agent.js';
import { LoopHealth } from '../domain/agent-queries/loop-health.js';
import { cgroupFiles } from '../domain/cgroups/cgroup-files.js';
import { sliceNaming } from '../domain/cgroups/cgroup-name.js';
import { nodeAllocatableCgroup } from '../domain/cgroups/pod-cgroup-name.js';
import { reservedCgroupNames } from '../domain/cgroups/reserved-cgroups.js';
import { sliceSettings } from '../domain/cgroups/systemd-properties.js';
import { Kernel } from '../domain/kernel/kernel.js';
import { AgentObserver } from '../domain/kubelet-metrics/agent-observer.js';
import { PodLives } from '../domain/live-page/pod-lives.js';
import { epochMicros } from '../domain/values/instant.js';
import type { Pod } from '../ports/model/pod.js';
import { type Binder, bindTo, type Resolver } from './bind-to.js';
import { RuntimeCheckpoints } from './daemon/checkpoints.js';
import { Inbox } from './daemon/inbox.js';
import { micros } from './daemon/kubelet-settings.js';
import { NodeContainers } from './daemon/node-containers.js';
import { performer } from './daemon/performer.js';
import { withPod } from './shell/pod-fields.js';
import { Shell } from './shell/shell.js';
import { portTokens, tokens } from './tokens.js';
import { bindVolumes } from './volume-modules.js';

const standalone = 'this kubelet has no apiserver: it runs without --kubeconfig';

function module(fill: (binder: Binder) => void): ContainerModule {
  return new ContainerModule((options) => fill(bindTo(options)));
}

const runtimeModule = module((bind) => {
  bind.to(tokens.runtimeService, [tokens.configuration, tokens.teardown, tokens.observer, tokens.tracing], ({ configuration }, teardown, observer, { tracing }) => {
    const runtimeService = new CriConnection({
      endpoint: configuration.containerRuntimeEndpoint,
      requestTimeoutMicros: micros(configuration.runtimeRequestTimeout),
      observe: (call) => observer.criCall(call),
      trace: tracing?.runtimeCall ?? null,
    });
    teardown.add('runtime connection', () => runtimeService.close());
    return { runtimeService };
  });
  bind.to(tokens.imageService, [tokens.configuration, tokens.teardown, tokens.observer, tokens.tracing], ({ configuration }, teardown, observer, { tracing }) => {
    const endpoint = configuration.imageServiceEndpoint === '' ? configuration.containerRuntimeEndpoint : configuration.imageServiceEndpoint;
    const imageService = new CriConnection({
      endpoint,
      requestTimeoutMicros: micros(configuration.runtimeRequestTimeout),
      observe: (call) => observer.criCall(call),
      trace: tracing?.runtimeCall ?? null,
    });
    teardown.add('image service connection', () => imageService.close());
    return { imageService };
  });
  bind.to(tokens.runtime, [tokens.runtimeService, tokens.clock, tokens.configuration], ({ runtimeService }, clock, { features }) => {
    return new CriRuntimeState(runtimeService, () => clock.now(), { streamLists: features.streamsLists });
  });
  bind.to(tokens.sandboxes, [tokens.runtimeService], ({ runtimeService }) => new CriSandboxes(runtimeService));
  bind.to(tokens.containers, [tokens.runtimeService], ({ runtimeService }) => new CriContainers(runtimeService));
  bind.to(tokens.streaming, [tokens.runtimeService], ({ runtimeService }) => new CriStreaming(runtimeService));
  bind.to(tokens.images, [tokens.imageService, tokens.configuration], ({ imageService }, { features }) => {
    return new CriImages(imageService, { streamLists: features.streamsLists });
  });
  bind.to(tokens.notices, [tokens.runtimeService, tokens.teardown], ({ runtimeService }, teardown) => {
    const notices = new RuntimeNotices(new CriRuntimeEvents(runtimeService));
    teardown.add('runtime notices', () => notices.stop());
    return notices;
  });
});

const hostModule = module((bind) => {
  bind.to(tokens.inbox, [], () => new Inbox());
  bind.to(tokens.observer, [], () => new AgentObserver());
  bind.to(tokens.agentNodeStats, [], () => new AgentNodeStats());
  bind.to(tokens.nodeStats, [tokens.agentNodeStats], (nodeStats) => nodeStats);
  bind.to(tokens.filesystemUsage, [tokens.native], ({ filesystemUsage }) => filesystemUsage);
  bind.to(tokens.lives, [], () => new PodLives());
  bind.to(tokens.probing, [tokens.profile], ({ probing }) => probing ?? new NetworkProbing());
  bind.to(tokens.podDirectories, [tokens.configuration, tokens.native, tokens.teardown], ({ configuration, options }, { fileSteps }, teardown) => {
    const directories = FilePodDirectories.open({ rootDirectory: options.rootDir, podLogsDirectory: configuration.podLogsDir, steps: fileSteps });
    teardown.add('pod directories', () => directories.close());
    return joining('podDirectories', directories, ['remove', 'list']);
  });
  bind.to(tokens.pullRecords, [tokens.configuration, tokens.teardown], ({ options }, teardown) => {
    const records = FilePullRecords.open({ rootDirectory: options.rootDir });
    teardown.add('pull records', () => records.close());
    return records;
  });
  bind.to(tokens.registryCredentials, [tokens.configuration, tokens.environment], ({ options }, { environment }) => {
    const home = environment.HOME ?? '';
    return new NodeRegistryCredentials({
      rootDirectory: options.rootDir,
      workingDirectory: process.cwd(),
      homeDirectory: home === '' ? null : home,
      pluginDirectory: options.imageCredentialProviderBinDir === '' ? null : resolve(options.imageCredentialProviderBinDir),
      environment,
    });
  });
  bind.to(tokens.podLogs, [tokens.configuration, tokens.native, tokens.profile, tokens.teardown], ({ configuration }, { fileSteps }, profile, teardown) => {
    const logs = FilePodLogs.open({ podLogsDirectory: configuration.podLogsDir, linksDirectory: profile.containerLogLinks, steps: fileSteps });
    teardown.add('pod logs', () => logs.close());
    return logs;
  });
  bind.to(tokens.containerLogs, [tokens.configuration, tokens.teardown], ({ configuration }, teardown) => {
    const logs = FileContainerLogs.open(configuration.podLogsDir);
    teardown.add('container logs', () => logs.close());
    return logs;
  });
  bind.to(tokens.podCgroups, [tokens.configuration, tokens.native, tokens.cgroupDriving, tokens.systemdUnits], ({ configuration }, { fileSteps }, { driver }, units) => {
    const { cgroupsPerQOS, cgroupRoot } = configuration;
    if (!cgroupsPerQOS) return failingPort('podCgroups', 'failed-precondition', 'pods have no cgroups of their own (cgroupsPerQOS is false)');
    const files: CgroupFilesOf = (values, version) => cgroupFiles(values, version, []);
    const reservedCgroups = reservedCgroupNames(configuration, driver);
    const options = { podsCgroup: nodeAllocatableCgroup(cgroupRoot, true), reservedCgroups, files, steps: fileSteps };
    const cgroups = driver === 'systemd' ? new SystemdPodCgroups({ ...options, units, naming: sliceNaming, settings: sliceSettings }) : new CgroupfsPodCgroups(options);
    return joining('podCgroups', cgroups, ['destroy', 'list']);
  });
  bind.to(tokens.machine, [tokens.configuration], ({ options }) => new LinuxMachine({ rootDirectory: options.rootDir }));
  bind.to(tokens.stateFiles, [tokens.configuration, tokens.teardown], ({ options }, teardown) => {
    const files = FileStateFiles.open(options.rootDir);
    teardown.add('state files', () => files.close());
    return files;
  });
  bind.to(tokens.events, [tokens.logger, tokens.clock], (logger, clock) => new LoggingEventSink(logger.named('event'), () => epochMicros(clock.wall())));
  bind.to(tokens.apiReader, [tokens.apiAccess], ({ clients }) => clients?.reader ?? failingPort('apiReader', 'failed-precondition', standalone));
  bind.to(tokens.apiWriter, [tokens.apiAccess], ({ clients }) => clients?.writer ?? failingPort('apiWriter', 'failed-precondition', standalone));
  bind.to(tokens.manifestDirectory, [tokens.native, tokens.inbox, tokens.teardown], (native, inbox, teardown) => {
    const directory = new LinuxManifestDirectory({ openFileWatch: (listener) => native.openFileWatch(listener), deliver: (event) => inbox.deliver(event) });
    teardown.add('manifest watch', () => directory.close());
    return directory;
  });
  bind.to(tokens.manifestUrl, [], () => new HttpManifestUrl());
});

const systemdModule = module((bind) => {
  bind.to(tokens.systemBus, [tokens.environment, tokens.teardown], ({ environment }, teardown) => {
    const bus = systemBusOf(environment);
    teardown.add('system bus', () => bus.close());
    return bus;
  });
  bind.to(tokens.systemdUnits, [tokens.systemBus], (bus) => new SystemdUnits({ bus }));
  bind.to(
    tokens.nodeShutdown,
    [tokens.configuration, tokens.profile, tokens.systemBus, tokens.inbox, tokens.environment, tokens.teardown],
    ({ options }, { logind }, bus, inbox, { environment }, teardown) => {
      const deliver = (event: KubeletEvent) => inbox.deliver(event);
      const inhibitor = { environment, ...(logind.inhibitor === null ? {} : { program: logind.inhibitor }) };
      const nodeShutdown = new LogindNodeShutdown({ bus, deliver, dropIn: logind.dropIn, directory: options.rootDir, inhibitor });
      teardown.add('node shutdown', () => nodeShutdown.close());
      return nodeShutdown;
    },
  );
});

const portsModule = module((bind) => bind.toRecord(tokens.ports, portTokens));

const agentModule = module((bind) => {
  bind.to(tokens.kernel, [tokens.settings, tokens.facts, tokens.seed], (settings, facts, { seed }) => {
    const state = newKubeletState(settings, facts);
    return new Kernel<KubeletState, KubeletEvent, KubeletOperations>(kubeletMachine(state), state, seed);
  });
  bind.to(
    tokens.shell,
    [tokens.kernel, tokens.ports, tokens.ownership, tokens.recording, tokens.clock, tokens.logger, tokens.ending, tokens.observer, tokens.lives, tokens.tracing, tokens.endedSteps],
    (kernel, ports, { pods }, { recorder }, clock, logger, ending, observer, lives, { tracing }, endedSteps) => {
      const own = logger.named('kubelet');
      const perform = performer(ports, pods);
      tracing?.watch(kernel.state.agent);
      return new Shell<KubeletState, KubeletEvent, KubeletOperations>(kernel, {
        perform: tracing === null ? perform : tracing.around(perform),
        now: () => clock.now(),
        wall: () => clock.wall(),
        log: (level, message, fields) => own.log(level, message, withPod(kernel.state.agent, fields)),
        record: (clocks, input, output) => {
          recorder?.record(clocks, input, output);
          observer.step(clocks, input, output);
          lives.step(epochMicros(clocks.wall), input, output);
          tracing?.stepped();
        },
        fatal: (error, input) => {
          const { agent } = kernel.state;
          const file = endedSteps.write(error, input, () => endedAgent(agent, clock.now()), clock.wall(), own);
          if (file !== null) own.log('error', 'A programmer error ends the agent', withPod(agent, { file, ...(agent.subject === null ? {} : { podUID: agent.subject }) }) ?? {});
          ending.fatal(error);
        },
      });
    },
  );
  bind.to(tokens.loopHealth, [tokens.kernel, tokens.clock], (kernel, clock) => new LoopHealth(kernel.state.agent, () => clock.now()));
  bind.to(
    tokens.nodeContainers,
    [tokens.configuration, tokens.queries, tokens.kernel, tokens.runtime, tokens.containers, tokens.streaming],
    ({ configuration }, queries, kernel, runtime, containers, streaming) => {
      const uidsOf = (pod: Pod) => [pod.metadata.uid ?? '', ...mirrorUids(kernel.state.agent, pod)];
      return new NodeContainers({ pod: (namespace, name) => queries.pod(namespace, name), uidsOf, runtime, containers, streaming, podLogsDirectory: configuration.podLogsDir });
    },
  );
  bind.to(tokens.checkpoints, [tokens.configuration, tokens.runtime, tokens.containers, tokens.queries, tokens.clock], ({ options }, runtime, containers, queries, clock) => {
    return new RuntimeCheckpoints({ rootDirectory: options.rootDir, runtime, containers, pod: (namespace, name) => queries.pod(namespace, name), wall: () => clock.wall() });
  });
  bind.to(tokens.queries, [tokens.kernel, tokens.loopHealth, tokens.logFailure], (kernel, health, logFailure) => agentQueries(kernel.state.agent, health, logFailure));
});

/** A container with all possible parts of a daemon; `fill` binds the choices of this start. */
export function daemonContainer(fill: (binder: Binder) => void): { readonly resolver: Resolver; add(fill: (binder: Binder) => void): void } {
  const container = new Container();
  container.load(module(fill), runtimeModule, hostModule, systemdModule, module(bindVolumes), portsModule, agentModule);
  const resolver: Resolver = { get: (token) => container.get(token as never) };
  return { resolver, add: (more) => container.load(module(more)) };
}
