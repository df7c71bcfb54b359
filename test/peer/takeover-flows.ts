// Kubelets that take over from each other, and a reboot, with pods that run.
import { setTimeout as delay } from 'node:timers/promises';
import type { Test } from 'tap';
import type { Json } from './admin-client.js';
import { type Flow, flowPod, shell, waiting } from './flow.js';
import { type Lasting, lastingOf, mountsOf } from './node-state.js';
import { isGo, type PeerStand, type Which } from './peer-stand.js';
import { thirtyPods } from './thirty-pods.js';

/** Which kubelet follows, and how the one before it ends. */
type Swap = readonly [next: Which, signal: 'SIGTERM' | 'SIGKILL'];

function own(): Which {
  return isGo() ? 'go' : 'ours';
}

function other(): Which {
  return isGo() ? 'ours' : 'go';
}

/** Pods come up in parts, one under each of the first kubelets, so that each kind is taken over from both. */
async function noRestart(t: Test, stand: PeerStand, parts: readonly (readonly object[])[], swaps: readonly Swap[]): Promise<void> {
  let before: Record<string, Lasting> = {};
  let mounts: string[] = [];
  const add = async (part: readonly object[]): Promise<void> => {
    await stand.create(...part);
    await stand.ok(['wait', 'pod', '-l', 'swap', '--for=condition=Ready', '--timeout=240s']);
    before = await lastingOf(stand, 'swap');
    mounts = mountsOf(stand);
  };
  await add(parts[0] ?? []);
  for (const [i, [next, signal]] of swaps.entries()) {
    await stand.stop(signal);
    await stand.start(next);
    await stand.until('it knows all pods', async () => {
      const { items } = JSON.parse((await stand.client.kubelet('/pods')).text);
      return items.filter((pod: Json) => pod.metadata.labels?.swap !== undefined && pod.status.phase === 'Running').length === Object.keys(before).length;
    });
    // The first syncs after a start are over by then.
    await delay(6_000);
    const now = await lastingOf(stand, 'swap');
    // The Go kubelet takes containers that ran for less than 10 s as not ready until it has probed them.
    const seen = (of: Lasting | undefined): unknown => (next === 'ours' ? of : of?.containers);
    for (const name of Object.keys(before)) t.strictSame(seen(now[name]), seen(before[name]), `${next}: ${name} as before`);
    t.strictSame(mountsOf(stand), mounts, `${next}: what is mounted is mounted once`);
    await add(parts[i + 1] ?? []);
  }
  t.equal(Object.keys(before).length, parts.flat().length);
  await stand.ok(['delete', 'pod', '-l', 'swap in (1, 2)']);
}

async function reboot(t: Test, stand: PeerStand): Promise<void> {
  if ((await stand.pods('swap')).length === 0) await stand.create(...(thirtyPods()[0] ?? []));
  await stand.ok(['wait', 'pod', '-l', 'swap', '--for=condition=Ready', '--timeout=240s']);
  await stand.create(flowPod('once', [shell(waiting)], { restartPolicy: 'Never' }), flowPod('done', [shell('echo done')], { restartPolicy: 'Never' }));
  await stand.untilPod('once', 'runs', (one) => one.status.phase === 'Running');
  await stand.untilPod('done', 'has ended', (one) => one.status.phase === 'Succeeded');
  const before = await lastingOf(stand, 'swap');
  await stand.stop();
  await stand.reboot();
  await stand.start();
  const isUp = (pod: Json): boolean =>
    pod.status.phase === 'Running' && pod.status.containerStatuses.every((one: Json) => one.ready && one.restartCount === 1 && one.state.running !== undefined);
  await stand.until('all pods run again, restarted once', async () => (await stand.pods('swap')).every(isUp));
  const after = await lastingOf(stand, 'swap');
  t.strictSame(Object.keys(after), Object.keys(before), 'as the same pods');
  await stand.untilPod('once', 'has failed', (one) => one.status.phase === 'Failed');
  t.match(await stand.untilPod('done', 'is done', (one) => one.status.phase === 'Succeeded'), { status: { containerStatuses: [{ restartCount: 0 }] } });
  await stand.ok(['delete', 'pod', 'once', 'done']);
}

export const takeoverFlow: Flow = {
  name: 'kubelets take over from each other with pods of each kind, and nothing restarts',
  run: (t, stand) =>
    noRestart(t, stand, thirtyPods().slice(0, 1), [
      [other(), 'SIGKILL'],
      [own(), 'SIGTERM'],
    ]),
};

export const longTakeoverFlow: Flow = {
  name: 'kubelets take over from each other with 30 pods, and nothing restarts',
  run: (t, stand) =>
    noRestart(t, stand, thirtyPods(), [
      [other(), 'SIGKILL'],
      [own(), 'SIGTERM'],
      [other(), 'SIGKILL'],
      [own(), 'SIGTERM'],
    ]),
};

export const rebootFlow: Flow = { name: 'after a reboot every pod runs again, and what has ended does not', run: reboot };
