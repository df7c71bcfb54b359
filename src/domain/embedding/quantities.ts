// Quantities for embedders: exact decimal numbers with the suffixes of Kubernetes (`1500m`, `2Gi`, `1e3`).

import type { Quantity, QuantityFormat, QuantityParse } from '../values/quantity.js';
import * as quantities from '../values/quantity.js';
import { checkArgument, expected, flag, nullable, oneOf, recordOf, type Shape, text, wholeNumber } from './shape.js';

const formatShape = oneOf(['DecimalSI', 'BinarySI', 'DecimalExponent']);

/** The scale's upper bound is far beyond what arithmetic on parsed quantities reaches. */
export const quantityShape: Shape = recordOf({
  mantissa: (value, path) => (typeof value === 'bigint' ? null : expected(path, 'a bigint', value)),
  scale: wholeNumber(-9, 100_000),
  format: formatShape,
  echo: nullable(text),
  small: flag,
});

const integerShape: Shape = (value, path) =>
  typeof value === 'bigint' || (typeof value === 'number' && Number.isSafeInteger(value)) ? null : expected(path, 'a bigint or a safe integer', value);

/**
 * Parses a quantity's text, as `resource.ParseQuantity` of the API machinery does; white space is not accepted. Precision below 1n is lost.
 * @param input at most 1024 characters; anything else is no quantity
 * @returns the quantity, or the API's error text: a bad text is an expected outcome
 * @throws AssertionFailed where `input` is no string
 */
export function parseQuantity(input: string): QuantityParse {
  checkArgument('input', input, text);
  return quantities.parseQuantity(input);
}

/**
 * The text for printing and the wire: the parsed text if it was canonical enough, otherwise the canonical form
 * (`Quantity.String` of the API machinery).
 * @throws AssertionFailed where `quantity` is none
 */
export function quantityText(quantity: Quantity): string {
  checkArgument('quantity', quantity, quantityShape);
  return quantities.quantityText(quantity);
}

/**
 * Whole units (bytes, cores), rounded away from zero, as `Quantity.Value` of the API machinery does, but without its limit of 64 bits.
 * @throws AssertionFailed where `quantity` is none
 */
export function quantityValue(quantity: Quantity): bigint {
  checkArgument('quantity', quantity, quantityShape);
  return quantities.quantityValue(quantity);
}

/**
 * Thousandths of the unit (millicores for cpu), rounded away from zero, as `Quantity.MilliValue` of the API machinery does.
 * @throws AssertionFailed where `quantity` is none
 */
export function quantityMilliValue(quantity: Quantity): bigint {
  checkArgument('quantity', quantity, quantityShape);
  return quantities.quantityMilliValue(quantity);
}

/**
 * A whole number of units.
 * @param format the family of suffixes it is shown with; plain decimal unless given
 * @throws AssertionFailed where `value` is no integer, or `format` no family
 */
export function quantityOf(value: bigint | number, format: QuantityFormat = 'DecimalSI'): Quantity {
  checkArgument('value', value, integerShape);
  checkArgument('format', format, formatShape);
  return quantities.quantityOf(value, format);
}

/**
 * The sum, exact. It is shown in the family of `a`, or of `b` where `a` is 0 (`Quantity.Add` of the API machinery).
 * @throws AssertionFailed where an argument is no quantity
 */
export function addQuantities(a: Quantity, b: Quantity): Quantity {
  checkArgument('a', a, quantityShape);
  checkArgument('b', b, quantityShape);
  return quantities.addQuantities(a, b);
}

/**
 * The difference, exact; it may be negative. Shown in the family of `a`, or of `b` where `a` is 0 (`Quantity.Sub` of the API machinery).
 * @throws AssertionFailed where an argument is no quantity
 */
export function subtractQuantities(a: Quantity, b: Quantity): Quantity {
  checkArgument('a', a, quantityShape);
  checkArgument('b', b, quantityShape);
  return quantities.subtractQuantities(a, b);
}

/**
 * -1, 0 or 1 by value, for any suffixes (`Quantity.Cmp` of the API machinery).
 * @throws AssertionFailed where an argument is no quantity
 */
export function compareQuantities(a: Quantity, b: Quantity): -1 | 0 | 1 {
  checkArgument('a', a, quantityShape);
  checkArgument('b', b, quantityShape);
  return quantities.compareQuantities(a, b);
}
