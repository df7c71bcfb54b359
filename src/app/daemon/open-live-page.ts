// Opens the live page if this implementation's settings enable it, and keeps its key.
// Invariants: the key is in a file that only this user can read, and in no log; a failure to open the page doesn't affect the node.

import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openLivePage as listen } from '../../adapters/http-server/index.js';
import { parseEvictionThresholds } from '../../domain/eviction/thresholds.js';
import { type PageFacts, pageData } from '../../domain/live-page/page-data.js';
import { epochMicros } from '../../domain/values/instant.js';
import type { StatsSummary } from '../../ports/model/stats-summary.js';
import type { Resolver } from '../bind-to.js';
import { packageDirectory, reportedVersion } from '../cli/version.js';
import { tokens } from '../tokens.js';
import { logRoutes } from './api/api-routes.js';
import type { DaemonContext } from './daemon-context.js';
import type { NodeNumbers } from './open-node-stats.js';
import type { Teardown } from './teardown.js';

export interface LivePage {
  /** Without the key. */
  readonly address: string;
  /** Opens the page in a browser; a secret, as it holds the key. */
  readonly url: string;
}

const keyFile = 'live-page-key';
const keyBytes = 24;
const closeMillis = 200;

/** null: not enabled, or it can't be opened (the log says why). */
export async function openLivePage(
  context: DaemonContext,
  resolver: Resolver,
  teardown: Teardown,
  nodeName: string,
  nodeNumbers: () => Promise<NodeNumbers>,
): Promise<LivePage | null> {
  const { loaded, profile, logger } = context;
  const settings = profile.livePage;
  if (settings === null) return null;
  try {
    const key = keptKey(loaded.options.rootDir);
    const lives = resolver.get(tokens.lives);
    lives.watch(resolver.get(tokens.kernel).state.agent);
    const [logs] = logRoutes(context, resolver, resolver.get(tokens.nodeContainers));
    if (logs === undefined) throw new Error('there is no route to logs');
    const server = await listen({
      ...settings,
      key,
      logs,
      assets: join(packageDirectory(), 'src', 'adapters', 'http-server', 'page', 'assets'),
      data: await dataSource(context, resolver, nodeName, nodeNumbers),
      onError: (error, path) => logger.log('error', 'Request failed', { path, err: error instanceof Error ? error.message : String(error) }),
    });
    teardown.add('live page', () => server.close(closeMillis));
    const host = settings.address.includes(':') ? `[${settings.address}]` : settings.address;
    const address = `http://${host}:${server.port}/`;
    logger.log('info', 'The live page is open', { address, keyFile: join(loaded.options.rootDir, keyFile) });
    return { address, url: `${address}#key=${key}` };
  } catch (error) {
    logger.log('error', 'The live page can not be opened', { err: error instanceof Error ? error.message : String(error) });
    return null;
  }
}

/** Kept from run to run, so that a bookmark stays good. */
function keptKey(rootDirectory: string): string {
  const path = join(rootDirectory, keyFile);
  try {
    const key = readFileSync(path, 'utf8').trim();
    if (/^[\w-]{32,}$/.test(key)) {
      chmodSync(path, 0o600);
      return key;
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  const key = randomBytes(keyBytes).toString('base64url');
  mkdirSync(rootDirectory, { recursive: true });
  writeFileSync(path, `${key}\n`, { mode: 0o600, flush: true });
  chmodSync(path, 0o600);
  return key;
}

async function dataSource({ loaded, clock }: DaemonContext, resolver: Resolver, nodeName: string, nodeNumbers: () => Promise<NodeNumbers>): Promise<() => Promise<unknown>> {
  const calling = { signal: new AbortController().signal, timeoutMicros: null };
  const [machine, version] = await Promise.all([resolver.get(tokens.machine).read(null, calling), resolver.get(tokens.runtime).version(null, calling)]);
  const facts: PageFacts = {
    nodeName,
    version: reportedVersion(),
    runtime: `${version.runtimeName} ${version.runtimeVersion}`,
    startedAt: epochMicros(clock.wall()),
    cpuCount: machine.cpus,
    memoryBytes: machine.memoryBytes,
  };
  const thresholds = parseEvictionThresholds(loaded.configuration);
  const queries = resolver.get(tokens.queries);
  const lives = resolver.get(tokens.lives);
  return async () => {
    const numbers = await nodeNumbers();
    // The cgroups first: their snapshot includes everything for the summary.
    const [cgroups, summary] = await Promise.all([numbers.cgroups().catch(() => []), numbers.summary().catch(() => null)]);
    const failures = queries.health().flatMap(({ name, failure }) => (failure === null ? [] : [{ name, failure }]));
    return pageData(facts, {
      now: epochMicros(clock.wall()),
      pods: queries.pods().items ?? [],
      summary: summary?.ok === true ? (summary.value satisfies StatsSummary) : null,
      cgroups,
      thresholds: thresholds.ok ? thresholds.value : [],
      failures,
      lifeOf: (uid) => lives.of(uid),
    });
  };
}
