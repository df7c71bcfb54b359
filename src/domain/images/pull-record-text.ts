// Intents and records of pulls as the texts of their files.
// Invariant: an incomplete record, or one of an unknown version, is ignored; it grants no access.
import { goJsonProblem } from '../values/go-json.js';
import type { ImagePulledRecord, ImagePullIntent } from './pull-records.js';

const group = 'kubelet.config.k8s.io/';
const pullRecordVersion = `${group}v1beta1`;
/** Of 1.33; the fields are the same. */
const olderVersion = `${group}v1alpha1`;

export function pullRecordText(record: ImagePulledRecord | ImagePullIntent): string {
  return `${JSON.stringify(record)}\n`;
}

/** null: the text is no intent. */
export function readPullIntent(text: string): ImagePullIntent | null {
  const value = readRecord(text, 'ImagePullIntent');
  return value === null || typeof value.image !== 'string' ? null : { kind: 'ImagePullIntent', apiVersion: pullRecordVersion, image: value.image };
}

export interface PulledRecordRead {
  readonly record: ImagePulledRecord;
  /** The file has an older version and must be rewritten. */
  readonly isOld: boolean;
}

/** null: the text is no record. */
export function readPulledRecord(text: string): PulledRecordRead | null {
  const value = readRecord(text, 'ImagePulledRecord');
  if (value === null || typeof value.imageRef !== 'string' || typeof value.lastUpdatedTime !== 'string') return null;
  const mapping = value.credentialMapping ?? {};
  if (!isObject(mapping) || !Object.values(mapping).every(isCredentials)) return null;
  return { record: { ...(value as unknown as ImagePulledRecord), apiVersion: pullRecordVersion }, isOld: value.apiVersion === olderVersion };
}

function isCredentials(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { kubernetesSecrets: secrets = [], kubernetesServiceAccounts: accounts = [], nodePodsAccessible = false } = value;
  return areObjects(secrets, ['uid', 'namespace', 'name', 'credentialHash']) && areObjects(accounts, ['uid', 'namespace', 'name']) && typeof nodePodsAccessible === 'boolean';
}

function areObjects(list: unknown, texts: readonly string[]): boolean {
  return Array.isArray(list) && list.every((element) => isObject(element) && texts.every((name) => typeof element[name] === 'string'));
}

function readRecord(text: string, kind: string): Readonly<Record<string, unknown>> | null {
  if (goJsonProblem(text) !== null) return null;
  const value: unknown = JSON.parse(text);
  if (!isObject(value) || value.kind !== kind) return null;
  return value.apiVersion === pullRecordVersion || value.apiVersion === olderVersion ? value : null;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
