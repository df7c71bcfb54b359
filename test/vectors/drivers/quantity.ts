// Area `quantity`: parse, JSON, compare and arithmetic of resource quantities.
import {
  addQuantities,
  canonicalQuantity,
  compareQuantities,
  exactInt64,
  mustParseQuantity,
  parseQuantity,
  parseQuantityJson,
  quantityMilliValue,
  quantitySign,
  quantityText,
  quantityValue,
  subtractQuantities,
} from '../../../src/domain/values/quantity.js';
import { type Difference, differences, isObject, type Json } from '../compare.js';
import type { VectorDriver } from '../driver.js';

type Input =
  | { readonly op: 'parse'; readonly text: string }
  | { readonly op: 'json'; readonly jsonText: string }
  | { readonly op: 'compare'; readonly a: string; readonly b: string }
  | { readonly op: 'sum' | 'subtract'; readonly terms: readonly string[] };

export const driver: VectorDriver = {
  run(input: Input): unknown {
    switch (input.op) {
      case 'parse':
        return parse(input.text);
      case 'json': {
        const parsed = parseQuantityJson(input.jsonText);
        return parsed.ok ? { text: quantityText(parsed.quantity) } : { error: parsed.error };
      }
      case 'compare':
        return { result: compareQuantities(mustParseQuantity(input.a), mustParseQuantity(input.b)) };
      default: {
        const operation = input.op === 'sum' ? addQuantities : subtractQuantities;
        const result = input.terms.map(mustParseQuantity).reduce(operation);
        return { text: quantityText(result), format: result.format, sign: quantitySign(result) };
      }
    }
  },
  // `value` and `milliValue` are left out of a `want` where they are not to be checked.
  compare(got: Json, want: Json): Difference[] {
    if (!isObject(got) || !isObject(want)) return differences(got, want);
    const checked = { ...got };
    for (const field of ['value', 'milliValue']) if (want[field] === undefined) delete checked[field];
    return differences(checked, want);
  },
};

function parse(text: string): unknown {
  const parsed = parseQuantity(text);
  if (!parsed.ok) return { error: parsed.error };
  const { quantity } = parsed;
  return {
    text: quantityText(quantity),
    canonical: canonicalQuantity(quantity),
    format: quantity.format,
    sign: quantitySign(quantity),
    value: quantityValue(quantity).toString(),
    milliValue: quantityMilliValue(quantity).toString(),
    exactInt64: exactInt64(quantity)?.toString(),
  };
}
