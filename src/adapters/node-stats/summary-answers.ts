// The stats summary and the resource metrics of a snapshot. What they report is decided by rules that are handed in.

import { stat } from 'node:fs/promises';
import type { MeasuredSummary, MissingPart, NodeResources, NodeSnapshot, Part, ProcessCounts, SummaryNode } from '../../ports/model/node-measurements.js';
import type { StatsSummary } from '../../ports/model/stats-summary.js';
import type { NodeStatsReading } from '../../ports/outbound/node-stats.js';
import { PortError } from '../../ports/port-error.js';
import { LoopShare } from '../time/index.js';
import type { NodeStats } from './node-stats.js';

/** Long work that pauses at each `undefined`. */
type InPieces<Result> = Generator<undefined, Result>;

export interface SummaryRules {
  /** @param counts null: unknown */
  full(snapshot: NodeSnapshot, node: SummaryNode, counts: ProcessCounts | null): InPieces<Part<MeasuredSummary>>;
  cpuAndMemoryOnly(snapshot: NodeSnapshot, node: SummaryNode): InPieces<Part<MeasuredSummary>>;
  resources(snapshot: NodeSnapshot, machine: SummaryNode['machine']): InPieces<NodeResources>;
}

export interface SummaryAnswersOptions {
  readonly stats: NodeStats;
  readonly node: SummaryNode;
  readonly rules: SummaryRules;
  /** null: unknown. */
  readonly processCounts: () => Promise<ProcessCounts | null>;
  /** What an answer lacks, and why. */
  readonly onMissing: (missing: MissingPart) => void;
}

/** For others: without the parts that could not be read. */
export async function summaryOf(options: SummaryAnswersOptions, onlyCpuAndMemory: boolean): Promise<Part<StatsSummary>> {
  const found = await summaryFrom(await options.stats.snapshot(false), options, onlyCpuAndMemory);
  if (!found.ok) return found;
  for (const missing of found.value.missing) options.onMissing(missing);
  return { ok: true, value: found.value.summary };
}

/**
 * A fresh measurement for the agent's own decisions, without the parts that could not be read: each signal stands for itself.
 * @throws if the runtime could not list its pods: without it no pod can be judged or ended
 */
export async function nodeStatsReading(options: SummaryAnswersOptions, rootDirectory: string): Promise<NodeStatsReading> {
  const snapshot = await options.stats.snapshotNow();
  const { imageFilesystems } = snapshot;
  const imageFsMountpoint = (imageFilesystems.ok ? imageFilesystems.value[0]?.mountpoint : null) ?? null;
  const [summary, dedicatedImageFs] = await Promise.all([summaryFrom(snapshot, options, false), isOtherDevice(rootDirectory, imageFsMountpoint)]);
  const refuse = (message: string) => new PortError({ kind: 'unavailable', operation: 'nodeStats.summary', subject: '', message });
  if (!summary.ok) throw refuse(summary.error);
  for (const missing of summary.value.missing) options.onMissing(missing);
  return { summary: summary.value.summary, dedicatedImageFs };
}

/** A path that doesn't exist on this host belongs to the runtime. null: unknown. */
async function isOtherDevice(rootDirectory: string, mountpoint: string | null): Promise<boolean | null> {
  if (mountpoint === null) return null;
  try {
    const [root, images] = await Promise.all([stat(rootDirectory), stat(mountpoint)]);
    return root.dev !== images.dev;
  } catch (error) {
    const { code, path } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' && path === mountpoint ? true : null;
  }
}

async function summaryFrom(snapshot: NodeSnapshot, { node, rules, processCounts }: SummaryAnswersOptions, onlyCpuAndMemory: boolean): Promise<Part<MeasuredSummary>> {
  return inShares(onlyCpuAndMemory ? rules.cpuAndMemoryOnly(snapshot, node) : rules.full(snapshot, node, await processCounts()));
}

export async function resourcesOf({ stats, node, rules }: Pick<SummaryAnswersOptions, 'stats' | 'node' | 'rules'>): Promise<NodeResources> {
  let snapshot: NodeSnapshot;
  try {
    snapshot = await stats.snapshot(false);
  } catch {
    return { node: null, pods: [], failed: true };
  }
  return inShares(rules.resources(snapshot, node.machine));
}

/** Other work gets its turn between two pieces. */
async function inShares<Result>(work: InPieces<Result>): Promise<Result> {
  const share = new LoopShare();
  for (;;) {
    const piece = work.next();
    if (piece.done) return piece.value;
    await (share.pause() ?? undefined);
  }
}
