// The file `memory_manager_state`: memory of each NUMA node, and the blocks of containers, compatible with Go kubelets in both directions.
// Invariant: a file whose checksum is 0 or missing is accepted as it is; any other must match.
import { fieldsOf, listField, listOf, mapField, mapOf, numberField, type Read, readJson, textField, wholeNumber } from './checkpoint-fields.js';
import {
  byNumber,
  type CheckpointText,
  corruptCheckpoint,
  fnvChecksum,
  jsonList,
  jsonMap,
  jsonRecord,
  jsonText,
  pictureList,
  pictureMap,
  pictureRecord,
} from './checkpoint-text.js';

/** Bytes of one kind of memory on one NUMA node. */
export interface MemoryTable {
  readonly total: number;
  readonly systemReserved: number;
  readonly allocatable: number;
  readonly reserved: number;
  readonly free: number;
}

/** A node in the file's form: null means a missing list or map, which has another checksum than an empty one. */
export interface NumaNodeEntry {
  /** Counted once for each kind of memory of each container. */
  readonly numberOfAssignments: number;
  /** `memory` or a huge page resource -> bytes. */
  readonly memoryMap: ReadonlyMap<string, MemoryTable> | null;
  /** Nodes that this one serves containers together with, itself included. */
  readonly cells: readonly number[] | null;
}

export interface MemoryBlockEntry {
  readonly numaAffinity: readonly number[] | null;
  readonly type: string;
  readonly size: number;
}

export interface MemoryCheckpoint {
  readonly policyName: string;
  /** By node id as text. null: null in the file. */
  readonly machineState: ReadonlyMap<string, NumaNodeEntry> | null;
  /** Pod uid -> container -> blocks. */
  readonly entries: ReadonlyMap<string, ReadonlyMap<string, readonly MemoryBlockEntry[]>> | null;
}

export const memoryCheckpointName = 'memory_manager_state';

export function writeMemoryCheckpoint(checkpoint: MemoryCheckpoint): CheckpointText {
  const { policyName, machineState, entries } = checkpoint;
  const checksumInput = memoryPicture(checkpoint);
  const checksum = fnvChecksum(checksumInput);
  const content = jsonRecord([
    ['policyName', jsonText(policyName)],
    ['machineState', jsonMap(machineState, nodeJson)],
    ['entries', entries === null || entries.size === 0 ? null : jsonMap(entries, (containers) => jsonMap(containers, (blocks) => jsonList(blocks, blockJson)))],
    ['checksum', String(checksum)],
  ]);
  return { content, checksum, checksumInput };
}

export function readMemoryCheckpoint(text: string): Read<MemoryCheckpoint> {
  const read = readJson(text, (value) => {
    const fields = fieldsOf(value, 'MemoryManagerCheckpoint');
    const checkpoint: MemoryCheckpoint = {
      policyName: textField(fields, 'policyName'),
      machineState: mapField(fields, 'machineState', new Map(), nodeOf),
      entries: mapField(fields, 'entries', new Map(), (containers) => mapOf(containers, 'entries', (blocks) => listOf(blocks, 'entries', blockOf) ?? []) ?? new Map()),
    };
    return { checkpoint, checksum: numberField(fields, 'checksum') };
  });
  if (!read.ok) return read;
  const { checkpoint, checksum } = read.value;
  return checksum === 0 || checksum === fnvChecksum(memoryPicture(checkpoint)) ? { ok: true, value: checkpoint } : { ok: false, error: corruptCheckpoint };
}

const tableFields = [
  ['TotalMemSize', 'total'],
  ['SystemReserved', 'systemReserved'],
  ['Allocatable', 'allocatable'],
  ['Reserved', 'reserved'],
  ['Free', 'free'],
] as const;

/** Go's largest uint64 isn't a double: read from a file, it is rounded up to the first number beyond. */
const uint64Max = 18_446_744_073_709_551_615n;

function uint64Text(value: number): string {
  const exact = BigInt(value);
  return String(exact > uint64Max ? uint64Max : exact);
}

function nodeJson(node: NumaNodeEntry): string {
  return jsonRecord([
    ['numberOfAssignments', String(node.numberOfAssignments)],
    ['memoryMap', jsonMap(node.memoryMap, (table) => jsonRecord(tableFields.map(([, name]) => [name, uint64Text(table[name])])))],
    ['cells', jsonList(node.cells, String)],
  ]);
}

function blockJson(block: MemoryBlockEntry): string {
  return jsonRecord([
    ['numaAffinity', jsonList(block.numaAffinity, String)],
    ['type', jsonText(block.type)],
    ['size', uint64Text(block.size)],
  ]);
}

function nodeOf(value: unknown): NumaNodeEntry {
  const fields = fieldsOf(value, 'machineState');
  return {
    numberOfAssignments: numberField(fields, 'numberOfAssignments'),
    memoryMap: mapField(fields, 'memoryMap', null, tableOf),
    cells: listField(fields, 'cells', null, (id) => wholeNumber(id, 'cells')),
  };
}

function tableOf(value: unknown): MemoryTable {
  const fields = fieldsOf(value, 'memoryMap');
  const [total, systemReserved, allocatable, reserved, free] = tableFields.map(([, name]) => numberField(fields, name)) as [number, number, number, number, number];
  return { total, systemReserved, allocatable, reserved, free };
}

function blockOf(value: unknown): MemoryBlockEntry {
  const fields = fieldsOf(value, 'entries');
  const numaAffinity = listField(fields, 'numaAffinity', null, (id) => wholeNumber(id, 'numaAffinity'));
  return { numaAffinity, type: textField(fields, 'type'), size: numberField(fields, 'size') };
}

function memoryPicture({ policyName, machineState, entries }: MemoryCheckpoint): string {
  return `(*state.MemoryManagerCheckpoint)${pictureRecord([
    ['PolicyName', 'string', policyName],
    ['MachineState', 'state.NUMANodeMap', pictureMap(machineState, nodePicture, byNumber)],
    ['Entries', 'state.ContainerMemoryAssignments', pictureMap(entries, (containers) => pictureMap(containers, (blocks) => pictureList(blocks, blockPicture)))],
    ['Checksum', 'checksum.Checksum', '0'],
  ])}`;
}

function nodePicture(node: NumaNodeEntry): string {
  const table = (item: MemoryTable): string => `<*>${pictureRecord(tableFields.map(([picture, name]) => [picture, 'uint64', uint64Text(item[name])]))}`;
  return `<*>${pictureRecord([
    ['NumberOfAssignments', 'int', String(node.numberOfAssignments)],
    ['MemoryMap', 'map[v1.ResourceName]*state.MemoryTable', pictureMap(node.memoryMap, table)],
    ['Cells', '[]int', pictureList(node.cells, String)],
  ])}`;
}

function blockPicture(block: MemoryBlockEntry): string {
  return pictureRecord([
    ['NUMAAffinity', '[]int', pictureList(block.numaAffinity, String)],
    ['Type', 'v1.ResourceName', block.type],
    ['Size', 'uint64', uint64Text(block.size)],
  ]);
}
