// Removes a demonstration's pods from a real runtime: the agent stops them as it stops any pod; remains (dead sandboxes, which it would collect
// within a minute) and pods that it doesn't stop in time are removed directly.
// Invariant: touches only pods that this agent marked as its own.

import { rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readCgroupLayout } from '../../adapters/linux/index.js';
import type { ListedPod } from '../../ports/model/runtime-listing.js';
import type { Call } from '../../ports/operation.js';
import type { Daemon } from '../daemon/start-daemon.js';
import { tokens } from '../tokens.js';
import { devCgroup } from './dev-stage.js';

const agentMillis = 10_000;
const byHandMillis = 5_000;
const lookEveryMillis = 100;

/** Resolves to the remaining objects, one text each. */
export async function removePods(daemon: Daemon): Promise<string[]> {
  daemon.withdrawPods();
  const deadline = performance.now() + agentMillis;
  let left = await ownPods(daemon);
  while (left.some(isRunning) && performance.now() < deadline) {
    await delay(lookEveryMillis);
    left = await ownPods(daemon);
  }
  await Promise.all(left.map((pod) => removeByHand(daemon, pod)));
  return (await ownPods(daemon)).map(({ namespace, name }) => `pod ${namespace}/${name}`);
}

async function ownPods(daemon: Daemon): Promise<readonly ListedPod[]> {
  const owned = daemon.ownedUids() ?? new Set<string>();
  const { pods } = await daemon.resolver.get(tokens.runtime).listPods({ uid: null }, within(byHandMillis));
  return pods.filter(({ uid }) => owned.has(uid));
}

function isRunning({ sandboxes, containers }: ListedPod): boolean {
  return sandboxes.some(({ state }) => state === 'ready') || containers.some(({ state }) => state === 'running');
}

async function removeByHand(daemon: Daemon, { sandboxes }: ListedPod): Promise<void> {
  const port = daemon.resolver.get(tokens.sandboxes);
  for (const { id } of sandboxes) {
    try {
      await port.stop({ sandboxId: id }, within(byHandMillis));
      await port.remove({ sandboxId: id }, within(byHandMillis));
    } catch {
      // It is listed again, and reported, afterwards.
    }
  }
}

/** Removes the cgroups of this demonstration and all below them. */
export async function removeCgroups(daemon: Daemon, processCgroup: string): Promise<void> {
  const cgroups = daemon.resolver.get(tokens.podCgroups);
  const name = [...processCgroup.split('/').filter((part) => part !== ''), 'kubepods'];
  for (const below of ['burstable', 'besteffort']) await cgroups.destroy({ name: [...name, below] }, within(byHandMillis));
  const { hierarchies, hybrid } = readCgroupLayout('/proc/self/mountinfo');
  const trees = [...hierarchies.map(({ mountPoint }) => mountPoint), ...(hybrid === null ? [] : [hybrid])];
  for (const mountPoint of trees) {
    for (const path of [name.join('/'), name.slice(0, -1).join('/'), devCgroup]) removeEmpty(join(mountPoint, path));
  }
}

/** Another demonstration may have its cgroups in the same directory. */
function removeEmpty(directory: string): void {
  try {
    rmdirSync(directory);
  } catch {
    return;
  }
}

function within(millis: number): Call {
  return { signal: AbortSignal.timeout(millis), timeoutMicros: millis * 1000 };
}
