// The life of simulated sandboxes: ready, not ready, gone. Each on the pod network has an address of its own.
import { containerLabels } from '../../domain/values/container-labels.js';
import type { Micros } from '../../ports/micros.js';
import type { SandboxOperations } from '../../ports/outbound/container-runtime.js';
import { type Answer, answered, refused } from './answers.js';
import type { ContainerLife, RuntimeParts } from './container-life.js';
import { hexId } from './ids.js';
import { type SimRuntimeEvent, type SimSandbox, stampOf } from './runtime-state.js';

export class SandboxLife {
  constructor(
    private readonly parts: RuntimeParts,
    private readonly containers: ContainerLife,
  ) {}

  run({ config, runtimeHandler }: SandboxOperations['run']['request'], now: Micros): Answer<{ readonly sandboxId: string }> {
    const { state, options, latencies, view } = this.parts;
    const { name: podName, namespace, uid, attempt } = config.metadata;
    const fail = (message: string) => refused('unknown', message, 'sandboxes.run', uid, latencies.runSandbox);
    const onHostNetwork = config.linux?.securityContext?.namespaceOptions?.network === 'NODE';
    if (!state.networkReady.status && !onHostNetwork) return fail('failed to setup network for sandbox: cni plugin not initialized');
    if (runtimeHandler !== '' && options.runtimeHandlers?.includes(runtimeHandler) !== true) {
      return fail(`failed to get sandbox runtime: no runtime for "${runtimeHandler}" is configured`);
    }
    const name = `${podName}_${namespace}_${uid}_${attempt}`;
    const holder = state.names.get(name);
    if (holder !== undefined) return fail(`failed to reserve sandbox name "${name}": name "${name}" is reserved for "${holder}"`);
    const sandbox: SimSandbox = {
      id: hexId(options.seed, 'sandbox-id', `${name}@${now}`),
      name,
      config,
      runtimeHandler,
      createdAt: now,
      stamp: stampOf(state, now),
      ip: onHostNetwork ? '' : address(state.addresses++),
      state: 'ready',
      updated: null,
    };
    state.names.set(name, sandbox.id);
    state.sandboxes.set(sandbox.id, sandbox);
    view.sandboxAdded(sandbox);
    this.emit('created', sandbox, now);
    this.emit('started', sandbox, now);
    return answered({ sandboxId: sandbox.id }, latencies.runSandbox);
  }

  stop({ sandboxId }: SandboxOperations['stop']['request'], now: Micros): Answer<null> {
    const sandbox = this.parts.state.sandboxes.get(sandboxId);
    if (sandbox !== undefined) this.down(sandbox, now);
    return answered(null, this.parts.latencies.stop);
  }

  remove({ sandboxId }: SandboxOperations['remove']['request'], now: Micros): Answer<null> {
    const { state, latencies, view } = this.parts;
    const sandbox = state.sandboxes.get(sandboxId);
    if (sandbox === undefined) return answered(null, latencies.remove);
    this.down(sandbox, now);
    for (const container of view.containersOf(sandboxId)) this.containers.discard(container, now);
    state.sandboxes.delete(sandboxId);
    state.names.delete(sandbox.name);
    view.sandboxRemoved(sandbox);
    this.emit('deleted', sandbox, now);
    return answered(null, latencies.remove);
  }

  updateResources({ sandboxId, resources, overhead }: SandboxOperations['updateResources']['request']): Answer<null> {
    const { state, latencies } = this.parts;
    const sandbox = state.sandboxes.get(sandboxId);
    if (sandbox === undefined) return refused('not-found', `failed to find sandbox "${sandboxId}": not found`, 'sandboxes.updateResources', sandboxId, latencies.look);
    sandbox.updated = { resources, overhead };
    return answered(null, latencies.look);
  }

  /** Kills what runs inside and gives the network back. */
  down(sandbox: SimSandbox, now: Micros): void {
    for (const container of this.parts.view.containersOf(sandbox.id)) this.containers.kill(container, now);
    if (sandbox.state === 'notReady') return;
    sandbox.state = 'notReady';
    this.parts.view.changed(uidOf(sandbox));
    this.emit('stopped', sandbox, now);
  }

  private emit(kind: SimRuntimeEvent['kind'], sandbox: SimSandbox, at: Micros): void {
    this.parts.observe({ kind, at, podUid: uidOf(sandbox), sandboxId: sandbox.id, containerId: sandbox.id });
  }
}

function uidOf(sandbox: SimSandbox): string {
  return sandbox.config.labels[containerLabels.podUid] ?? '';
}

/** Addresses of 10.88.0.0/16 in turn, without those that end in 0, 1 (the gateway) or 255. */
function address(n: number): string {
  const perBlock = 253;
  return `10.88.${Math.floor(n / perBlock) % 256}.${2 + (n % perBlock)}`;
}
