// The eviction maps as thresholds, adapted to the node's file systems where a case names them. Lists are sets.
import { shortestSingle, type ThresholdValue } from '../../../src/domain/eviction/threshold-text.js';
import { adaptToFileSystems, type EvictionConfiguration, parseEvictionThresholds } from '../../../src/domain/eviction/thresholds.js';
import { formatDuration } from '../../../src/domain/values/go-duration.js';
import { quantityText } from '../../../src/domain/values/quantity.js';
import { type Difference, differences, isObject, type Json } from '../compare.js';
import type { VectorDriver } from '../driver.js';

type Input = Partial<EvictionConfiguration> & { readonly dedicatedImageFs?: boolean; readonly splitContainerFs?: boolean };

function shown(value: ThresholdValue): Json {
  return value.kind === 'quantity' ? { quantity: quantityText(value.quantity) } : { fraction: shortestSingle(value.fraction) };
}

function asSet(answer: unknown): unknown {
  if (!isObject(answer) || !Array.isArray(answer['thresholds'])) return answer;
  return { ...answer, thresholds: [...answer['thresholds']].sort((a, b) => (JSON.stringify(sortedKeys(a)) < JSON.stringify(sortedKeys(b)) ? -1 : 1)) };
}

function sortedKeys(value: unknown): unknown {
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sortedKeys(value[key])]),
  );
}

export const driver: VectorDriver = {
  run({ evictionHard = {}, evictionSoft = {}, evictionSoftGracePeriod = {}, evictionMinimumReclaim = {}, enforceNodeAllocatable = [], ...layout }: Input) {
    const parsed = parseEvictionThresholds({ evictionHard, evictionSoft, evictionSoftGracePeriod, evictionMinimumReclaim, enforceNodeAllocatable });
    if (!parsed.ok) return { error: parsed.error };
    const { dedicatedImageFs, splitContainerFs } = layout;
    const isAdapted = dedicatedImageFs !== undefined && splitContainerFs !== undefined;
    const thresholds = isAdapted ? adaptToFileSystems(parsed.value, { dedicatedImageFs, splitContainerFs }).thresholds : parsed.value;
    return {
      thresholds: thresholds.map(({ signal, value, gracePeriod, minReclaim }) => ({
        signal,
        gracePeriod: formatDuration(gracePeriod),
        ...(shown(value) as object),
        ...(minReclaim === null ? {} : { minReclaim: shown(minReclaim) }),
      })),
    };
  },
  compare(got: unknown, want: Json): Difference[] {
    const parserTexts = /^(strconv\.|time:)/;
    if (isObject(got) && isObject(want) && typeof got['error'] === 'string' && typeof want['error'] === 'string' && parserTexts.test(want['error'])) return [];
    return differences(asSet(got), asSet(want));
  },
};
