// How rows of families are written: one function a type.
import type { Family, Stability } from './family-registry.js';

export function counter<Label extends string = never>(help: string, labels: readonly Label[] = [], stability: Stability = 'ALPHA'): Family<'counter', Label> {
  return { type: 'counter', help, stability, labels, buckets: [] };
}

export function gauge<Label extends string = never>(help: string, labels: readonly Label[] = [], stability: Stability = 'ALPHA'): Family<'gauge', Label> {
  return { type: 'gauge', help, stability, labels, buckets: [] };
}

export function histogram<Label extends string = never>(help: string, buckets: readonly number[], labels: readonly Label[] = []): Family<'histogram', Label> {
  return { type: 'histogram', help, stability: 'ALPHA', labels, buckets };
}
