// The cost of one pod that changes, beside 30 and beside 250 pods that don't: the bundled daemon as a node of a mock apiserver, on a mock runtime
// without events (as containerd 1.6). Three changes, each many times: a label, a container's image (it is restarted), a pod that is
// created and deleted. Processor time, requests and calls of each, without the node's idle cost meanwhile.
// `npm run bench -- one-pod-changes`.
import { setTimeout as delay } from 'node:timers/promises';
import type { Pod } from '../src/ports/model/pod.js';
import { calibrateHere } from './calibration.js';
import { isReady, MockNode, type Span } from './stage/mock-node.js';
import { round } from './stage/process-cost.js';

const numbers = [30, 250];
const restMs = 5_000;
const restWindows = 7;
/** Long enough for what follows a change: the relist, the status. */
const pauseMs = 300;
/** Of each kind, after as many that warm it up. */
const times = 40;
const warmUp = 20;

interface Cost {
  readonly cpuMs: number;
  readonly requests: Readonly<Record<string, number>>;
  readonly calls: Readonly<Record<string, number>>;
}

/** A changed object has a new name for each number of others, so that it has no earlier image or event. */
type Change = (node: MockNode, subject: string, turn: number) => Promise<void>;

const podNamed = (node: MockNode, name: string): Pod | undefined => node.pods().find(({ metadata }) => metadata.name === name);
const isGone = (node: MockNode, name: string) => (): boolean => podNamed(node, name) === undefined;

const restartsOf = (node: MockNode, subject: string): number => podNamed(node, subject)?.status?.containerStatuses?.[0]?.restartCount ?? -1;

const changes: Readonly<Record<string, Change>> = {
  'a label': async (node, subject, turn) => {
    node.ask('patch', 'pods', subject, { metadata: { labels: { turn: String(turn) } } });
  },
  'an image': async (node, subject, turn) => {
    const restarts = restartsOf(node, subject);
    node.ask('patch', 'pods', subject, { spec: { containers: [{ name: 'main', image: `${subject}:${turn}` }] } }, { patch: 'strategic-merge-patch' });
    await node.until('it runs again', () => restartsOf(node, subject) > restarts && isReady(podNamed(node, subject) as Pod));
  },
  'a pod that comes and goes': async (node, subject, turn) => {
    const name = `${subject}-${turn}`;
    node.create([name]);
    await node.until('it is ready', () => isReady((podNamed(node, name) ?? {}) as Pod));
    node.ask('delete', 'pods', name);
    await node.until('it is gone', isGone(node, name));
  },
};

/** The middle one of several windows, so that what else a young process does (compiling, collecting) isn't taken for its rest. */
async function atRest(node: MockNode): Promise<Span> {
  const spans: Span[] = [];
  for (let i = 0; i < restWindows; i++) {
    const end = node.begin();
    await delay(restMs);
    spans.push(end());
  }
  return spans.sort((a, b) => a.cpuMs - b.cpuMs)[restWindows >> 1] as Span;
}

/** The cost of one of many changes above the idle node's. */
async function costOf(node: MockNode, subject: string, change: Change, rest: Span): Promise<Cost> {
  let turn = 0;
  const some = async (many: number): Promise<void> => {
    for (let i = 0; i < many; i++) {
      await change(node, subject, turn++);
      await delay(pauseMs);
    }
    // What ended is collected once a minute.
    await node.untilCollected();
  };
  await some(warmUp);
  const end = node.begin();
  await some(times);
  const span = end();
  const over = (of: 'requests' | 'calls'): Record<string, number> => {
    const each = Object.entries(span[of]).map(([kind, many]): [string, number] => [kind, round((many - ((rest[of][kind] ?? 0) / rest.seconds) * span.seconds) / times)]);
    return Object.fromEntries(each.filter(([, many]) => Math.abs(many) >= 0.1));
  };
  return { cpuMs: (span.cpuMs - (rest.cpuMs / rest.seconds) * span.seconds) / times, requests: over('requests'), calls: over('calls') };
}

async function main(): Promise<void> {
  const machine = await calibrateHere();
  const node = await MockNode.start('one-pod-changes');
  const costs = new Map<string, Cost[]>();
  try {
    let there = 0;
    for (const pods of numbers) {
      const subject = `beside-${pods}`;
      node.create([subject, ...Array.from({ length: pods - there }, (_, i) => `other-${there + i}`)]);
      there = pods + 1;
      await node.untilReady(there);
      await node.untilQuiet();
      const rest = await atRest(node);
      for (const [what, change] of Object.entries(changes)) {
        const cost = await costOf(node, subject, change, rest);
        costs.set(what, [...(costs.get(what) ?? []), cost]);
        const shown = { cpuMs: round(cost.cpuMs), scaled: round(cost.cpuMs / machine.slowness), requests: cost.requests, calls: cost.calls };
        console.log(JSON.stringify({ bench: 'one-pod-changes', what, besides: pods, ...shown, restPercentOfACore: round(rest.cpuMs / 10 / rest.seconds) }));
      }
    }
  } finally {
    await node.stop();
  }
  for (const [what, [few, many]] of costs) {
    if (few === undefined || many === undefined) continue;
    const ratio = round(many.cpuMs / few.cpuMs);
    console.log(JSON.stringify({ bench: 'one-pod-changes', what, ratioOfCpu: ratio, from: numbers[0], to: numbers[1], calibrationMs: machine.calibrationMs }));
  }
}

await main();
