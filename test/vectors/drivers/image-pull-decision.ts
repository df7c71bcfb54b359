// image-pull-decision: image names, the decision to pull with its events and records, and the credentials that are tried.
import { newImagePullBackoff } from '../../../src/domain/backoff/image-pull-backoff.js';
import { advanceEnsureImage, beginEnsureImage, type EnsureImageReply, type EnsureImageStep } from '../../../src/domain/images/ensure-image.js';
import { credentialsFor, keyringOfSecrets } from '../../../src/domain/images/keyring.js';
import { defaultPullPolicy } from '../../../src/domain/images/pull-policy.js';
import { normalizeImageName } from '../../../src/domain/values/image-name.js';
import { effectiveImageTag, parseImageReference } from '../../../src/domain/values/image-reference.js';
import type { Secret } from '../../../src/ports/model/config-objects.js';
import { differences, type Json } from '../compare.js';
import type { VectorDriver } from '../driver.js';

interface Step {
  readonly atSeconds: number;
  readonly image: string;
  readonly pullPolicy: string;
  readonly podUid: string;
  readonly presentImageId?: string;
  readonly inspectError?: string;
  readonly recordsRequirePull?: boolean;
  readonly recordsError?: string;
  readonly pullReturnsRef?: string;
  readonly pullError?: string;
  readonly imageSizeBytes?: number;
  readonly recordIntentError?: string;
}
type Input =
  | { readonly kind: 'imageName'; readonly image: string }
  | { readonly kind: 'ensureImage'; readonly steps: readonly Step[] }
  | { readonly kind: 'pullCredentials'; readonly image: string; readonly pullSecrets: readonly Secret[] };

function imageName(image: string): unknown {
  const normalized = normalizeImageName(image);
  const policy = { defaultPullPolicy: defaultPullPolicy(image) };
  if (!normalized.ok) return { error: normalized.message, ...policy };
  const digest = parseImageReference(image)?.digest ?? '';
  return { repository: normalized.repository, tag: effectiveImageTag(image), digest, pullName: normalized.name, ...policy };
}

function pullCredentials(image: string, secrets: readonly Secret[]): unknown {
  const read = keyringOfSecrets(secrets);
  if (!read.ok) return { error: read.message };
  const found = credentialsFor([read.keyring], parseImageReference(image)?.repository ?? '');
  const credentials = found.map(({ credentials: { username, password }, source }) => ({ username, password, secret: source.kind === 'secret' ? source.name : '' }));
  return { found: found.length > 0, credentials };
}

/** What the world answers, and how the vectors write down that it was asked; null for what they leave out. */
function answer(asked: EnsureImageStep, step: Step): { readonly call: string | null; readonly reply: EnsureImageReply } {
  const failed = (message: string): EnsureImageReply => ({ kind: 'failed', message });
  switch (asked.kind) {
    case 'inspect': {
      const found: EnsureImageReply = step.presentImageId === undefined ? { kind: 'absent' } : { kind: 'present', imageId: step.presentImageId };
      return { call: `ImageStatus ${asked.image}`, reply: step.inspectError === undefined ? found : failed(step.inspectError) };
    }
    case 'check-records': {
      const records: EnsureImageReply = { kind: 'records', mustPull: step.recordsRequirePull === true };
      return { call: `checkRecords ${asked.image} ${asked.imageId}`, reply: step.recordsError === undefined ? records : failed(step.recordsError) };
    }
    case 'look-up-credentials':
      return { call: null, reply: { kind: 'credentials', credentials: [] } };
    case 'record-intent':
      return step.recordIntentError === undefined ? { call: `recordIntent ${asked.image}`, reply: { kind: 'recorded' } } : { call: null, reply: failed(step.recordIntentError) };
    case 'pull': {
      const pulled: EnsureImageReply = { kind: 'pulled', imageRef: step.pullReturnsRef ?? '', sizeBytes: step.imageSizeBytes ?? 0, used: null, took: 1500, waited: 2500 };
      return { call: `PullImage ${asked.image}`, reply: step.pullError === undefined ? pulled : failed(step.pullError) };
    }
    case 'record-pulled':
      return { call: `recordPulled ${asked.image} ${asked.imageRef}`, reply: { kind: 'recorded' } };
    case 'record-failed':
      return { call: `recordFailed ${asked.image}`, reply: { kind: 'recorded' } };
    default:
      throw new Error('nothing was asked');
  }
}

function ensureImages(steps: readonly Step[]): unknown {
  const backoff = newImagePullBackoff();
  return {
    steps: steps.map((step) => {
      const { podUid, image, pullPolicy } = step;
      let turn = beginEnsureImage({ podUid, image, pullPolicy });
      const events = [...turn.events];
      const calls: string[] = [];
      while (turn.run.step.kind !== 'done') {
        const { call, reply } = answer(turn.run.step, step);
        if (call !== null) calls.push(call);
        turn = advanceEnsureImage(turn.run, reply, backoff, step.atSeconds * 1_000_000);
        events.push(...turn.events);
      }
      const { outcome } = turn.run.step;
      const result = outcome.kind === 'ready' ? { imageRef: outcome.imageRef } : { imageRef: '', reason: outcome.reason };
      return { ...result, message: outcome.message, events: events.map(({ type, reason, message }) => `${type} ${reason} ${message}`), calls };
    }),
  };
}

export const driver: VectorDriver = {
  run(input: Input) {
    if (input.kind === 'imageName') return imageName(input.image);
    return input.kind === 'ensureImage' ? ensureImages(input.steps) : pullCredentials(input.image, input.pullSecrets);
  },
  compare(got: unknown, want: Json) {
    return differences(got, JSON.parse(JSON.stringify(want).replaceAll('<duration>', '<detail>')));
  },
};
