// The first answers in the life of a daemon on a node with 250 pods, and later ones: /pods, /runningpods/, /stats/summary and the pages of metrics, one after the
// other, of the bundled daemon as a process of its own. It is started on a node whose pods run, and asked for nothing until it is at rest.
// One JSON line an answer: time, bytes, processor time of the longest turn of the event loop; one line for the memory before, its peak, and after.
import { writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../test/containerd/kubelet-process.js';
import { calibrateHere } from './calibration.js';
import { MockNode } from './stage/mock-node.js';
import { memoryMiB, round } from './stage/process-cost.js';
import { beginTurns, turnsMeasurable } from './stage/turns-elsewhere.js';

const podCount = 250;
const laterAnswers = 5;
const settleMs = 2_000;
const paths = ['/pods', '/runningpods/', '/stats/summary', '/metrics', '/metrics/cadvisor', '/metrics/resource', '/metrics/probes'];

/** The length of the answer. */
function fetched(port: number, path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port, path, rejectUnauthorized: false, agent: false }, (answer) => {
      let bytes = 0;
      answer.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
      });
      answer.once('error', reject);
      answer.once('end', () => (answer.statusCode === 200 ? resolve(bytes) : reject(new Error(`${path}: ${answer.statusCode}`))));
    });
    asked.once('error', reject);
    asked.end();
  });
}

async function main(): Promise<void> {
  const { calibrationMs } = await calibrateHere();
  const port = await freePort();
  const authentication = { anonymous: { enabled: true }, webhook: { enabled: false } };
  const node = await MockNode.start('daemon-scrapes', { enableServer: true, address: '127.0.0.1', port, authentication });
  try {
    node.create(Array.from({ length: podCount }, (_, i) => `pod-${i}`));
    await node.untilReady(podCount);
    await node.kubelet.stop();
    const file = `${node.loopDelayFile}-turns`;
    Object.assign(node.kubelet.environment, turnsMeasurable(file));
    await node.boot();
    await node.untilQuiet();
    const { pid } = node.kubelet;
    const asked = async (path: string) => {
      const end = await beginTurns(pid, file);
      const began = performance.now();
      const bytes = await fetched(port, path);
      const millis = performance.now() - began;
      return { bytes, millis: round(millis), longestTurnMillis: round(await end()) };
    };
    const atRest = await beginTurns(pid, file);
    await delay(settleMs);
    const restTurn = round(await atRest());
    const before = round(memoryMiB(pid, 'VmRSS'));
    // The kernel forgets the peak so far.
    writeFileSync(`/proc/${pid}/clear_refs`, '5');
    const first = new Map<string, object>();
    for (const path of paths) first.set(path, await asked(path));
    const peak = round(memoryMiB(pid, 'VmHWM'));
    for (const path of paths) {
      const later = [];
      for (let i = 0; i < laterAnswers; i++) later.push(await asked(path));
      const median = later.toSorted((a, b) => a.longestTurnMillis - b.longestTurnMillis)[laterAnswers >> 1];
      console.log(JSON.stringify({ bench: 'daemon-scrapes', path, pods: podCount, first: first.get(path), later: median }));
    }
    const rssMiB = { before, peakOfFirst: peak, peak: round(memoryMiB(pid, 'VmHWM')), after: round(memoryMiB(pid, 'VmRSS')) };
    console.log(JSON.stringify({ bench: 'daemon-scrapes', pods: podCount, rssMiB, longestTurnMillisAtRest: restTurn, calibrationMs }));
  } finally {
    await node.stop();
  }
}

await main();
