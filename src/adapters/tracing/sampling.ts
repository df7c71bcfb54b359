// Which traces are recorded: the root span's sampler decides for the whole trace; new traces are sampled at a ratio by their id, so that agents
// with the same ratio decide alike.
// Invariant: the decision is a function of parent, ratio and trace id.
import type { SpanContext } from './span-context.js';

const perMillion = 1_000_000;

/** @param ratePerMillion 0: only for sampled parents */
export function isSampled(parent: SpanContext | null, traceId: string, ratePerMillion: number): boolean {
  if (parent !== null) return parent.isSampled;
  if (ratePerMillion >= perMillion) return true;
  if (ratePerMillion <= 0) return false;
  // The last eight bytes of the id, without their last bit, against the ratio of 2^63.
  const drawn = BigInt(`0x${traceId.slice(16)}`) >> 1n;
  return drawn < BigInt(Math.trunc((ratePerMillion / perMillion) * 2 ** 63));
}
