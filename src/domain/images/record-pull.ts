// The records of one pull (KEP-2535): the intent before, the record after, and the check whether a pod may use a present image.
// Invariant: the intent's file exists from before the first byte is pulled until the outcome is on the disk.
import type { AgentOperations } from '../../ports/outbound/outbound-ports.js';
import { assert } from '../kernel/assert.js';
import type { Reply } from '../kernel/machine.js';
import { lookUpCredentials } from './credential-lookup.js';
import type { EnsureImageReply } from './ensure-image.js';
import { type ImageContext, imageAddress, imageStoreAddress } from './image-context.js';
import type { ImageRun } from './image-manager-state.js';
import type { TrackedCredentials } from './keyring.js';
import { withPreloadedNames } from './preloaded-names.js';
import { pullConcluded, pullIntended } from './pull-intents.js';
import { countCheck, hasIntent, keepRecord, knownRecord, pullIntentNames } from './pull-record-store.js';
import { pullRecordText, readPulledRecord } from './pull-record-text.js';
import { type ImagePulledRecord, mustPullToVerify, newImagePullIntent, pullRecordFileName, recordOfPull } from './pull-records.js';

const mustPull: EnsureImageReply = { kind: 'records', mustPull: true };

/** null: a request comes first; call again. */
export function checkRecords(run: ImageRun, imageRef: string, context: ImageContext): EnsureImageReply | null {
  const { verification } = context.imageSettings;
  if (verification === null) return { kind: 'records', mustPull: false, isUnchecked: true };
  const { records } = context.images;
  if (verification.kind === 'NeverVerify') {
    countCheck(records, 'credentialPolicyAllowed');
    return { kind: 'records', mustPull: false };
  }
  if (records.phase !== 'read') return awaitRecords(run, context);
  if (run.recordUnreadable) {
    countCheck(records, 'error');
    return mustPull;
  }
  const record = knownRecord(records, imageRef);
  if (record === undefined) return askRecord(run, imageRef, context);
  const present = { image: run.request.image, imageRef, record, hasIntent: hasIntent(records, run.request.image) };
  const { wall } = context.turn;
  let verdict = mustPullToVerify(present, run.credentials ?? [], verification, wall);
  if (verdict.mustPull && run.credentials === null && namesCredentials(record, run.ensure.repository)) {
    const found = lookUpCredentials(run, context);
    if (found.kind === 'waiting') return null;
    if (found.kind === 'failed') {
      countCheck(records, 'error');
      return found;
    }
    verdict = mustPullToVerify(present, found.credentials, verification, wall);
  }
  if (!verdict.mustPull && verdict.update !== null) {
    keepRecord(records, imageRef, verdict.update);
    context.turn.emit('pullRecords.write', fileOf(verdict.update));
  }
  countCheck(records, verdict.why);
  return { kind: 'records', mustPull: verdict.mustPull };
}

/** Whether credentials could make a difference. */
function namesCredentials(record: ImagePulledRecord | null, repository: string): boolean {
  const mapping = record?.credentialMapping ?? {};
  const entry = Object.hasOwn(mapping, repository) ? mapping[repository] : undefined;
  return (entry?.kubernetesSecrets ?? []).length > 0 || (entry?.kubernetesServiceAccounts ?? []).length > 0;
}

/** Begins to read the records, unless that has begun. */
export function readRecords({ images, turn }: Pick<ImageContext, 'images' | 'turn'>): void {
  const { records } = images;
  if (records.phase !== 'unread') return;
  records.phase = 'reading';
  records.pending = 2;
  records.problem = null;
  turn.ask('pullRecords.list', imageStoreAddress, 'pulling', { kind: 'pulling' });
  turn.ask('pullRecords.list', imageStoreAddress, 'pulled', { kind: 'pulled' });
}

function awaitRecords(run: ImageRun, context: ImageContext): null {
  context.images.records.waiting.push(run.id);
  readRecords(context);
  return null;
}

function askRecord(run: ImageRun, imageRef: string, { turn }: ImageContext): null {
  turn.ask('pullRecords.read', imageAddress(run.id), 'record', { kind: 'pulled', name: pullRecordFileName(imageRef) });
  return null;
}

type RecordOutcome = Extract<Reply<AgentOperations>, { readonly op: 'pullRecords.read' }>['outcome'];

/** The record of the image that is checked, or that was pulled. */
export function recordRead(run: ImageRun, outcome: RecordOutcome, context: ImageContext): EnsureImageReply | null {
  const { step } = run.ensure;
  assert(step.kind === 'check-records' || step.kind === 'record-pulled', 'a record was read that no step waits for');
  const imageRef = step.kind === 'check-records' ? step.imageId : step.imageRef;
  const read = outcome.ok && outcome.value !== null ? readPulledRecord(outcome.value) : null;
  const isBroken = !outcome.ok || (outcome.value !== null && read === null);
  if (isBroken) {
    run.recordUnreadable = true;
    context.turn.log('error', 'The record of an image pull cannot be read', { imageRef, err: outcome.ok ? 'it is no ImagePulledRecord' : outcome.error.message });
  } else keepRecord(context.images.records, imageRef, read?.record ?? null);
  if (step.kind === 'check-records') return checkRecords(run, imageRef, context);
  return recordPulled(run, imageRef, step.used, context);
}

export function recordIntent(run: ImageRun, context: ImageContext): EnsureImageReply | null {
  const { images, imageSettings, turn } = context;
  if (imageSettings.verification === null) return { kind: 'recorded' };
  const { image } = run.request;
  pullIntended(images.records.counts, image);
  if (images.records.intentFiles.has(image)) return { kind: 'recorded' };
  turn.ask('pullRecords.write', imageAddress(run.id), 'intent', { kind: 'pulling', name: pullRecordFileName(image), text: pullRecordText(newImagePullIntent(image)) });
  return null;
}

/** The end of a pull with an intent. @param recorded false: its record could not be written, and the intent stays as evidence */
export function concludePull({ request, imageRef }: ImageRun, recorded: boolean, { images, imageSettings, turn }: ImageContext): void {
  if (!recorded) images.records.records.delete(imageRef);
  if (imageSettings.verification === null || !pullConcluded(images.records.counts, request.image, recorded)) return;
  images.records.intentFiles.delete(request.image);
  turn.emit('pullRecords.remove', { kind: 'pulling', name: pullRecordFileName(request.image) });
}

export function recordPulled(run: ImageRun, imageRef: string, used: TrackedCredentials | null, context: ImageContext): EnsureImageReply | null {
  const { images, imageSettings, turn } = context;
  if (imageSettings.verification === null) return { kind: 'recorded' };
  const known = knownRecord(images.records, imageRef);
  // An unreadable record is replaced: the present proof counts.
  if (known === undefined && !run.recordUnreadable) return askRecord(run, imageRef, context);
  const pulled = recordOfPull(known ?? null, run.request.image, imageRef, used, turn.wall);
  assert(pulled !== null, 'what was pulled had a name');
  const isFirst = known === null && imageSettings.verification.kind === 'NeverVerifyPreloadedImages';
  const record = isFirst && run.image !== null ? withPreloadedNames(pulled, run.image, pullIntentNames(images.records)) : pulled;
  keepRecord(images.records, imageRef, record);
  turn.ask('pullRecords.write', imageAddress(run.id), 'pulled', fileOf(record));
  return null;
}

export function fileOf(record: ImagePulledRecord) {
  return { kind: 'pulled', name: pullRecordFileName(record.imageRef), text: pullRecordText(record) } as const;
}
