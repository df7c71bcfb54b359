// A node runs out of memory: when does it act, and which pod goes first? Run: node examples/embed/eviction.mjs
import { noPressure, observePressure, observeSignals, parseEvictionThresholds, rankPods } from 'kubelet-ts/domain';

const parsed = parseEvictionThresholds({
  evictionHard: { 'memory.available': '500Mi' },
  evictionSoft: { 'memory.available': '15%' },
  evictionSoftGracePeriod: { 'memory.available': '90s' },
  evictionMinimumReclaim: {},
  enforceNodeAllocatable: [],
});
if (!parsed.ok) throw new Error(parsed.error);

const mebibyte = 2 ** 20;
const second = 1_000_000;
const summary = (availableMiB) => ({
  node: { nodeName: 'node-1', memory: { time: '2026-01-01T00:00:00Z', availableBytes: availableMiB * mebibyte, workingSetBytes: (8192 - availableMiB) * mebibyte } },
});

// Available memory at each look, 30 seconds apart.
let state = noPressure;
for (const [look, availableMiB] of [3000, 1100, 1000, 1000, 900, 400, 2000].entries()) {
  state = observePressure(state, parsed.value, observeSignals(summary(availableMiB)), 300 * second, look * 30 * second);
  const acts = state.active.map(({ signal, gracePeriod }) => `${signal} ${gracePeriod === 0 ? 'hard' : 'soft'}`);
  console.log(`${look * 30} s, ${availableMiB} MiB left: conditions [${state.conditions}], acts [${acts}]`);
}

function pod(name, memory, priority) {
  const resources = memory === null ? {} : { requests: { memory } };
  return { metadata: { name, uid: name }, spec: { priority, containers: [{ name: 'main', image: 'app:1', resources }] } };
}

const pods = [pod('modest', '2Gi', 0), pod('greedy', '1Gi', 0), pod('careless', null, 0), pod('important', '1Gi', 1000)];
const usedMiB = { modest: 1500, greedy: 3000, careless: 500, important: 2500 };
const stats = new Map(
  pods.map(({ metadata: { name, uid } }) => [uid, { podRef: { name, namespace: 'default', uid }, memory: { workingSetBytes: usedMiB[name] * mebibyte } }]),
);
const ranked = rankPods(pods, stats, 'memory.available', { dedicatedImageFs: false, splitContainerFs: false });
console.log(`evicted in this order: ${ranked.map(({ pod: { metadata } }) => metadata.name).join(', ')}`);
