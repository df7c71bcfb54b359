// Ensures the images that containers mount as volumes, before the containers are started; the runtime mounts them itself.
// Invariant: an unavailable image prevents only the start of containers that mount it.

import type { Micros } from '../../ports/micros.js';
import type { Container } from '../../ports/model/container.js';
import type { ImageSpec } from '../../ports/model/container-config.js';
import type { Pod } from '../../ports/model/pod.js';
import { isInCrashLoop } from '../backoff/crash-loop-backoff.js';
import { defaultPullPolicy } from '../images/pull-policy.js';
import type { ImageVolumePulls, ImageVolumeResult } from './image-volume-state.js';
import { arePullSecretsRead } from './pull-secrets.js';
import type { SyncContext } from './sync-context.js';
import type { StepOutcome, SyncRun, SyncStep } from './sync-run.js';
import { sandboxInputs } from './user-namespace-step.js';

/** null: no container to start mounts an image. A container in back-off doesn't start, so it needs none. */
export function newImageVolumePulls(run: SyncRun, starts: readonly SyncStep[], context: SyncContext): ImageVolumePulls | null {
  const { pod } = run;
  const waits = (container: Container): boolean => isInCrashLoop(context.crashLoop, pod, container, lastEnd(run, container, context), context.turn.now);
  const mounted = new Set(
    starts.flatMap((step) => (step.kind === 'start' && !waits(step.start.container) ? (step.start.container.volumeMounts ?? []).map(({ name }) => name) : [])),
  );
  const volumes = (pod.spec.volumes ?? []).filter(({ name, image }) => image !== undefined && mounted.has(name));
  return volumes.length === 0 ? null : { volumes, pending: new Map() };
}

/** The end of the container's newest terminated instance; null if none. */
export function lastEnd(run: SyncRun, { name }: Container, context: SyncContext): Micros | null {
  const exited = run.status.containers.find((status) => status.name === name && status.state === 'exited');
  return exited === undefined ? null : context.endedAt(run.uid, exited);
}

/** Requests all images at once; done when each is present or failed. */
export function decideImageVolumes(pulls: ImageVolumePulls, run: SyncRun, context: SyncContext): StepOutcome {
  if (pulls.volumes.length > 0 && !arePullSecretsRead(run, context)) return 'waiting';
  const { pod } = run;
  const sandbox = context.configs.sandbox(pod, run.sandboxAttempt, sandboxInputs(run, context));
  const sandboxConfig = sandbox.ok ? sandbox.value.config : null;
  for (const { name, image: { reference = '', pullPolicy = defaultPullPolicy(reference) } = {} } of pulls.volumes) {
    pulls.pending.set(name, context.ensureImage({ pod, containerName: null, image: reference, pullPolicy, sandboxConfig }));
  }
  pulls.volumes = [];
  for (const [name, id] of pulls.pending) {
    const ensured = context.takeImage(id);
    if (ensured === null) continue;
    pulls.pending.delete(name);
    const { outcome, retryAt } = ensured;
    run.imageVolumes.set(name, outcome.kind === 'ready' ? mounted(pod, name, outcome.imageRef) : { ok: false, problem: { ...outcome, retryAt } });
  }
  return pulls.pending.size === 0 ? 'done' : 'waiting';
}

export function leaveImageVolumes({ pending }: ImageVolumePulls, context: SyncContext): void {
  for (const id of pending.values()) context.leaveImage(id);
}

/** Why the container can't be started for want of an image that it mounts; null: it can. */
export function imageVolumeFailure(run: SyncRun, { volumeMounts = [] }: Container): Extract<ImageVolumeResult, { readonly ok: false }>['problem'] | null {
  for (const { name } of volumeMounts) {
    const result = run.imageVolumes.get(name);
    if (result?.ok === false) return result.problem;
  }
  return null;
}

/** By volume, the image that the runtime must mount. */
export function imageVolumesOf({ imageVolumes }: SyncRun): Readonly<Record<string, ImageSpec>> {
  return Object.fromEntries([...imageVolumes].flatMap(([name, result]) => (result.ok ? [[name, result.image]] : [])));
}

function mounted({ spec: { volumes = [] }, metadata: { annotations = {} } }: Pod, name: string, image: string): ImageVolumeResult {
  const userSpecifiedImage = volumes.find((volume) => volume.name === name)?.image?.reference ?? '';
  return { ok: true, image: { image, userSpecifiedImage, annotations } };
}
