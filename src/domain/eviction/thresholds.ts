// The eviction configuration as a list of thresholds, and its adaptation to the node's file systems.
// Invariant: an accepted list has only positive thresholds; a grace period of 0 makes a threshold hard, in either setting.
import { type Nanoseconds, parseDuration } from '../values/go-duration.js';
import type { GoParse } from '../values/go-text.js';
import { addQuantities, compareQuantities, parseQuantity, type Quantity, quantityOf, quantitySign, quantityValue } from '../values/quantity.js';
import { type EvictionSignal, evictionSignals, type FileSystemLayout, isEvictionSignal } from './signals.js';
import { parsePercentage, parseThreshold, type ThresholdValue } from './threshold-text.js';

export interface EvictionThreshold {
  readonly signal: EvictionSignal;
  readonly value: ThresholdValue;
  readonly gracePeriod: Nanoseconds;
  /** How far above the value the signal has to come before the threshold is resolved; null: just to the value. */
  readonly minReclaim: ThresholdValue | null;
}

/** By signal, in the text forms of KubeletConfiguration. */
export interface EvictionConfiguration {
  readonly evictionHard: Readonly<Record<string, string>>;
  readonly evictionSoft: Readonly<Record<string, string>>;
  readonly evictionSoftGracePeriod: Readonly<Record<string, string>>;
  readonly evictionMinimumReclaim: Readonly<Record<string, string>>;
  readonly enforceNodeAllocatable: readonly string[];
}

/** Hard thresholds, then soft ones, then those on the memory of all pods together; within each the order of the signals. */
export function parseEvictionThresholds(configuration: EvictionConfiguration): GoParse<readonly EvictionThreshold[]> {
  const hard = parseThresholdValues(configuration.evictionHard);
  if (!hard.ok) return hard;
  const soft = parseThresholdValues(configuration.evictionSoft);
  if (!soft.ok) return soft;
  const gracePeriods = parseEach(configuration.evictionSoftGracePeriod, parseGracePeriod);
  if (!gracePeriods.ok) return gracePeriods;
  const minReclaims = parseEach(configuration.evictionMinimumReclaim, parseMinReclaim);
  if (!minReclaims.ok) return minReclaims;
  const thresholds: EvictionThreshold[] = [];
  const add = (signal: EvictionSignal, value: ThresholdValue, gracePeriod: Nanoseconds): void => {
    thresholds.push({ signal, value, gracePeriod, minReclaim: minReclaims.value.get(signal) ?? null });
  };
  for (const [signal, value] of hard.value) add(signal, value, 0);
  for (const [signal, value] of soft.value) {
    const gracePeriod = gracePeriods.value.get(signal);
    if (gracePeriod === undefined) return { ok: false, error: `grace period must be specified for the soft eviction threshold ${signal}` };
    add(signal, value, gracePeriod);
  }
  if (!configuration.enforceNodeAllocatable.includes('pods')) return { ok: true, value: thresholds };
  const onPods = thresholds.filter((threshold) => threshold.signal === 'memory.available' && isHard(threshold));
  return { ok: true, value: [...thresholds, ...onPods.map((threshold) => ({ ...threshold, signal: 'allocatableMemory.available' as const }))] };
}

/** One map of thresholds, in the order of the signals; omits disabled ones. */
export function parseThresholdValues(statements: Readonly<Record<string, string>>): GoParse<ReadonlyMap<EvictionSignal, ThresholdValue>> {
  const values = new Map<EvictionSignal, ThresholdValue>();
  for (const [signal, text] of inOrder(statements)) {
    const parsed = parseThreshold(signal, text);
    if (!parsed.ok) return parsed;
    if (parsed.value !== null && isEvictionSignal(signal)) values.set(signal, parsed.value);
  }
  return { ok: true, value: values };
}

export function isHard(threshold: EvictionThreshold): boolean {
  return threshold.gracePeriod === 0;
}

/** The value of a threshold where the signal's capacity is known: a fraction of it is cut to whole units. */
export function thresholdQuantity(value: ThresholdValue, capacity: Quantity): Quantity {
  if (value.kind === 'quantity') return value.quantity;
  return quantityOf(BigInt(Math.trunc(Number(quantityValue(capacity)) * value.fraction)), 'BinarySI');
}

/** The signal's value at which the threshold is resolved. */
export function resolvedQuantity(threshold: EvictionThreshold, capacity: Quantity): Quantity {
  const quantity = thresholdQuantity(threshold.value, capacity);
  return threshold.minReclaim === null ? quantity : addQuantities(quantity, thresholdQuantity(threshold.minReclaim, capacity));
}

/** Whether two thresholds are equal except for their minimum reclaim. */
export function isSameThreshold(a: EvictionThreshold, b: EvictionThreshold): boolean {
  if (a.signal !== b.signal || a.gracePeriod !== b.gracePeriod) return false;
  if (a.value.kind === 'quantity') return b.value.kind === 'quantity' && compareQuantities(a.value.quantity, b.value.quantity) === 0;
  return b.value.kind === 'fraction' && a.value.fraction === b.value.fraction;
}

export interface AdaptedThresholds {
  readonly thresholds: readonly EvictionThreshold[];
  /** Thresholds at the positions of the configured ones: for the loop's first run, which began with the configured list. */
  readonly firstRun: readonly EvictionThreshold[];
}

/**
 * Thresholds on the containers' file system are never configured: they are those of the file system with the root layers.
 * Invalid layouts stay unchanged.
 */
export function adaptToFileSystems(thresholds: readonly EvictionThreshold[], layout: FileSystemLayout): AdaptedThresholds {
  if (layout.splitContainerFs && !layout.dedicatedImageFs) return { thresholds, firstRun: thresholds };
  const source = layout.dedicatedImageFs && !layout.splitContainerFs ? 'imagefs' : 'nodefs';
  const inPlace: (EvictionThreshold | null)[] = [...thresholds];
  const added: EvictionThreshold[] = [];
  for (const kind of ['available', 'inodesFree'] as const) {
    for (const hard of [true, false]) {
      const isOf = (signal: EvictionSignal) => (threshold: EvictionThreshold) => threshold.signal === signal && isHard(threshold) === hard;
      const from = thresholds.findLast(isOf(`${source}.${kind}`));
      const signal = `containerfs.${kind}` as const;
      const copy = from === undefined ? null : { ...from, signal };
      const at = thresholds.findLastIndex(isOf(signal));
      if (at >= 0) inPlace[at] = copy;
      else if (copy !== null) added.push(copy);
    }
  }
  const firstRun = inPlace.filter((threshold) => threshold !== null);
  return { thresholds: [...firstRun, ...added], firstRun };
}

function parseEach<T>(statements: Readonly<Record<string, string>>, parse: (signal: EvictionSignal, text: string) => GoParse<T>): GoParse<ReadonlyMap<EvictionSignal, T>> {
  const values = new Map<EvictionSignal, T>();
  for (const [signal, text] of inOrder(statements)) {
    if (!isEvictionSignal(signal)) return { ok: false, error: `unsupported eviction signal ${signal}` };
    const parsed = parse(signal, text);
    if (!parsed.ok) return parsed;
    values.set(signal, parsed.value);
  }
  return { ok: true, value: values };
}

/** Known signals in their order, then the others, so that of several mistakes always the same one is named. */
function inOrder(statements: Readonly<Record<string, string>>): readonly (readonly [string, string])[] {
  const known = evictionSignals.filter((signal) => Object.hasOwn(statements, signal));
  const unknown = Object.keys(statements).filter((signal) => !isEvictionSignal(signal));
  return [...known, ...unknown.sort()].map((signal) => [signal, statements[signal] as string]);
}

function parseGracePeriod(_signal: EvictionSignal, text: string): GoParse<Nanoseconds> {
  const parsed = parseDuration(text);
  if (!parsed.ok || parsed.value >= 0) return parsed;
  return { ok: false, error: `invalid eviction grace period specified: ${text}, must be a positive value` };
}

function parseMinReclaim(signal: EvictionSignal, text: string): GoParse<ThresholdValue> {
  if (text.endsWith('%')) {
    const parsed = parsePercentage(text);
    if (!parsed.ok) return parsed;
    if (parsed.fraction <= 0) return { ok: false, error: `eviction percentage minimum reclaim ${signal} must be positive: ${text}` };
    return { ok: true, value: { kind: 'fraction', fraction: parsed.fraction } };
  }
  const parsed = parseQuantity(text);
  if (!parsed.ok) return parsed;
  if (quantitySign(parsed.quantity) < 0) return { ok: false, error: `negative eviction minimum reclaim specified for ${signal}` };
  return { ok: true, value: { kind: 'quantity', quantity: parsed.quantity } };
}
