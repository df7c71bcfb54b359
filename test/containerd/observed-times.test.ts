// Two more processes of the kubelet after the first was killed, each with a wall clock that was set meanwhile, on a real containerd: start times, back-offs and a
// deadline are those of what an earlier process has observed, and nothing runs twice.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { ContainerState } from '../../src/adapters/cri/gen/cri-runtime-v1.js';
import { containerLabels } from '../../src/domain/values/container-labels.js';
import type { Pod } from '../../src/ports/model/pod.js';
import { idOf, isRunning, type KubeletProcess, manifest, nodeName, pausing, scripted, statusOf } from './kubelet-process.js';
import { skipWithoutContainerd } from './private-containerd.js';
import { type ClusterNode, clusterNode } from './test-node.js';

t.setTimeout(600_000);

const hour = 3_600_000;
const deadlineSeconds = 150;
const backOffSeconds = 10;
const millisOf = (nanos: bigint): number => Number(nanos / 1_000_000n);

/** Of the kubelet's next process, by milliseconds. */
function setWallClock({ environment }: KubeletProcess, by: number): void {
  const program = `const now = Date.now; Date.now = () => now() + ${by};`;
  environment.NODE_OPTIONS = `--import data:text/javascript,${encodeURIComponent(program)}`;
}

interface Attempt {
  readonly id: string;
  readonly startedAt: number;
  /** Zero while it runs. */
  readonly finishedAt: number;
}

/** Every attempt of every pod's container that was ever seen in the runtime: those of a crash loop are removed but for the newest. */
class Attempts {
  private readonly seen = new Map<string, Map<number, Attempt>>();
  readonly doubled: string[] = [];

  constructor(private readonly node: ClusterNode) {}

  of(pod: string): ReadonlyMap<number, Attempt> {
    return this.seen.get(pod) ?? new Map();
  }

  async look(): Promise<void> {
    const running = new Set<string>();
    for (const { id, labels, metadata, state } of await this.node.runtime.containers()) {
      const pod = labels[containerLabels.podName] ?? '';
      const attempt = metadata?.attempt ?? 0;
      if (state === ContainerState.CONTAINER_RUNNING && running.size === running.add(pod).size) this.doubled.push(`${pod} runs twice`);
      const attempts = this.seen.get(pod) ?? new Map<number, Attempt>();
      this.seen.set(pod, attempts);
      const known = attempts.get(attempt);
      if (known !== undefined && known.id !== id) this.doubled.push(`${pod} has two containers of attempt ${attempt}`);
      if ((known?.finishedAt ?? 0) !== 0) continue;
      const status = await this.node.runtime.status(id);
      if (status !== null) attempts.set(attempt, { id, startedAt: millisOf(status.startedAt), finishedAt: millisOf(status.finishedAt) });
    }
  }
}

t.test('killed, and started with a wall clock that was set', { skip: skipWithoutContainerd() }, async (t) => {
  const node = await clusterNode(t);
  const { kubelet, admin, containerd } = node;
  const attempts = new Attempts(node);
  const pod = async (name: string) => (await admin.get('pods', 'default', name)) as Pod;
  /** Looks into the runtime meanwhile. */
  const until = (what: string, holds: () => Promise<boolean> | boolean, timeoutMs?: number) =>
    kubelet.until(
      what,
      async () => {
        await attempts.look();
        return await holds();
      },
      timeoutMs,
    );
  const create = (name: string, container: object, more: object = {}) =>
    admin.create('pods', 'default', manifest(name, { nodeName, automountServiceAccountToken: false, containers: [container], ...more }) as never);
  const restarts = () => Math.max(-1, ...attempts.of('crashes').keys());
  const hasEnded = (attempt: number): boolean => (attempts.of('crashes').get(attempt)?.finishedAt ?? 0) !== 0;

  await kubelet.start();
  await create('runs', pausing(containerd));
  await create('limited', pausing(containerd), { activeDeadlineSeconds: deadlineSeconds });
  await create('crashes', scripted(containerd, 'main', 'sleep 2; exit 1'));
  for (const name of ['runs', 'limited']) await until(`${name} runs`, async () => isRunning(await pod(name)));
  await until('the crash loop waits', () => restarts() === 1 && hasEnded(1));
  const [runs, limited, crashes] = [await pod('runs'), await pod('limited'), await pod('crashes')];
  const last = attempts.of('crashes').get(1)?.id ?? '';
  await until('its end is written down', () => new RegExp(`"${last}":\\[\\d+,\\d+,\\d+\\]`).test(readFileSync(join(kubelet.root, 'observed_times_state'), 'utf8')));

  for (const by of [2 * hour, -2 * hour]) {
    const what = `the wall clock is set by ${by / hour} h`;
    await kubelet.kill();
    setWallClock(kubelet, by);
    await kubelet.start();
    // As with the Go kubelet, the length of a back-off is not kept: the first start may be at once, and the next one waits.
    const first = restarts() + 1;
    await until(`${what}: the crash loop goes on`, () => (attempts.of('crashes').get(first + 1)?.startedAt ?? 0) !== 0);
    const [before, after] = [attempts.of('crashes').get(first), attempts.of('crashes').get(first + 1)];
    const waited = ((after?.startedAt ?? 0) - (before?.finishedAt ?? 0)) / 1_000;
    t.ok(waited >= backOffSeconds - 1, `${what}: it waited ${waited} s`);
    await until(`${what}: its status is up to date`, async () => statusOf(await pod('crashes'), 'main').restartCount === restarts());
    t.equal((await pod('crashes')).status?.startTime, crashes.status?.startTime, `${what}: the start time of the crash loop`);
    for (const [name, earlier] of [
      ['runs', runs],
      ['limited', limited],
    ] as const) {
      const now = await pod(name);
      // On a slow machine the deadline may have passed.
      if (name === 'limited' && now.status?.phase === 'Failed') continue;
      t.equal(now.status?.startTime, earlier.status?.startTime, `${what}: the start time of ${name}`);
      t.strictSame(statusOf(now, 'main').state, statusOf(earlier, 'main').state, `${what}: the start of its container`);
      t.equal(idOf(now), idOf(earlier));
      t.match(statusOf(now, 'main'), { restartCount: 0, ready: true });
    }
  }
  await until('its deadline ends it', async () => (await pod('limited')).status?.phase === 'Failed', 2 * deadlineSeconds * 1_000);
  await attempts.look();
  const lasted = ((attempts.of('limited').get(0)?.finishedAt ?? 0) - Date.parse(limited.status?.startTime ?? '')) / 1_000;
  t.ok(lasted >= deadlineSeconds - 1, `ended after ${lasted} s`);
  t.match((await pod('limited')).status, { reason: 'DeadlineExceeded', startTime: limited.status?.startTime });
  t.strictSame(attempts.doubled, [], 'nothing ran twice');
  for (const name of ['runs', 'limited']) t.strictSame([...attempts.of(name).keys()], [0], `${name} was started once`);
  t.strictSame(
    [...attempts.of('crashes').keys()].sort((a, b) => a - b),
    Array.from({ length: restarts() + 1 }, (_, i) => i),
    'each attempt of the crash loop is one more than the one before',
  );
});
