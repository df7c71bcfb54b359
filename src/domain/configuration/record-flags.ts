// The two flags whose words are lists of records: --register-with-taints and --reserved-memory.
// Invariant: as for every flag type, a bad word is an answer with the text that users know.

import { labelValueProblems, qualifiedNameProblems } from '../values/dns-names.js';
import { type GoParse, goQuote, parseGoInt } from '../values/go-text.js';
import { parseQuantity, quantityText } from '../values/quantity.js';
import { type FlagType, unchanged } from './flag-values.js';
import type { MemoryReservation, RegisteredTaint } from './record-kinds.js';

export const taintEffects: readonly string[] = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

const bad = (error: string): GoParse<never> => ({ ok: false, error });

/** `{key value effect <nil>}`, as messages print a taint. */
export function describeTaint(taint: RegisteredTaint): string {
  const timeAdded = taint.timeAdded === null ? '<nil>' : taint.timeAdded.replace('T', ' ').replace('Z', ' +0000 UTC');
  return `{${taint.key} ${taint.value} ${taint.effect} ${timeAdded}}`;
}

/** `key[=value]:Effect,...`; each word replaces the previous one, the empty one clears. */
export const taintsFlag: FlagType = { name: '[]v1.Taint', bare: null, parse: parseTaints, show: showTaints };

function showTaints(value: unknown): string {
  return (value as readonly RegisteredTaint[]).map(({ key, value: text, effect }) => `${key}=${text}:${effect}`).join(',');
}

function parseTaints(word: string): GoParse<readonly RegisteredTaint[]> {
  if (word === '') return { ok: true, value: [] };
  const taints: RegisteredTaint[] = [];
  for (const spec of word.split(',')) {
    // A trailing `-` means a removal elsewhere; here it is validated without an effect.
    const removal = spec.endsWith('-');
    const parsed = parseTaint(removal ? spec.slice(0, -1) : spec);
    if (!parsed.ok) return parsed;
    if (removal) continue;
    const taint = parsed.value;
    if (taint.effect === '') return bad(`invalid taint spec: ${spec}`);
    if (taints.some(({ key, effect }) => key === taint.key && effect === taint.effect)) {
      return bad(`duplicated taints with the same key and effect: ${describeTaint(taint)}`);
    }
    taints.push(taint);
  }
  return { ok: true, value: taints };
}

function parseTaint(spec: string): GoParse<RegisteredTaint> {
  const parts = spec.split(':');
  if (parts.length > 2) return bad(`invalid taint spec: ${spec}`);
  let key = parts[0] as string;
  let value = '';
  const effect = parts[1] ?? '';
  if (parts.length === 2) {
    if (!taintEffects.includes(effect)) return bad(`invalid taint effect: ${effect}, unsupported taint effect`);
    const pair = key.split('=');
    if (pair.length > 2) return bad(`invalid taint spec: ${spec}`);
    key = pair[0] as string;
    value = pair[1] ?? '';
    const problems = labelValueProblems(value);
    if (problems.length > 0) return bad(`invalid taint spec: ${spec}, ${problems.join('; ')}`);
  }
  const problems = qualifiedNameProblems(key);
  if (problems.length > 0) return bad(`invalid taint spec: ${spec}, ${problems.join('; ')}`);
  return { ok: true, value: { key, value, effect, timeAdded: null } };
}

/** `N:type=quantity[,type=quantity][;N:...]`; words add up. */
export const reservedMemoryFlag: FlagType = { name: 'reserved-memory', bare: null, parse: parseReservedMemory, show: showReservedMemory };

function showReservedMemory(value: unknown): string {
  const limitsOf = (limits: MemoryReservation['limits']): string[] => Object.entries(limits).map(([type, quantity]) => `${type}=${quantity}`);
  return (value as readonly MemoryReservation[]).map(({ numaNode, limits }) => `${numaNode}:${limitsOf(limits).sort().join(',')}`).join(';');
}

function parseReservedMemory(word: string, previous: unknown): GoParse<unknown> {
  if (word === '') return { ok: true, value: previous ?? unchanged };
  const reservations = [...((previous ?? []) as readonly MemoryReservation[])];
  for (const spec of word.split(';')) {
    const parsed = parseReservation(spec);
    if (!parsed.ok) return parsed;
    reservations.push(parsed.value);
  }
  return { ok: true, value: reservations };
}

function parseReservation(spec: string): GoParse<MemoryReservation> {
  const parts = spec.split(':');
  if (parts.length !== 2) return bad(`the reserved memory has incorrect format, expected numaNodeID:type=quantity[,type=quantity...], got ${spec}`);
  const [node, types] = parts as [string, string];
  const numaNode = parseGoInt(node, 10, 32);
  if (!numaNode.ok) return bad(`failed to convert the NUMA node ID, expected integer, got ${node}`);
  const limits = new Map<string, string>();
  for (const limit of types.split(',')) {
    const pair = limit.split('=');
    if (pair.length !== 2) return bad(`the reserved limit has incorrect value, expected type=quantity, got ${limit}`);
    const [name, amount] = pair as [string, string];
    if (!isMemoryType(name)) return bad(`memory type conversion error, unknown type: ${goQuote(name)}`);
    const quantity = parseQuantity(amount);
    if (!quantity.ok) return bad(`failed to parse the quantity: ${amount}`);
    limits.set(name, quantityText(quantity.quantity));
  }
  return { ok: true, value: { numaNode: Number(numaNode.value), limits: Object.fromEntries([...limits].sort(([a], [b]) => (a < b ? -1 : 1))) } };
}

/** Reservable memory types of a NUMA node: `memory` and `hugepages-<size>`. */
export function isMemoryType(name: string): boolean {
  return name === 'memory' || name.startsWith('hugepages-');
}
