// The file `cpu_manager_state`: the shared pool and the exclusive CPUs of containers, compatible with Go kubelets in both directions.
// Invariant: a file whose checksum is 0 or missing is accepted as it is; any other must match.
import { parseCpuSet } from '../values/cpu-set.js';
import { fieldsOf, mapField, mapOf, numberField, type Read, readJson, textField, textOf } from './checkpoint-fields.js';
import { type CheckpointText, corruptCheckpoint, fnvChecksum, jsonMap, jsonRecord, jsonText, pictureMap, pictureRecord } from './checkpoint-text.js';

type Texts = ReadonlyMap<string, string>;

export interface CpuCheckpoint {
  readonly policyName: string;
  /** CPU sets are texts here: their users validate them. */
  readonly defaultCpuSet: string;
  /** Pod uid -> container -> CPU set. null: null in the file. */
  readonly entries: ReadonlyMap<string, Texts> | null;
  /** Pod uid -> CPU set of the pod as a whole. Only with the feature gate PodLevelResourceManagers; else null, and the format differs. */
  readonly podEntries: Texts | null;
}

export const cpuCheckpointName = 'cpu_manager_state';

export function writeCpuCheckpoint(checkpoint: CpuCheckpoint): CheckpointText {
  const { policyName, defaultCpuSet, entries, podEntries } = checkpoint;
  const checksumInput = cpuPicture(checkpoint);
  const checksum = fnvChecksum(checksumInput);
  const content = jsonRecord([
    ['policyName', jsonText(policyName)],
    ['defaultCpuSet', jsonText(defaultCpuSet)],
    ['entries', entries === null || entries.size === 0 ? null : jsonMap(entries, (containers) => jsonMap(containers, jsonText))],
    ['podEntries', podEntries === null || podEntries.size === 0 ? null : jsonMap(podEntries, (cpus) => jsonRecord([['cpuSet', cpus === '' ? null : jsonText(cpus)]]))],
    ['checksum', String(checksum)],
  ]);
  return { content, checksum, checksumInput };
}

export interface ContainerName {
  readonly podUid: string;
  readonly containerName: string;
}

/**
 * Reads the file in its current form or, failing that, in that of kubelets before 1.18, whose entries have container ids as keys:
 * the runtime's containers (`containers`) translate them.
 */
export function readCpuCheckpoint(text: string, containers: ReadonlyMap<string, ContainerName>, podLevel = false): Read<CpuCheckpoint> {
  const present = readJson(text, (value) => presentForm(value, podLevel));
  if (present.ok && present.value.valid) return { ok: true, value: present.value.checkpoint };
  const flat = podLevel ? readJson(text, (value) => presentForm(value, false)) : present;
  if (flat.ok && flat.value.valid) return { ok: true, value: { ...flat.value.checkpoint, podEntries: new Map() } };
  const old = readJson(text, oldForm);
  if (old.ok && old.value.valid) return migrated(old.value.checkpoint, containers, podLevel);
  return present.ok || old.ok ? { ok: false, error: corruptCheckpoint } : present;
}

interface Checked<T> {
  readonly checkpoint: T;
  readonly valid: boolean;
}

function presentForm(value: unknown, podLevel: boolean): Checked<CpuCheckpoint> {
  const fields = fieldsOf(value, 'CPUManagerCheckpoint');
  const checkpoint: CpuCheckpoint = {
    policyName: textField(fields, 'policyName'),
    defaultCpuSet: textField(fields, 'defaultCpuSet'),
    entries: mapField(fields, 'entries', new Map(), (containers) => mapOf(containers, 'entries', textOf) ?? new Map()),
    podEntries: podLevel ? mapField(fields, 'podEntries', new Map(), (entry) => textField(fieldsOf(entry, 'podEntries'), 'cpuSet')) : null,
  };
  return { checkpoint, valid: sumMatches(numberField(fields, 'checksum'), cpuPicture(checkpoint)) };
}

interface OldCheckpoint {
  readonly policyName: string;
  readonly defaultCpuSet: string;
  /** Container id -> CPU set. */
  readonly entries: Texts | null;
}

function oldForm(value: unknown): Checked<OldCheckpoint> {
  const fields = fieldsOf(value, 'CPUManagerCheckpoint');
  const checkpoint: OldCheckpoint = {
    policyName: textField(fields, 'policyName'),
    defaultCpuSet: textField(fields, 'defaultCpuSet'),
    entries: mapField(fields, 'entries', new Map(), textOf),
  };
  const entries = ['Entries', 'map[string]string', pictureMap(checkpoint.entries, (cpus) => cpus)] as const;
  return { checkpoint, valid: sumMatches(numberField(fields, 'checksum'), recordPicture(checkpoint, [entries])) };
}

function migrated(old: OldCheckpoint, containers: ReadonlyMap<string, ContainerName>, podLevel: boolean): Read<CpuCheckpoint> {
  const entries = new Map<string, Map<string, string>>();
  for (const [containerId, cpus] of old.entries ?? []) {
    const container = containers.get(containerId);
    if (container === undefined) return { ok: false, error: `failed to migrate checkpoint from v1 to v2: containerID '${containerId}' not found in initial containers list` };
    const ofPod = entries.get(container.podUid) ?? new Map<string, string>();
    entries.set(container.podUid, ofPod.set(container.containerName, cpus));
  }
  return { ok: true, value: { policyName: old.policyName, defaultCpuSet: old.defaultCpuSet, entries, podEntries: podLevel ? new Map() : null } };
}

function sumMatches(stored: number, picture: string): boolean {
  return stored === 0 || stored === fnvChecksum(picture);
}

function cpuPicture(checkpoint: CpuCheckpoint): string {
  const entries = pictureMap(checkpoint.entries, (containers) => pictureMap(containers, (cpus) => cpus));
  const fields: (readonly [string, string, string])[] = [['Entries', 'map[string]map[string]string', entries]];
  if (checkpoint.podEntries !== null) fields.push(['PodEntries', 'state.PodCPUAssignments', pictureMap(checkpoint.podEntries, podPicture)]);
  return recordPicture(checkpoint, fields);
}

function recordPicture(checkpoint: OldCheckpoint | CpuCheckpoint, entries: readonly (readonly [string, string, string])[]): string {
  return `(*state.CPUManagerCheckpoint)${pictureRecord([
    ['PolicyName', 'string', checkpoint.policyName],
    ['DefaultCPUSet', 'string', checkpoint.defaultCpuSet],
    ...entries,
    ['Checksum', 'checksum.Checksum', '0'],
  ])}`;
}

/** A pod's set is shown by its members. */
function podPicture(text: string): string {
  const parsed = parseCpuSet(text);
  const members = (parsed.ok ? parsed.value : []).map((cpu) => `${cpu}:{}`).join(' ');
  return pictureRecord([['CPUSet', 'cpuset.CPUSet', pictureRecord([['elems', 'map[int]struct {}', `map[${members}]`]])]]);
}
