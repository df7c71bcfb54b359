// Huge page sizes: `hugepages-2Mi` in the API is `2MB` in cgroup files and in the CRI.
import { parseQuantity, quantityOf, quantityText, quantityValue } from '../values/quantity.js';
import { hugePagesPrefix, isHugePageResource } from '../values/resource-name.js';

const units = ['B', 'KB', 'MB', 'GB', 'TB', 'PB'] as const;

export type HugePageUnit = { readonly ok: true; readonly unit: string } | { readonly ok: false; readonly message: string };

/** The kernel's text of a page size: the largest unit that divides it. */
export function hugePageUnit(bytes: bigint): HugePageUnit {
  let size = bytes;
  let unit = 0;
  while (size % 1024n === 0n && unit < units.length - 1) {
    size /= 1024n;
    unit++;
  }
  if (size > 1024n && unit < units.length - 1) {
    return { ok: false, message: `size: ${size}${units[unit]} must be guaranteed to divisible into the largest units` };
  }
  return { ok: true, unit: `${size}${units[unit]}` };
}

/** Page size in bytes of a resource name; null when the name is no huge page's. */
export function hugePageBytes(resourceName: string): bigint | null {
  if (!isHugePageResource(resourceName)) return null;
  const parsed = parseQuantity(resourceName.slice(hugePagesPrefix.length));
  return parsed.ok ? quantityValue(parsed.quantity) : null;
}

/** The kernel's text of a resource name's page size; null when the name has none. */
export function hugePageUnitOf(resourceName: string): string | null {
  const bytes = hugePageBytes(resourceName);
  if (bytes === null) return null;
  const unit = hugePageUnit(bytes);
  return unit.ok ? unit.unit : null;
}

/** The API's name of a page size, e.g. `hugepages-2Mi`. */
export function hugePageResource(pageBytes: bigint): string {
  return `${hugePagesPrefix}${quantityText(quantityOf(pageBytes, 'BinarySI'))}`;
}
