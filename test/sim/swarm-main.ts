// `npm run swarm -- [--seeds N] [--from S] [--jobs J] [--kind K]`: N seeds from S on, each a world with its own options, pods and accidents. Prints the options
// of each seed that fails with the line that repeats it, what the swarm covered, and one hash over all runs: equal code, equal hash.
import { createHash } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { canonicalJson } from '../../src/domain/kernel/canonical.js';
import { SimCluster } from '../../src/sim/index.js';
import { plantedBugs, plantedWorld } from './planted/planted-bugs.js';
import { runSeed } from './swarm.js';
import { percent, type SwarmCounts, SwarmCoverage } from './swarm-coverage.js';
import { swarmOptions } from './swarm-options.js';

/** From this many seeds on, less than the floor is a failure. */
const seedsForFloor = 300;
const floor = 0.9;
const usage = 'usage: npm run swarm -- [--seeds N (default 1000)] [--from S (default 1)] [--jobs J (default: one a processor)] [--kind cluster|standalone (default: both)]';
const kinds = ['cluster', 'standalone'] as const;

interface Asked {
  readonly seeds: number;
  readonly from: number;
  readonly jobs: number;
  /** Of nodes with an apiserver, or without; null: either. */
  readonly kind: (typeof kinds)[number] | null;
}
interface Ran {
  readonly seed: number;
  readonly steps: number;
  readonly hash: string;
}
type Message = { readonly kind: 'failed'; readonly text: string } | { readonly kind: 'done'; readonly ran: readonly Ran[]; readonly failed: number; readonly counts: SwarmCounts };

function runShare(seeds: readonly number[], tell: (message: Message) => void): void {
  const coverage = new SwarmCoverage();
  const ran: Ran[] = [];
  let failed = 0;
  for (const seed of seeds) {
    const { problems, options, steps, hash } = runSeed(seed, coverage, true);
    ran.push({ seed, steps, hash });
    if (problems.length === 0) continue;
    failed++;
    tell({
      kind: 'failed',
      text: [`seed ${seed}: ${canonicalJson(options)}`, ...problems.map((problem) => `  ${problem}`), `  again: npm run swarm -- --from ${seed} --seeds 1`].join('\n'),
    });
  }
  tell({ kind: 'done', ran, failed, counts: coverage.counts() });
}

async function main(): Promise<number> {
  const asked = readArguments(process.argv.slice(2));
  if (typeof asked === 'string') {
    console.error(`${asked}\n${usage}`);
    return 2;
  }
  const { from, jobs, kind } = asked;
  const seeds = seedsOf(asked);
  const coverage = new SwarmCoverage();
  const ran: Ran[] = [];
  let failed = 0;
  await Promise.all(
    Array.from({ length: Math.min(jobs, seeds.length) }, (_, job) =>
      inThread(
        seeds.filter((_seed, i) => i % jobs === job),
        (message) => {
          if (message.kind === 'failed') {
            console.log(message.text);
            return;
          }
          ran.push(...message.ran);
          failed += message.failed;
          coverage.addCounts(message.counts);
        },
      ),
    ),
  );
  ran.sort((a, b) => a.seed - b.seed);
  const missed = plantedBugs.filter(({ checker, agent, play }) => !catches(checker, agent, play));
  console.log(coverage.table().join('\n'));
  for (const { name, checker } of missed) console.log(`planted bug not caught: an agent that ${name} (${checker})`);
  console.log(`planted bugs: ${plantedBugs.length - missed.length} of ${plantedBugs.length} caught`);
  console.log(`${ran.length} seeds from ${from}, ${ran.reduce((sum, { steps }) => sum + steps, 0)} steps, ${failed} failed`);
  // Of one kind alone not everything can be met.
  const low = kind === null && seeds.length >= seedsForFloor && Math.min(...coverage.shares) < floor;
  if (low) console.log(`covered too little: ${coverage.shares.map(percent).join(', ')}, at least ${percent(floor)}`);
  console.log(
    `hash ${createHash('sha256')
      .update(ran.map(({ seed, hash }) => `${seed} ${hash}\n`).join(''))
      .digest('hex')}`,
  );
  return failed > 0 || missed.length > 0 || low ? 1 : 0;
}

/** The first so many, of the kind that is asked for. */
function seedsOf({ from, seeds, kind }: Asked): number[] {
  const found: number[] = [];
  for (let seed = from; found.length < seeds; seed++) if (kind === null || swarmOptions(seed).inCluster === (kind === 'cluster')) found.push(seed);
  return found;
}

function catches(checker: string, agent: (typeof plantedBugs)[number]['agent'], play: (cluster: SimCluster) => void): boolean {
  const cluster = new SimCluster({ ...plantedWorld, ...(agent === null ? {} : { agent: agent() }) });
  play(cluster);
  return cluster.violations.some((violation) => violation.checker === checker);
}

function inThread(share: readonly number[], hear: (message: Message) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL(import.meta.url), { workerData: share });
    worker.on('message', hear);
    worker.on('error', reject);
    worker.on('exit', (code) => (code === 0 ? resolve() : reject(new Error(`a thread of the swarm ended with ${code}`))));
  });
}

function readArguments(words: readonly string[]): Asked | string {
  try {
    const text = { type: 'string' } as const;
    const { values } = parseArgs({ args: [...words], options: { seeds: text, from: text, jobs: text, kind: text } });
    const read = { seeds: Number(values.seeds ?? 1000), from: Number(values.from ?? 1), jobs: Number(values.jobs ?? availableParallelism()) };
    for (const [name, value] of Object.entries(read)) if (!Number.isSafeInteger(value) || value < (name === 'from' ? 0 : 1)) return `--${name} has to be a whole number`;
    const kind = kinds.find((known) => known === values.kind) ?? null;
    if (kind === null && values.kind !== undefined) return `--kind has to be one of ${kinds.join(', ')}`;
    return { ...read, kind };
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

if (isMainThread) process.exitCode = await main();
else runShare(workerData as readonly number[], (message) => parentPort?.postMessage(message));
