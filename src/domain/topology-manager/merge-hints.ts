// Merges the hints of all providers into one affinity. A combination takes one hint of every resource; its nodes are those that all
// hints share, and it is preferred when every hint is and all name the same nodes. The best combination wins.
//
// There are as many combinations as the product of the lists' lengths (255^6 with 8 nodes and 6 resources), so they are not
// enumerated. Preferred ones exist only for sets of nodes that every resource prefers: an intersection of lists. Without one,
// all combinations are non-preferred and only the set of reachable masks matters, which has at most 2^nodes members.
// Invariant: the order of preference is total, so the order of providers and of hints has no effect.
import { byCodeUnits } from '../values/text-order.js';
import { intersectMasks, maskOfPositions, maskPositions, maskSize, type NumaMask, pairwiseIntersections } from './numa-mask.js';
import type { ProviderHints, TopologyHint } from './topology-hint.js';
import type { TopologyManager } from './topology-manager.js';

export interface MergedHint {
  readonly hint: TopologyHint;
  /** The policy's decision. */
  readonly admit: boolean;
}

interface MaskHint {
  /** null: any node. */
  readonly mask: NumaMask | null;
  readonly preferred: boolean;
}

/** The best hint of a container or pod, and whether the policy admits it. */
export function mergeHints(manager: TopologyManager, providers: readonly (ProviderHints | null)[]): MergedHint {
  if (manager.policy === 'none') return { hint: { numaNodes: null, preferred: false }, admit: true };
  const single = manager.policy === 'single-numa-node';
  const resources = masksOf(manager, hintsByResource(providers)).map((hints) => (single ? hints.filter(isSingleNode) : hints));
  const all = fullMask(manager);
  const best = bestPreferred(manager, resources, all) ?? bestOther(manager, resources, all);
  const preferred = best?.preferred ?? false;
  const mask = best?.mask ?? all;
  const numaNodes = single && mask === all ? null : maskPositions(mask).map((position) => manager.numaNodeIds[position]!);
  return { hint: { numaNodes, preferred }, admit: manager.policy === 'best-effort' || preferred };
}

const anyNode: TopologyHint = { numaNodes: null, preferred: true };
const noPlacement: TopologyHint = { numaNodes: null, preferred: false };

/** One non-empty list for every resource of every provider. */
function hintsByResource(providers: readonly (ProviderHints | null)[]): (readonly TopologyHint[])[] {
  return providers.flatMap((provider) => {
    if (provider === null || provider.size === 0) return [[anyNode]];
    const names = [...provider.keys()].sort(byCodeUnits);
    return names.map((name) => {
      const hints = provider.get(name) ?? null;
      if (hints === null) return [anyNode];
      return hints.length === 0 ? [noPlacement] : hints;
    });
  });
}

function masksOf(manager: TopologyManager, lists: readonly (readonly TopologyHint[])[]): MaskHint[][] {
  const positions = new Map(manager.numaNodeIds.map((id, position) => [id, position]));
  const positionOf = (id: number): number => {
    // A node that the machine doesn't have makes two hints differ nevertheless.
    const position = positions.get(id) ?? positions.size;
    positions.set(id, position);
    return position;
  };
  return lists.map((hints) => hints.map(({ numaNodes, preferred }) => ({ mask: numaNodes === null ? null : maskOfPositions(numaNodes.map(positionOf)), preferred })));
}

function isSingleNode(hint: MaskHint): boolean {
  return hint.preferred && (hint.mask === null || maskSize(hint.mask) === 1);
}

function fullMask(manager: TopologyManager): NumaMask {
  return 2 ** manager.numaNodeIds.length - 1;
}

/** Among the sets of nodes that every resource prefers (or has no preference about). */
function bestPreferred(manager: TopologyManager, resources: readonly (readonly MaskHint[])[], all: NumaMask): { mask: NumaMask; preferred: true } | null {
  // null: no resource has named a set yet, so any will do.
  let common: ReadonlySet<NumaMask> | null = null;
  let anyAlone = true;
  for (const hints of resources) {
    const masks = new Set(hints.filter(({ preferred, mask }) => preferred && mask !== null).map(({ mask }) => mask as NumaMask));
    const any = hints.some(({ preferred, mask }) => preferred && mask === null);
    const before: ReadonlySet<NumaMask> = common ?? new Set();
    const next = new Set<NumaMask>(any ? before : []);
    for (const mask of masks) if (anyAlone || before.has(mask)) next.add(mask);
    anyAlone &&= any;
    common = next;
  }
  const candidates = [...(common ?? [])].map((mask) => intersectMasks(mask, all));
  if (anyAlone) candidates.push(all);
  const mask = fittest(candidates, (a, b) => isFitter(manager, a, b));
  return mask === null ? null : { mask, preferred: true };
}

function bestOther(manager: TopologyManager, resources: readonly (readonly MaskHint[])[], all: NumaMask): { mask: NumaMask; preferred: false } | null {
  let reachable = new Set([all]);
  for (const hints of resources) {
    const masks = new Set(hints.map(({ mask }) => (mask === null ? all : intersectMasks(mask, all))));
    reachable = pairwiseIntersections(reachable, masks, manager.numaNodeIds.length);
  }
  const size = widestOfNarrowest(resources);
  const mask = fittest([...reachable], (a, b) => isBetterNonPreferred(manager, a, b, size));
  return mask === null ? null : { mask, preferred: false };
}

function fittest(masks: readonly NumaMask[], better: (a: NumaMask, b: NumaMask) => boolean): NumaMask | null {
  let best: NumaMask | null = null;
  for (const mask of masks) if (mask !== 0 && (best === null || better(mask, best))) best = mask;
  return best;
}

/** Fewer nodes; then, where distances matter, closer ones; then lower numbers. */
function isFitter(manager: TopologyManager, a: NumaMask, b: NumaMask): boolean {
  const size = maskSize(a) - maskSize(b);
  if (size !== 0) return size < 0;
  if (manager.distances !== null) {
    const distance = meanDistance(manager.distances, a) - meanDistance(manager.distances, b);
    if (distance !== 0) return distance < 0;
  }
  return a < b;
}

/** Over all pairs, a node with itself included. */
function meanDistance(distances: readonly (readonly number[])[], mask: NumaMask): number {
  const positions = maskPositions(mask);
  let sum = 0;
  for (const from of positions) for (const to of positions) sum += distances[from]?.[to] ?? 0;
  return sum / positions.length ** 2;
}

/** What some resource needs at the very least: non-preferred hints come as close to it as they can, rather from below. */
function widestOfNarrowest(resources: readonly (readonly MaskHint[])[]): number {
  return Math.max(0, ...resources.map((hints) => hints.reduce((least, { mask }) => (mask === null ? least : Math.min(least, maskSize(mask))), Infinity)).filter(Number.isFinite));
}

function isBetterNonPreferred(manager: TopologyManager, a: NumaMask, b: NumaMask, wanted: number): boolean {
  const sizeA = maskSize(a);
  const sizeB = maskSize(b);
  const rank = (size: number): number => (size === wanted ? 0 : size < wanted ? 1 : 2);
  if (rank(sizeA) !== rank(sizeB)) return rank(sizeA) < rank(sizeB);
  if (sizeA < wanted && sizeA !== sizeB) return sizeA > sizeB;
  return isFitter(manager, a, b);
}
