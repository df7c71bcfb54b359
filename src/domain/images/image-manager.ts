// Ensures images of containers and image volumes for the whole node: performs the steps of `ensure-image.ts` with the runtime, the files of
// records, and the sources of credentials; limits the number of concurrent pulls.
//
// | step                | calls                                       |
// |---------------------|---------------------------------------------|
// | inspect             | images.status                               |
// | check-records       | pullRecords.read, and a look-up if needed   |
// | look-up-credentials | see `credential-lookup.ts`                  |
// | record-intent       | pullRecords.write                           |
// | pull                | (its turn) images.pull for each of the credentials, then images.status |
// | record-pulled       | pullRecords.read, pullRecords.write         |
// | record-failed       | (none: the intent's file is removed)        |
//
// Invariant: a pull has its slot from `nextPull` to the last answer of images.pull, and no longer.
import type { AgentOperations } from '../../ports/outbound/outbound-ports.js';
import { imagePullRetryAt } from '../backoff/image-pull-backoff.js';
import { assert, unreachable } from '../kernel/assert.js';
import type { ReplyFor, ReplyTo } from '../kernel/machine.js';
import { lookUpCredentials } from './credential-lookup.js';
import { advanceEnsureImage, beginEnsureImage, type EnsureImageReply, type EnsureImageTurn, giveUpPull } from './ensure-image.js';
import { type ImageContext, imageAddress } from './image-context.js';
import type { EnsuredImage, ImageRequest, ImageRun } from './image-manager-state.js';
import { acceptPull, nextPull } from './pull-queue.js';
import { checkRecords, concludePull, recordIntent, recordPulled, recordRead } from './record-pull.js';

/** Begins a run; `takeImage` reports its end. Returns the run's name. */
export function ensureImage(context: ImageContext, request: ImageRequest): number {
  const { images, turn } = context;
  const begun = beginEnsureImage({ podUid: request.pod.metadata.uid ?? '', image: request.image, pullPolicy: request.pullPolicy });
  const run: ImageRun = {
    id: images.nextId++,
    request,
    ensure: begun.run,
    isAwaited: true,
    image: null,
    lookup: null,
    credentials: null,
    recordUnreadable: false,
    askedAt: turn.now,
    startedAt: turn.now,
    tookMicros: 0,
    attempt: 0,
    failures: [],
    imageRef: '',
  };
  images.runs.set(run.id, run);
  recordEvents(run, begun, context);
  proceed(run, null, context);
  return run.id;
}

/** The outcome, once; null: not yet. */
export function takeImage({ images, turn }: ImageContext, id: number): EnsuredImage | null {
  const run = images.runs.get(id);
  assert(run !== undefined, 'a pod waits for an image that no run gets');
  const { step } = run.ensure;
  if (step.kind !== 'done') return null;
  images.runs.delete(id);
  turn.end(imageAddress(id));
  const { image, pod } = run.request;
  const isBackingOff = step.outcome.kind === 'problem' && step.outcome.reason === 'ImagePullBackOff';
  return { outcome: step.outcome, image: run.image, retryAt: isBackingOff ? imagePullRetryAt(images.backoff, pod.metadata.uid ?? '', image) : null };
}

/** The caller has left. A pull in progress continues to its end; a queued one does not begin. */
export function leaveImage(context: ImageContext, id: number): void {
  const { images } = context;
  const run = images.runs.get(id);
  if (run === undefined) return;
  run.isAwaited = false;
  const at = images.queue.waiting.indexOf(id);
  if (at >= 0) {
    images.queue.waiting.splice(at, 1);
    run.ensure = giveUpPull(run.ensure);
    proceed(run, null, context);
  } else if (run.ensure.step.kind === 'done') images.runs.delete(id);
  else if (waitsForIdentity(run)) proceed(run, null, context);
}

export const imageOperations = ['images.status', 'images.pull', 'pullRecords.read', 'pullRecords.write'] as const;
type ImageAnswer = ReplyTo<AgentOperations, (typeof imageOperations)[number]>;

/** An answer for `image/<id>`. */
export function imageReplied(context: ImageContext, id: number, reply: ImageAnswer): void {
  const run = context.images.runs.get(id);
  assert(run !== undefined, 'a reply for an image that no run waits for');
  const answer = context.forPod(run.request.pod.metadata.uid ?? '', () => answerOf(run, reply, context));
  if (answer !== null) proceed(run, answer, context);
}

/** Resumes runs that waited for shared data (records read, credentials found). */
export function resumeRuns(context: ImageContext, ids: readonly number[]): void {
  for (const id of ids) {
    const run = context.images.runs.get(id);
    if (run !== undefined) proceed(run, null, context);
  }
}

/** A service account, or a token of one, has arrived: waiting runs check again. */
export function resumeIdentityWaits(context: ImageContext): void {
  resumeRuns(
    context,
    [...context.images.runs.values()].filter(waitsForIdentity).map(({ id }) => id),
  );
}

function waitsForIdentity({ lookup }: ImageRun): boolean {
  return lookup !== null && lookup.withoutIdentity.size > 0;
}

/** The data that runs waited for is unavailable. */
export function failRuns(context: ImageContext, ids: readonly number[], message: string): void {
  for (const id of ids) {
    const run = context.images.runs.get(id);
    if (run !== undefined) proceed(run, { kind: 'failed', message }, context);
  }
}

/** Takes steps until one has to wait. @param answer to the step that is open; null: it is still to be carried out */
function proceed(run: ImageRun, answer: EnsureImageReply | null, context: ImageContext): void {
  context.forPod(run.request.pod.metadata.uid ?? '', () => takeSteps(run, answer, context));
}

function takeSteps(run: ImageRun, answer: EnsureImageReply | null, context: ImageContext): void {
  let reply = answer;
  while (run.ensure.step.kind !== 'done') {
    reply ??= carryOut(run, context);
    if (reply === null) return;
    const turn = advanceEnsureImage(run.ensure, reply, context.images.backoff, context.turn.now);
    run.ensure = turn.run;
    recordEvents(run, turn, context);
    reply = null;
  }
  if (run.isAwaited) context.imageReady(run.request.pod.metadata.uid ?? '');
  else {
    context.images.runs.delete(run.id);
    context.turn.end(imageAddress(run.id));
  }
}

function recordEvents({ request }: ImageRun, { events }: EnsureImageTurn, context: ImageContext): void {
  for (const { type, reason, message } of events) context.event(request.pod, request.containerName, type, reason, message);
}

/** The answer if it is known at once; null: it will come later. */
function carryOut(run: ImageRun, context: ImageContext): EnsureImageReply | null {
  const { step } = run.ensure;
  switch (step.kind) {
    case 'inspect':
      askStatus(run, 'inspect', context);
      return null;
    case 'check-records':
      return checkRecords(run, step.imageId, context);
    case 'look-up-credentials': {
      const found = lookUpCredentials(run, context);
      if (found.kind === 'waiting') return null;
      return found.kind === 'found' ? { kind: 'credentials', credentials: found.credentials } : found;
    }
    case 'record-intent':
      return recordIntent(run, context);
    case 'pull':
      if (!run.isAwaited) {
        run.ensure = giveUpPull(run.ensure);
        return carryOut(run, context);
      }
      context.images.queue.waiting.push(run.id);
      run.askedAt = context.turn.now;
      startPulls(context);
      return null;
    case 'record-pulled':
      return recordPulled(run, step.imageRef, step.used, context);
    case 'record-failed':
      concludePull(run, true, context);
      return { kind: 'recorded' };
    case 'done':
      return null;
    default:
      return unreachable(step);
  }
}

function answerOf(run: ImageRun, reply: ImageAnswer, context: ImageContext): EnsureImageReply | null {
  switch (reply.op) {
    case 'images.status':
      assert(run.ensure.step.kind === (reply.slot === 'inspect' ? 'inspect' : 'pull'), 'an image was inspected that its run does not wait for', run.id);
      return reply.slot === 'inspect' ? inspected(run, reply.outcome) : measured(run, reply.outcome.ok ? reply.outcome.value : null, context);
    case 'images.pull':
      assert(run.ensure.step.kind === 'pull', 'an image was pulled that its run does not wait for', run.id);
      if (reply.outcome.ok) return pulled(run, reply.outcome.value.imageRef, context);
      run.failures.push(reply.outcome.error.message);
      return pullFailed(run, context);
    case 'pullRecords.read':
      return recordRead(run, reply.outcome, context);
    case 'pullRecords.write':
      assert(run.ensure.step.kind === (reply.slot === 'pulled' ? 'record-pulled' : 'record-intent'), 'a record of a pull was written that its run does not wait for', run.id);
      if (reply.slot === 'pulled') concludePull(run, reply.outcome.ok, context);
      else if (reply.outcome.ok) context.images.records.intentFiles.add(run.request.image);
      else concludePull(run, true, context);
      return reply.outcome.ok ? { kind: 'recorded' } : { kind: 'failed', message: reply.outcome.error.message };
  }
}

function inspected(run: ImageRun, outcome: ReplyFor<AgentOperations, 'images.status'>['outcome']): EnsureImageReply {
  if (!outcome.ok) return { kind: 'failed', message: outcome.error.message };
  run.image = outcome.value;
  return outcome.value === null ? { kind: 'absent' } : { kind: 'present', imageId: outcome.value.id };
}

/** Begins the pulls that have their turn. */
function startPulls(context: ImageContext): void {
  const { images, imageSettings, turn } = context;
  for (;;) {
    const id = nextPull(images.queue, imageSettings.limits);
    if (id === null) return;
    const run = images.runs.get(id);
    assert(run !== undefined, 'a pull waits that no run requested');
    run.startedAt = turn.now;
    if (acceptPull(images.queue, imageSettings.limits, turn.now)) {
      context.forPod(run.request.pod.metadata.uid ?? '', () => askPull(run, context));
      continue;
    }
    images.queue.pulling.delete(id);
    proceed(run, { kind: 'failed', message: 'pull QPS exceeded' }, context);
  }
}

function askPull(run: ImageRun, { turn }: ImageContext): void {
  const credentials = run.ensure.credentials[run.attempt]?.credentials ?? null;
  const { pod, sandboxConfig } = run.request;
  // Large images take any time: there is no deadline.
  turn.ask('images.pull', imageAddress(run.id), 'pull', { image: imageSpec(run.ensure.pullName, pod), credentials, sandboxConfig }, null);
}

function pullFailed(run: ImageRun, context: ImageContext): EnsureImageReply | null {
  run.attempt++;
  if (run.attempt < run.ensure.credentials.length) {
    askPull(run, context);
    return null;
  }
  endSlot(run, context);
  const texts = [...new Set(run.failures)];
  return { kind: 'failed', message: texts.length === 1 ? texts[0]! : `[${texts.join(', ')}]` };
}

function pulled(run: ImageRun, imageRef: string, context: ImageContext): null {
  run.imageRef = imageRef;
  run.tookMicros = context.turn.now - run.startedAt;
  endSlot(run, context);
  askStatus(run, 'size', context);
  return null;
}

/** The image after its pull; a runtime that can't report its size doesn't undo the pull. */
function measured(run: ImageRun, image: ImageRun['image'], { turn }: ImageContext): EnsureImageReply {
  run.image = image;
  const used = run.ensure.credentials[run.attempt] ?? null;
  const times = { took: run.tookMicros, waited: turn.now - run.askedAt };
  return { kind: 'pulled', imageRef: run.imageRef, sizeBytes: image?.sizeBytes ?? 0, used, ...times };
}

function endSlot(run: ImageRun, context: ImageContext): void {
  assert(context.images.queue.pulling.has(run.id), 'a pull ends that has no slot', run.id);
  context.images.queue.pulling.delete(run.id);
  startPulls(context);
}

function askStatus(run: ImageRun, slot: 'inspect' | 'size', { turn, runtimeRequestTimeout }: ImageContext): void {
  turn.ask('images.status', imageAddress(run.id), slot, { image: imageSpec(run.ensure.pullName, run.request.pod) }, runtimeRequestTimeout);
}

/** The runtime gets the pod's annotations with each image; its handler only with a feature that is off. */
function imageSpec(image: string, { metadata: { annotations } }: ImageRequest['pod']) {
  return annotations === undefined || Object.keys(annotations).length === 0 ? { image } : { image, annotations };
}
