// The files `allocated_pods_state` and `actuated_pods_state`: the resources that were granted to pods, and those that were last applied.
// Invariants: the checksum covers the exact bytes of `data`; quantities are written in their canonical form and keys in order, so that
// the same allocation is the same file.
import type { ResourceList, ResourceRequirements } from '../../ports/model/container.js';
import { derived } from '../values/derived.js';
import { mustParseQuantity, parseQuantityJson, quantityText } from '../values/quantity.js';
import { field, fieldsOf, listField, mapField, numberField, type Read, readJson, textField, unreadable } from './checkpoint-fields.js';
import { type CheckpointText, corruptCheckpoint, fnvChecksum, jsonList, jsonMap, jsonRecord, jsonText } from './checkpoint-text.js';

export interface PodResourceEntry {
  readonly containers: ReadonlyMap<string, ResourceRequirements> | null;
  /** null: none, or not recorded (older files lack it), so that the spec counts. */
  readonly podLevel: ResourceRequirements | null;
}

export const allocatedPodsCheckpointName = 'allocated_pods_state';
export const actuatedPodsCheckpointName = 'actuated_pods_state';

/** Pod uid -> resources. */
export function writePodResourcesCheckpoint(entries: ReadonlyMap<string, PodResourceEntry>): CheckpointText {
  const data = jsonRecord([['entries', entries.size === 0 ? null : jsonMap(entries, entryJson)]]);
  const checksumInput = `(string)${data}`;
  const checksum = fnvChecksum(checksumInput);
  return {
    content: jsonRecord([
      ['data', jsonText(data)],
      ['checksum', String(checksum)],
    ]),
    checksum,
    checksumInput,
  };
}

export function readPodResourcesCheckpoint(text: string): Read<ReadonlyMap<string, PodResourceEntry>> {
  const read = readJson(text, (value) => {
    const fields = fieldsOf(value, 'Checkpoint');
    return { data: textField(fields, 'data'), checksum: numberField(fields, 'checksum') };
  });
  if (!read.ok) return read;
  if (read.value.checksum !== fnvChecksum(`(string)${read.value.data}`)) return { ok: false, error: corruptCheckpoint };
  return readJson(read.value.data, (value) => mapField(fieldsOf(value, 'PodResourceCheckpointInfo'), 'entries', new Map(), entryOf) ?? new Map());
}

/** The file is written whole whenever one entry changes; the others are the same objects as before. */
const entryJson = derived((entry: PodResourceEntry): string =>
  jsonRecord([
    ['ContainerResources', jsonMap(entry.containers, requirementsJson)],
    ['PodLevelResources', entry.podLevel === null ? 'null' : requirementsJson(entry.podLevel)],
  ]),
);

/** In the API's own JSON: amounts in their canonical form, names in order. */
export function requirementsJson({ limits, requests, claims }: ResourceRequirements): string {
  return jsonRecord([
    ['limits', listJson(limits)],
    ['requests', listJson(requests)],
    ['claims', claims === undefined || claims.length === 0 ? null : jsonList(claims, claimJson)],
  ]);
}

function claimJson({ name, request }: { readonly name: string; readonly request?: string }): string {
  return jsonRecord([
    ['name', jsonText(name)],
    ['request', request === undefined || request === '' ? null : jsonText(request)],
  ]);
}

function listJson(list: ResourceList | undefined): string | null {
  const names = Object.entries(list ?? {});
  return names.length === 0 ? null : jsonMap(new Map(names), (text) => jsonText(quantityText(mustParseQuantity(text))));
}

function entryOf(value: unknown): PodResourceEntry {
  const fields = fieldsOf(value, 'PodResourceInfo');
  const podLevel = field(fields, 'PodLevelResources') ?? null;
  return { containers: mapField(fields, 'ContainerResources', null, requirementsOf), podLevel: podLevel === null ? null : requirementsOf(podLevel) };
}

function requirementsOf(value: unknown): ResourceRequirements {
  const fields = fieldsOf(value, 'ResourceRequirements');
  const limits = mapField(fields, 'limits', null, quantityOf);
  const requests = mapField(fields, 'requests', null, quantityOf);
  const claims = listField(fields, 'claims', null, (claim) => {
    const of = fieldsOf(claim, 'ResourceClaim');
    const request = textField(of, 'request');
    return { name: textField(of, 'name'), ...(request === '' ? {} : { request }) };
  });
  return {
    ...(limits === null ? {} : { limits: Object.fromEntries(limits) }),
    ...(requests === null ? {} : { requests: Object.fromEntries(requests) }),
    ...(claims === null ? {} : { claims }),
  };
}

function quantityOf(value: unknown): string {
  const parsed = parseQuantityJson(JSON.stringify(value));
  return parsed.ok ? quantityText(parsed.quantity) : unreadable(parsed.error);
}
