// The mock's runtime service: sandboxes and containers, for agents and crictl. gRPC itself answers other methods with
// UNIMPLEMENTED.
import type { SimContainer } from '../../sim/index.js';
import { containerConfigFromCri, criProtocol, criVersion, resourcesFromCri, sandboxConfigFromCri } from '../cri/index.js';
import type { MockRuntime } from './mock-runtime.js';
import { type Answer, inParts, mapped, ready, refusal, unary } from './rpc.js';
import { containerState, containerStats, containerStatus, listedContainer, listedSandbox, nanosOf, sandboxState, sandboxStatus } from './state-to-cri.js';

type Service = Partial<criProtocol.RuntimeServiceServer>;

export function runtimeService(mock: MockRuntime): Service {
  const { events } = mock;
  return {
    ...stateMethods(mock),
    ...sandboxMethods(mock),
    ...containerMethods(mock),
    ...streamMethods(mock),
    ...(events !== null && { getContainerEvents: (call) => events.add(call) }),
  };
}

function stateMethods(mock: MockRuntime): Service {
  const { time } = mock;
  return {
    version: unary(time, () =>
      mapped(mock.ask('runtime.version', null), ({ runtimeName, runtimeVersion, runtimeApiVersion }) => ({ version: criVersion, runtimeName, runtimeVersion, runtimeApiVersion })),
    ),
    status: unary(time, () =>
      mapped(mock.ask('runtime.status', null), ({ runtimeReady, networkReady, handlers, supplementalGroupsPolicy }) => ({
        status: {
          conditions: [
            ...(runtimeReady === null ? [] : [{ type: 'RuntimeReady', ...runtimeReady }]),
            ...(networkReady === null ? [] : [{ type: 'NetworkReady', ...networkReady }]),
          ],
        },
        info: {},
        runtimeHandlers: handlers.map(({ name, ...features }) => ({ name, features })),
        features: supplementalGroupsPolicy === null ? undefined : { supplementalGroupsPolicy, userNamespacesHostNetwork: false },
      })),
    ),
    runtimeConfig: unary(time, () => {
      if (mock.cgroupDriver === null) return refusal('unimplemented', 'unknown method RuntimeConfig for service runtime.v1.RuntimeService');
      const { SYSTEMD, CGROUPFS } = criProtocol.CgroupDriver;
      return ready({ linux: { cgroupDriver: mock.cgroupDriver === 'systemd' ? SYSTEMD : CGROUPFS } });
    }),
    updateRuntimeConfig: unary(time, ({ runtimeConfig }) => mapped(mock.ask('runtime.updateConfig', { podCidr: runtimeConfig?.networkConfig?.podCidr ?? '' }), () => ({}))),
  };
}

function sandboxMethods(mock: MockRuntime): Service {
  const { runtime, time } = mock;
  const { sandboxes } = runtime.state;
  return {
    runPodSandbox: unary(time, ({ config, runtimeHandler }) => {
      if (config?.metadata === undefined) return refusal('invalid-argument', 'sandbox config must include metadata');
      return mapped(mock.ask('sandboxes.run', { config: sandboxConfigFromCri(config), runtimeHandler }), ({ sandboxId }) => ({ podSandboxId: sandboxId }));
    }),
    stopPodSandbox: unary(time, ({ podSandboxId }) => mapped(mock.ask('sandboxes.stop', { sandboxId: fullId(sandboxes, podSandboxId) }), () => ({}))),
    removePodSandbox: unary(time, ({ podSandboxId }) => mapped(mock.ask('sandboxes.remove', { sandboxId: fullId(sandboxes, podSandboxId) }), () => ({}))),
    listPodSandbox: unary(time, ({ filter }) => mapped(listedSandboxes(mock, filter), (items) => ({ items }))),
    ...(mock.offersListStreams && {
      streamPodSandboxes: inParts(
        time,
        ({ filter }: criProtocol.StreamPodSandboxesRequest) => listedSandboxes(mock, filter),
        (podSandboxes) => ({ podSandboxes }),
      ),
    }),
    podSandboxStatus: unary(time, ({ podSandboxId }) => {
      const now = mock.settled();
      const sandbox = sandboxes.get(fullId(sandboxes, podSandboxId));
      if (sandbox === undefined) return refusal('not-found', `an error occurred when try to find sandbox: not found`);
      return ready({ status: sandboxStatus(sandbox), info: {}, containersStatuses: [], timestamp: nanosOf(now) }, runtime.latencies.look);
    }),
    updatePodSandboxResources: unary(time, ({ podSandboxId, resources, overhead }) =>
      mapped(
        mock.ask('sandboxes.updateResources', {
          sandboxId: fullId(sandboxes, podSandboxId),
          resources: resources === undefined ? {} : resourcesFromCri(resources),
          overhead: overhead === undefined ? {} : resourcesFromCri(overhead),
        }),
        () => ({}),
      ),
    ),
  };
}

function containerMethods(mock: MockRuntime): Service {
  const { runtime, time, files } = mock;
  const { containers, sandboxes } = runtime.state;
  const withId = (id: string) => ({ containerId: fullId(containers, id) });
  return {
    createContainer: unary(time, ({ podSandboxId, config, sandboxConfig }) => {
      if (config?.metadata === undefined || config.image === undefined) return refusal('invalid-argument', 'container config must include metadata and image');
      const sandboxId = fullId(sandboxes, podSandboxId);
      const sandbox = sandboxConfig === undefined ? sandboxes.get(sandboxId)?.config : sandboxConfigFromCri(sandboxConfig);
      if (sandbox === undefined) return refusal('not-found', `failed to find sandbox id "${podSandboxId}": not found`);
      return mock.ask('containers.create', { sandboxId, config: containerConfigFromCri(config), sandboxConfig: sandbox });
    }),
    startContainer: unary(time, ({ containerId }) => mapped(mock.ask('containers.start', withId(containerId)), () => ({}))),
    stopContainer: unary(time, ({ containerId, timeout }) =>
      mapped(mock.ask('containers.stop', { ...withId(containerId), gracePeriodSeconds: Math.max(0, Number(timeout)) }), () => ({})),
    ),
    removeContainer: unary(time, ({ containerId }) => mapped(mock.ask('containers.remove', withId(containerId)), () => ({}))),
    execSync: unary(time, ({ containerId, cmd, timeout }) =>
      mapped(mock.ask('containers.execSync', { ...withId(containerId), command: cmd, timeoutSeconds: Math.max(0, Number(timeout)) }), ({ exitCode, stdout, stderr }) => ({
        exitCode,
        stdout: Buffer.from(stdout),
        stderr: Buffer.from(stderr),
      })),
    ),
    listContainers: unary(time, ({ filter }) => mapped(listedContainers(mock, filter), (containers) => ({ containers }))),
    ...(mock.offersListStreams && {
      streamContainers: inParts(
        time,
        ({ filter }: criProtocol.StreamContainersRequest) => listedContainers(mock, filter),
        (containers) => ({ containers }),
      ),
    }),
    containerStatus: unary(time, ({ containerId }) => {
      mock.settled();
      const container = containers.get(fullId(containers, containerId));
      if (container === undefined) return refusal('not-found', `an error occurred when try to find container "${containerId}": not found`);
      return ready({ status: containerStatus(container, runtime.state, files.messageOf(container)), info: {} }, runtime.latencies.look);
    }),
    updateContainerResources: unary(time, ({ containerId, linux }) =>
      mapped(mock.ask('containers.updateResources', { ...withId(containerId), resources: linux === undefined ? {} : resourcesFromCri(linux) }), () => ({})),
    ),
    listContainerStats: unary(time, ({ filter }) =>
      mapped(mock.ask('images.fsInfo', null), ([disk]) => ({
        stats: measured(mock, filter).map((container) => containerStats(container, mock.settled(), disk?.mountpoint ?? '')),
      })),
    ),
    reopenContainerLog: unary(time, ({ containerId }) => mapped(mock.ask('containers.reopenLog', withId(containerId)), () => ({}))),
    checkpointContainer: unary(time, ({ containerId, location, timeout }) =>
      mapped(mock.ask('containers.checkpoint', { ...withId(containerId), location, timeoutSeconds: Number(timeout) }), () => {
        files.writeCheckpoint(location);
        return {};
      }),
    ),
  };
}

function streamMethods({ runtime: { state }, streams, time }: MockRuntime): Service {
  const { containers, sandboxes } = state;
  return {
    exec: unary(time, (request) => streams.exec(request, containers.get(fullId(containers, request.containerId)))),
    attach: unary(time, (request) => streams.attach(request, containers.get(fullId(containers, request.containerId)))),
    portForward: unary(time, (request) => streams.portForward(request, fullId(sandboxes, request.podSandboxId))),
  };
}

function listedSandboxes(mock: MockRuntime, filter: criProtocol.PodSandboxFilter | undefined): Answer<criProtocol.PodSandbox[]> {
  mock.settled();
  const { state, latencies } = mock.runtime;
  const id = filter === undefined || filter.id === '' ? null : fullId(state.sandboxes, filter.id);
  const wanted = [...state.sandboxes.values()].filter(
    (sandbox) =>
      (id === null || sandbox.id === id) &&
      (filter?.state === undefined || filter.state.state === sandboxState(sandbox)) &&
      hasLabels(sandbox.config.labels, filter?.labelSelector),
  );
  return ready(wanted.map(listedSandbox), latencies.look);
}

/** Only running containers are measured. */
function measured({ runtime: { state } }: MockRuntime, filter: criProtocol.ContainerStatsFilter | undefined): SimContainer[] {
  const id = filter === undefined || filter.id === '' ? null : fullId(state.containers, filter.id);
  return [...state.containers.values()].filter(
    (container) =>
      container.state === 'running' &&
      (id === null || container.id === id) &&
      (filter === undefined || filter.podSandboxId === '' || container.sandboxId === fullId(state.sandboxes, filter.podSandboxId)) &&
      hasLabels(container.config.labels, filter?.labelSelector),
  );
}

function listedContainers(mock: MockRuntime, filter: criProtocol.ContainerFilter | undefined): Answer<criProtocol.Container[]> {
  mock.settled();
  const { state, latencies } = mock.runtime;
  const id = filter === undefined || filter.id === '' ? null : fullId(state.containers, filter.id);
  const sandboxId = filter === undefined || filter.podSandboxId === '' ? null : fullId(state.sandboxes, filter.podSandboxId);
  const wanted = [...state.containers.values()].filter(
    (container) =>
      (id === null || container.id === id) &&
      (sandboxId === null || container.sandboxId === sandboxId) &&
      (filter?.state === undefined || filter.state.state === containerState(container)) &&
      hasLabels(container.config.labels, filter?.labelSelector),
  );
  return ready(wanted.map(listedContainer), latencies.look);
}

/** Clients may shorten an id if the prefix is unique; an unknown one is unchanged. */
function fullId(things: ReadonlyMap<string, unknown>, id: string): string {
  if (id === '' || things.has(id)) return id;
  const matches = [...things.keys()].filter((full) => full.startsWith(id));
  return matches.length === 1 && matches[0] !== undefined ? matches[0] : id;
}

function hasLabels(labels: Readonly<Record<string, string>>, selector: Readonly<Record<string, string>> = {}): boolean {
  return Object.entries(selector).every(([key, value]) => labels[key] === value);
}
