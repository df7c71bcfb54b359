// Removes unused images: those that are too old, and as many as the disk needs (`gc/image-gc.ts` decides, this performs).
//
//   idle -> containers -> list -> [fsInfo -> usage] -> remove (one after the other) -> [records] -> idle
//
// Runs every five minutes: the disk fills by itself, and the last use of an image is known only from listings. An image is in use if
// the pod cache has a container with it in any state, if the spec of a pod that has a worker or is wanted names it (its containers may be
// created soon), or if a container of another client has it: these are listed at the beginning of each round.
//
// Invariant: each removal checks in the same step that the image is unused.

import type { Micros } from '../../../ports/micros.js';
import type { Pod } from '../../../ports/model/pod.js';
import type { RuntimeImage } from '../../../ports/outbound/container-runtime.js';
import {
  afterImageFsMeasurement,
  afterImageRemoval,
  beginImageGc,
  beginUnusedImageRemoval,
  type ImageGcOutcome,
  isImageGcEnabled,
  nextImageGcStep,
  skipImage,
} from '../../gc/image-gc.js';
import { detectImages, removableImages } from '../../gc/image-records.js';
import { readPulledRecord } from '../../images/pull-record-text.js';
import { isPullRecordGarbage, pullRecordFileName } from '../../images/pull-records.js';
import { assert } from '../../kernel/assert.js';
import { fullImageName, parseImageReference } from '../../values/image-reference.js';
import { instantAfter } from '../../values/instant.js';
import type { AgentContext } from '../agent-context.js';
import { forgetPullRecord } from '../image-manager/requests.js';
import type { AnswerOf } from '../part.js';
import { asideImages } from '../set-aside/set-aside.js';
import { loopProblem } from '../sync-loop/sync-loop.js';
import type { ImageCollectionState } from './image-collection-state.js';
import { asImageGC, type ImageGCContext } from './slice.js';

export const imageCollectionAddress = { machine: 'image-collection', key: '' } as const;
const period: Micros = 300_000_000;
/** The pause until the runtime's containers are known, as after a start; a whole period would be long for a full disk. */
const unknownPause: Micros = 10_000_000;
/** A dead network file system answers never. */
const usageTimeout: Micros = 2_000_000;

/** Plans the next round; the first begins when the runtime's containers are known. */
export function planImageCollection({ state, turn }: ImageGCContext): void {
  const { imageCollection: collection } = state;
  if (collection.phase !== 'idle' || collection.planned || state.relist.newest === null || !isImageGcEnabled(state.settings.imageGc)) return;
  collection.planned = true;
  turn.wakeAt(imageCollectionAddress, turn.now);
}

export function beginImageCollection(context: ImageGCContext): void {
  const { state, turn } = context;
  const { imageCollection: collection } = state;
  // The runtime's containers are not known well enough, it is unusable, or the eviction loop's round is in progress.
  const isTooEarly = collection.phase !== 'idle' || loopProblem(context) !== null || isLookDue(context);
  turn.wakeAt(imageCollectionAddress, turn.now + (isTooEarly ? unknownPause : period));
  if (!isTooEarly) beginRound(context);
}

export const imageCollectionOperations = ['runtime.listPods', 'images.list', 'images.fsInfo', 'filesystemUsage.usage', 'images.remove', 'pullRecords.list'] as const;

export function imageCollectionReplied(context: ImageGCContext, reply: AnswerOf<(typeof imageCollectionOperations)[number]>): void {
  const { imageCollection: collection } = context.state;
  switch (reply.op) {
    case 'runtime.listPods':
      assert(collection.phase === 'containers', 'containers were listed that image collection does not wait for', collection.phase);
      if (reply.outcome.ok) beginList(context, reply.outcome.value.foreignImages);
      else end(context, { error: reply.outcome.error.message, event: null, isComplete: false });
      return;
    case 'images.list':
      assert(collection.phase === 'list', 'images were listed that image collection does not wait for', collection.phase);
      if (reply.outcome.ok) listed(context, reply.outcome.value);
      else end(context, { error: reply.outcome.error.message, event: null, isComplete: false });
      return;
    case 'images.fsInfo':
      assert(collection.phase === 'fsInfo', 'the file system of images was read that image collection does not wait for', collection.phase);
      if (reply.outcome.ok) fsInfoReplied(context, reply.outcome.value);
      else end(context, { error: reply.outcome.error.message, event: null, isComplete: false });
      return;
    case 'filesystemUsage.usage':
      assert(collection.phase === 'usage', 'the usage of images was read that image collection does not wait for', collection.phase);
      if (reply.outcome.ok) measured(context, reply.outcome.value.capacityBytes, reply.outcome.value.availableBytes);
      // The runtime may live where this path is none.
      else if (reply.outcome.error.kind === 'not-found') measured(context, 0n, 0n);
      else end(context, { error: reply.outcome.error.message, event: null, isComplete: false });
      return;
    case 'images.remove':
      assert(collection.phase === 'remove', 'an image was removed that image collection does not wait for', collection.phase);
      removed(context, reply.slot, reply.outcome.ok ? null : reply.outcome.error.message);
      return;
    case 'pullRecords.list':
      assert(collection.phase === 'records', 'records were listed that image collection does not wait for', collection.phase);
      if (reply.outcome.ok) for (const { text } of reply.outcome.value) removeRecord(context, text);
      else context.turn.log('error', 'The records of image pulls cannot be read', { err: reply.outcome.error.message });
      rest(context);
  }
}

/** Requests a round that removes all unused images, now or after the one in progress. `pressed` shows when it is done. */
export function pressImageCollection(caller: AgentContext): void {
  const context = asImageGC(caller);
  context.state.imageCollection.pressed = 'wanted';
  beginPressed(context);
}

function beginPressed(context: ImageGCContext): void {
  const { state } = context;
  const { imageCollection: collection } = state;
  if (collection.phase !== 'idle' || collection.pressed !== 'wanted') return;
  // Unused images of this agent may belong to another owner.
  if (!state.settings.ownsImages || loopProblem(context) !== null || isLookDue(context)) {
    collection.pressed = 'done';
    return;
  }
  collection.pressed = 'on';
  beginRound(context);
}

/** A round has ended, with any result. */
function rest(context: ImageGCContext): void {
  const { imageCollection: collection } = context.state;
  collection.phase = 'idle';
  if (collection.pressed === 'on') collection.pressed = 'done';
  beginPressed(context);
}

function beginRound({ state, turn }: ImageGCContext): void {
  const { imageCollection: collection } = state;
  assert(collection.phase === 'idle', 'a round of image collection begins during another', collection.phase);
  collection.phase = 'containers';
  collection.startedAt = turn.now;
  collection.removed = 0;
  turn.ask('runtime.listPods', imageCollectionAddress, 'containers', { uid: null }, state.settings.runtimeRequestTimeout);
}

function beginList({ state, turn }: ImageGCContext, foreign: readonly string[]): void {
  const { imageCollection: collection } = state;
  collection.phase = 'list';
  collection.foreign = foreign;
  turn.ask('images.list', imageCollectionAddress, 'list', null, state.settings.runtimeRequestTimeout);
}

function listed(context: ImageGCContext, listedImages: readonly RuntimeImage[]): void {
  const { state } = context;
  const images = listedImages.filter((image) => image.id !== '');
  for (const image of listedImages) if (image.id === '') context.nodeWarning('InvalidImageID', `ImageID is not valid, skipping, image: ${nameOf(image)}`);
  const { imageCollection: collection } = state;
  const inUse = new Set(usedImages(context, images));
  const { startedAt } = collection;
  collection.present.clear();
  for (const image of images) collection.present.set(image.id, image);
  collection.records = detectImages(collection.records, images, inUse, startedAt);
  const removable = removableImages(collection.records, inUse);
  const { imageGc } = state.settings;
  collection.run = collection.pressed === 'on' ? beginUnusedImageRemoval(removable, imageGc, startedAt) : beginImageGc(removable, imageGc, startedAt - state.startedAt, startedAt);
  advance(context);
}

/** Begins the next step of the round, or ends it. */
function advance(context: ImageGCContext): void {
  const { state, turn } = context;
  const { imageCollection: collection } = state;
  for (;;) {
    assert(collection.run !== null, 'no round of image collection is on');
    const step = nextImageGcStep(collection.run);
    if (step.kind === 'done') {
      end(context, step.outcome);
      return;
    }
    if (step.kind === 'measure') {
      collection.phase = 'fsInfo';
      turn.ask('images.fsInfo', imageCollectionAddress, 'fsInfo', null, state.settings.runtimeRequestTimeout);
      return;
    }
    const image = collection.present.get(step.image.id);
    if (image !== undefined && !isLookDue(context) && usedImages(context, [image]).length === 0) {
      collection.phase = 'remove';
      turn.ask('images.remove', imageCollectionAddress, step.image.id, { image: { image: step.image.id } }, state.settings.runtimeRequestTimeout);
      return;
    }
    collection.run = skipImage(collection.run);
  }
}

function fsInfoReplied(context: ImageGCContext, filesystems: readonly { readonly mountpoint: string }[]): void {
  const [first] = filesystems;
  if (first === undefined) {
    end(context, { error: 'imageFs information is unavailable', event: null, isComplete: false });
    return;
  }
  context.state.imageCollection.phase = 'usage';
  context.turn.ask('filesystemUsage.usage', imageCollectionAddress, 'usage', { path: first.mountpoint }, usageTimeout);
}

function measured(context: ImageGCContext, capacityBytes: bigint, availableBytes: bigint): void {
  const { imageCollection: collection } = context.state;
  assert(collection.run !== null, 'no round of image collection is on');
  collection.run = afterImageFsMeasurement(collection.run, capacityBytes, availableBytes);
  advance(context);
}

function removed(context: ImageGCContext, id: string, error: string | null): void {
  const { imageCollection: collection } = context.state;
  assert(collection.run !== null, 'no round of image collection is on');
  collection.run = afterImageRemoval(collection.run, error);
  if (error === null) {
    collection.present.delete(id);
    collection.removed++;
    collection.records = new Map([...collection.records].filter(([known]) => known !== id));
  }
  advance(context);
}

function end(context: ImageGCContext, { error, event, isComplete }: ImageGcOutcome): void {
  const { state, turn } = context;
  const { imageCollection: collection } = state;
  collection.run = null;
  if (event !== null) context.nodeWarning(event.reason, event.message);
  if (error === null) {
    if (collection.failedBefore) turn.log('info', 'Image garbage collection succeeded');
  } else if (collection.failedBefore) {
    turn.log('error', 'Image garbage collection failed multiple times in a row', { err: error });
    context.nodeWarning('ImageGCFailed', error);
  } else turn.log('warn', 'Image garbage collection failed once. Stats initialization may not have completed yet', { err: error });
  collection.failedBefore = error !== null;
  if (state.settings.images.verification === null || (!isComplete && collection.removed === 0)) {
    rest(context);
    return;
  }
  collection.phase = 'records';
  turn.ask('pullRecords.list', imageCollectionAddress, 'records', { kind: 'pulled' });
}

/** The pull record of a removed image is useless. */
function removeRecord({ state, turn }: ImageGCContext, text: string): void {
  const { present, startedAt }: ImageCollectionState = state.imageCollection;
  const began = instantAfter(turn.wall, startedAt - turn.now);
  const record = readPulledRecord(text)?.record ?? null;
  if (record === null) return;
  const remaining = new Set([...present.values()].flatMap(({ id, repoDigests }) => [id, ...repoDigests]));
  if (!isPullRecordGarbage(record, remaining, began)) return;
  forgetPullRecord(state, record.imageRef);
  turn.emit('pullRecords.remove', { kind: 'pulled', name: pullRecordFileName(record.imageRef) });
}

/** Pods whose containers in the runtime are not known. */
function isLookDue({ state }: ImageGCContext): boolean {
  const { newest } = state.relist;
  return newest === null || newest.pods.some(({ uid }) => state.cache.entries.get(uid)?.cached.kind !== 'status');
}

/** For an image without an id. */
function nameOf({ repoTags, repoDigests }: RuntimeImage): string {
  return repoTags[0] ?? repoDigests[0] ?? '';
}

/** The ids of those of the images that something uses. */
function usedImages({ state }: ImageGCContext, images: readonly RuntimeImage[]): string[] {
  const ofAside = asideImages(state);
  if (ofAside === null) return images.map(({ id }) => id);
  const names = new Set<string>(ofAside);
  for (const { cached } of state.cache.entries.values())
    if (cached.kind === 'status') for (const { imageId, imageRef } of cached.status.containers) names.add(imageId).add(imageRef);
  // Many pods have the same image, and most are met more than once.
  const asked = new Set<string>(state.imageCollection.foreign);
  for (const image of asked) names.add(image);
  for (const pod of state.pods.pods.values()) addNames(pod, asked);
  for (const { pod } of state.runs.values()) addNames(pod, asked);
  for (const { active, pending } of state.workers.records.values()) for (const update of [active, pending]) if (update !== null && update.pod !== null) addNames(update.pod, asked);
  for (const { request } of state.images.runs.values()) asked.add(request.image);
  for (const image of asked) addName(image, names);
  return images.flatMap(({ id, repoTags, repoDigests }) => ([id, ...repoTags, ...repoDigests].some((name) => names.has(name)) ? [id] : []));
}

function addNames({ spec }: Pod, names: Set<string>): void {
  for (const containers of [spec.initContainers, spec.containers, spec.ephemeralContainers]) for (const { image } of containers ?? []) names.add(image ?? '');
  for (const { image } of spec.volumes ?? []) if (image !== undefined) names.add(image.reference ?? '');
}

/** In the runtime's full form; an image's id stays unchanged. */
function addName(image: string, names: Set<string>): void {
  if (parseImageReference(image) === null) names.add(image).add(`sha256:${image}`);
  else names.add(fullImageName(image)).add(image);
}
