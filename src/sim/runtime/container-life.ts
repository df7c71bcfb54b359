// The life of simulated containers: created, running, exited, removed; and the effect of their scripts.
import { containerLabels } from '../../domain/values/container-labels.js';
import { instantOf } from '../../domain/values/instant.js';
import { microsPerSecond } from '../../domain/values/time.js';
import type { Micros } from '../../ports/micros.js';
import type { ContainerConfig } from '../../ports/model/container-config.js';
import type { LinuxContainerResources } from '../../ports/model/sandbox-config.js';
import type { ContainerOperations } from '../../ports/outbound/container-runtime.js';
import { type Answer, answered, refused } from './answers.js';
import { type ContainerScript, defaultScript, parseScript, type ScriptParse, scriptAnnotationPrefix } from './container-script.js';
import { hexId } from './ids.js';
import { parseImageReference } from './image-reference.js';
import type { ImageStore } from './image-store.js';
import type { ScriptSelector, SimLatencies, SimRuntimeOptions } from './runtime-options.js';
import { type Ending, type SimContainer, type SimRuntimeEvent, type SimRuntimeState, type SimSandbox, stampOf } from './runtime-state.js';
import type { RuntimeView } from './runtime-view.js';

/** State that the parts of a simulated runtime share. */
export interface RuntimeParts {
  readonly state: SimRuntimeState;
  readonly options: SimRuntimeOptions;
  readonly latencies: SimLatencies;
  readonly view: RuntimeView;
  readonly images: ImageStore;
  readonly observe: (event: SimRuntimeEvent) => void;
}

const killedExitCode = 137;
/** The exit code that runtimes report for a process that failed to start. */
const startErrorExitCode = 128;

export class ContainerLife {
  /** `endingSet` is called whenever a running container's `endsAt` has been set. */
  constructor(
    private readonly parts: RuntimeParts,
    private readonly endingSet: (container: SimContainer) => void,
  ) {}

  create({ sandboxId, config }: ContainerOperations['create']['request'], now: Micros): Answer<{ readonly containerId: string }> {
    const { state, images, latencies, options, view } = this.parts;
    const after = latencies.createContainer;
    const fail = (kind: Parameters<typeof refused>[0], message: string) => refused(kind, message, 'containers.create', config.metadata.name, after);
    const sandbox = state.sandboxes.get(sandboxId);
    if (sandbox === undefined) return fail('not-found', `failed to find sandbox id "${sandboxId}": not found`);
    if (sandbox.state !== 'ready') return fail('unknown', `failed to get sandbox container task: no running task found: task ${sandboxId} not found: not found`);
    const name = containerNameOf(config, sandbox);
    const holder = state.names.get(name);
    if (holder !== undefined) return fail('unknown', `failed to reserve container name "${name}": name "${name}" is reserved for "${holder}"`);
    const image = images.find(config.image.image);
    if (image === null) return fail('not-found', `failed to resolve image "${config.image.image}": not found`);
    const parsed = this.scriptFor(config, sandbox, images.scriptOf(image));
    if (!parsed.ok) return fail('invalid-argument', `${scriptAnnotationPrefix}${nameInSpec(config)}: ${parsed.error}`);
    const { script } = parsed;
    if (script.failCreate !== null) return fail('unknown', script.failCreate);
    const container: SimContainer = {
      id: hexId(options.seed, 'container-id', `${name}@${now}`),
      name,
      sandboxId,
      podUid: config.labels[containerLabels.podUid] ?? '',
      config,
      script,
      imageId: image.id,
      imageRef: image.repoDigests[0] ?? image.id,
      createdAt: now,
      stamps: { createdAt: stampOf(state, now), startedAt: null, finishedAt: null },
      resources: config.linux?.resources ?? null,
      state: 'created',
      startedAt: null,
      finishedAt: null,
      endsAt: null,
      ending: null,
    };
    state.names.set(name, container.id);
    state.containers.set(container.id, container);
    view.containerAdded(container);
    this.emit('created', container, now);
    return answered({ containerId: container.id }, after);
  }

  start({ containerId }: ContainerOperations['start']['request'], now: Micros): Answer<null> {
    const { state, latencies, view } = this.parts;
    const container = state.containers.get(containerId);
    const fail = (kind: Parameters<typeof refused>[0], message: string) => refused(kind, message, 'containers.start', containerId, latencies.startContainer);
    if (container === undefined) return fail('not-found', `an error occurred when try to find container "${containerId}": not found`);
    if (container.state !== 'created') return fail('unknown', `failed to set starting state for container "${containerId}": container is in ${stateName(container)} state`);
    if (state.sandboxes.get(container.sandboxId)?.state !== 'ready') return fail('unknown', `sandbox container "${container.sandboxId}" is not running`);
    const { script } = container;
    if (script.failStart !== null) {
      container.ending = { exitCode: startErrorExitCode, reason: 'StartError', message: script.failStart };
      container.startedAt = 0;
      container.stamps.startedAt = instantOf(0);
      this.finish(container, now);
      return fail('unknown', `failed to create containerd task: failed to create shim task: OCI runtime create failed: ${script.failStart}: unknown`);
    }
    container.state = 'running';
    container.startedAt = now;
    container.stamps.startedAt = stampOf(state, now);
    view.changed(container.podUid);
    this.emit('started', container, now);
    const after = latencies.startContainer + script.startMicros;
    if (script.runMicros !== null) this.willEnd(container, now + after + script.runMicros, endingOf(script.exitCode, script));
    return answered(null, after);
  }

  /** The answer comes when the container is down. */
  stop({ containerId, gracePeriodSeconds }: ContainerOperations['stop']['request'], now: Micros): Answer<null> {
    const { state, latencies } = this.parts;
    const container = state.containers.get(containerId);
    if (container?.state !== 'running') return answered(null, latencies.stop);
    const killAt = now + gracePeriodSeconds * microsPerSecond;
    const { termMicros, termExitCode } = container.script;
    if (gracePeriodSeconds > 0 && termMicros !== null && now + termMicros < killAt) this.willEnd(container, now + termMicros, endingOf(termExitCode, container.script));
    else this.willEnd(container, killAt, { exitCode: killedExitCode, reason: 'Error', message: '' });
    const endsAt = container.endsAt ?? killAt;
    if (endsAt <= now) this.end(container, now);
    return answered(null, latencies.stop + endsAt - now);
  }

  remove({ containerId }: ContainerOperations['remove']['request'], now: Micros): Answer<null> {
    const container = this.parts.state.containers.get(containerId);
    if (container !== undefined) this.discard(container, now);
    return answered(null, this.parts.latencies.remove);
  }

  /** Reopens the log file; later lines go to the new file. */
  reopenLog({ containerId }: ContainerOperations['reopenLog']['request'], now: Micros): Answer<null> {
    const running = this.runningOr('containers.reopenLog', containerId);
    if ('outcome' in running) return running;
    this.emit('logReopened', running, now);
    return answered(null, this.parts.latencies.look);
  }

  /** The container keeps running; the content of the archive is not modelled. */
  checkpoint({ containerId, location }: ContainerOperations['checkpoint']['request']): Answer<null> {
    const { options, latencies } = this.parts;
    const operation = 'containers.checkpoint';
    if (options.offersCheckpoints === false) return refused('unimplemented', 'method CheckpointContainer not implemented', operation, containerId, latencies.look);
    if (!location.startsWith('/')) return refused('invalid-argument', `location ${JSON.stringify(location)} is no absolute path`, operation, containerId, latencies.look);
    const running = this.runningOr(operation, containerId);
    return 'outcome' in running ? running : answered(null, latencies.exec);
  }

  private runningOr(operation: string, containerId: string): SimContainer | Answer<never> {
    const { state, latencies } = this.parts;
    const container = state.containers.get(containerId);
    if (container === undefined) return refused('not-found', `an error occurred when try to find container "${containerId}": not found`, operation, containerId, latencies.look);
    return container.state === 'running' ? container : refused('unknown', 'container is not running', operation, containerId, latencies.look);
  }

  /** SIGKILL, at once. */
  kill(container: SimContainer, now: Micros): void {
    if (container.state !== 'running') return;
    container.ending = { exitCode: killedExitCode, reason: 'Error', message: '' };
    this.end(container, now);
  }

  /** Takes it out of the runtime, killing it first where it runs. */
  discard(container: SimContainer, now: Micros): void {
    const { state, view } = this.parts;
    this.kill(container, now);
    state.containers.delete(container.id);
    state.names.delete(container.name);
    view.containerRemoved(container);
    this.emit('deleted', container, now);
  }

  /** Ends the running container now, with its planned outcome. */
  end(container: SimContainer, now: Micros): void {
    container.ending ??= { exitCode: 0, reason: 'Completed', message: '' };
    this.finish(container, now);
  }

  /** Unset and empty fields stay unchanged. */
  updateResources({ containerId, resources }: ContainerOperations['updateResources']['request']): Answer<null> {
    const { state, latencies } = this.parts;
    const container = state.containers.get(containerId);
    const operation = 'containers.updateResources';
    if (container === undefined) return refused('not-found', `failed to find container: "${containerId}": not found`, operation, containerId, latencies.look);
    const named = Object.entries(resources).filter(([, value]) => value !== 0 && value !== '' && !(typeof value === 'object' && Object.keys(value).length === 0));
    container.resources = { ...container.resources, ...(Object.fromEntries(named) as LinuxContainerResources) };
    return answered(null, latencies.look);
  }

  private finish(container: SimContainer, now: Micros): void {
    container.state = 'exited';
    container.finishedAt = now;
    container.stamps.finishedAt = stampOf(this.parts.state, now);
    container.endsAt = null;
    this.parts.view.changed(container.podUid);
    this.emit('stopped', container, now);
  }

  /** The earliest ending wins. */
  private willEnd(container: SimContainer, at: Micros, ending: Ending): void {
    if (container.endsAt !== null && container.endsAt <= at) return;
    container.endsAt = at;
    container.ending = ending;
    this.endingSet(container);
  }

  private scriptFor(config: ContainerConfig, sandbox: SimSandbox, ofImage: string | null): ScriptParse {
    const container = nameInSpec(config);
    const asked = sandbox.config.annotations[`${scriptAnnotationPrefix}${container}`];
    const rule = this.parts.options.scripts?.find(({ selector }) => selects(selector, config, sandbox));
    const text = asked ?? rule?.script ?? ofImage;
    return text === null ? { ok: true, script: defaultScript } : parseScript(text, config.metadata.attempt);
  }

  private emit(kind: SimRuntimeEvent['kind'], { id, sandboxId, podUid }: SimContainer, at: Micros): void {
    this.parts.observe({ kind, at, podUid, sandboxId, containerId: id });
  }
}

function selects(selector: ScriptSelector, config: ContainerConfig, { config: { metadata, labels } }: SimSandbox): boolean {
  const { namespace, podName, container, image } = selector;
  if (namespace !== undefined && namespace !== metadata.namespace) return false;
  if (podName !== undefined && podName !== metadata.name) return false;
  if (container !== undefined && container !== nameInSpec(config)) return false;
  if (image !== undefined && !sameImage(image, config)) return false;
  return Object.entries(selector.labels ?? {}).every(([key, value]) => labels[key] === value);
}

/** The runtime gets an id if the image was resolved before; then the pod author's reference is compared. */
function sameImage(image: string, { image: { image: asked, userSpecifiedImage } }: ContainerConfig): boolean {
  const wanted = parseImageReference(image)?.text;
  return wanted !== undefined && [asked, userSpecifiedImage].some((name) => name !== undefined && parseImageReference(name)?.text === wanted);
}

function endingOf(exitCode: number, { reason, message }: ContainerScript): Ending {
  return { exitCode, reason: reason === '' ? (exitCode === 0 ? 'Completed' : 'Error') : reason, message };
}

function nameInSpec({ labels, metadata }: ContainerConfig): string {
  return labels[containerLabels.containerName] ?? metadata.name;
}

function containerNameOf({ metadata }: ContainerConfig, { config }: SimSandbox): string {
  const pod = config.metadata;
  return `${metadata.name}_${pod.name}_${pod.namespace}_${pod.uid}_${metadata.attempt}`;
}

function stateName({ state }: SimContainer): string {
  return `CONTAINER_${state.toUpperCase()}`;
}
