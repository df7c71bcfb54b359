// What all runs share: the records that an earlier agent left, and the node's Docker configuration. See `pull-record-store.ts`.
import type { Micros } from '../../ports/micros.js';
import type { AgentOperations } from '../../ports/outbound/outbound-ports.js';
import { assert } from '../kernel/assert.js';
import type { ReplyFor } from '../kernel/machine.js';
import { nodeConfigReplied, pluginReplied } from './credential-lookup.js';
import { type ImageContext, imageStoreAddress } from './image-context.js';
import { failRuns, resumeRuns } from './image-manager.js';
import { keepRecord, settleInterrupted, takeIntentFiles, takeRecordFiles } from './pull-record-store.js';
import { pullRecordFileName } from './pull-records.js';
import { fileOf, readRecords } from './record-pull.js';

/** Between two tries to learn the runtime's images for the sake of interrupted pulls. */
const imagesRetry: Micros = 5_000_000;

export function startImageStore(context: ImageContext): void {
  if (context.imageSettings.verification !== null) readRecords(context);
}

export function nodeConfigRead(context: ImageContext, answer: ReplyFor<AgentOperations, 'registryCredentials.readNodeConfig'>): void {
  resumeRuns(context, nodeConfigReplied(context, answer));
}

/** An answer for `credential-plugin/<plugin> <repository>`. */
export function credentialPluginReplied(context: ImageContext, key: string, reply: ReplyFor<AgentOperations, 'registryCredentials.runPlugin'>): void {
  resumeRuns(context, pluginReplied(context, key, reply));
}

export function askForImages({ turn, runtimeRequestTimeout }: ImageContext): void {
  if (!turn.inFlight(imageStoreAddress, 'images')) turn.ask('images.list', imageStoreAddress, 'images', null, runtimeRequestTimeout);
}

export function recordsListed(context: ImageContext, { slot, outcome }: ReplyFor<AgentOperations, 'pullRecords.list'>): void {
  const { images, turn } = context;
  const { records } = images;
  assert(records.phase === 'reading' && records.pending > 0, 'records of image pulls were listed that are not being read', slot);
  records.pending--;
  if (!outcome.ok) records.problem = outcome.error.message;
  else if (slot === 'pulling') takeIntentFiles(records, outcome.value);
  else for (const record of takeRecordFiles(records, outcome.value)) turn.emit('pullRecords.write', fileOf(record));
  if (records.pending > 0) return;
  const waiting = records.waiting.splice(0);
  if (records.problem !== null) {
    records.phase = 'unread';
    turn.log('error', 'The records of image pulls cannot be read', { err: records.problem });
    failRuns(context, waiting, records.problem);
    return;
  }
  records.phase = 'read';
  resumeRuns(context, waiting);
  if (records.interrupted.size > 0) askForImages(context);
}

export function imagesListed(context: ImageContext, { outcome }: ReplyFor<AgentOperations, 'images.list'>): void {
  const { images, turn } = context;
  const { records } = images;
  if (!outcome.ok) {
    turn.wakeAt(imageStoreAddress, turn.now + imagesRetry);
    return;
  }
  for (const { image, record } of settleInterrupted(records, outcome.value, turn.wall, context.imageSettings.verification)) {
    keepRecord(records, record.imageRef, record);
    turn.emit('pullRecords.write', fileOf(record));
    records.intentFiles.delete(image);
    turn.emit('pullRecords.remove', { kind: 'pulling', name: pullRecordFileName(image) });
  }
}
