// Profiles of this process by V8's own samplers, in the format of pprof: CPU time, and allocations that are still live.
// Invariants: one profile of a kind at a time; a client's disconnect ends it; there is no sampling without a request.
import { type HeapProfiler, type Profiler, Session } from 'node:inspector/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { encodedProfile, type Frame, type StackSample } from './pprof-profile.js';

const cpuIntervalMicros = 1_000;
const heapIntervalBytes = 32_768;
/** Not CPU time at all. */
const idle = '(idle)';

/** Another profile is in progress. */
export class ProfileInUse extends Error {}

const underWay = new Set<string>();

export function takeCpuProfile(seconds: number, signal: AbortSignal): Promise<Buffer> {
  return alone('cpu', async (session) => {
    await session.post('Profiler.enable');
    await session.post('Profiler.setSamplingInterval', { interval: cpuIntervalMicros });
    const startedMillis = Date.now();
    await session.post('Profiler.start');
    await delay(seconds * 1_000, undefined, { signal }).catch(() => {});
    const { profile } = await session.post('Profiler.stop');
    return encodedProfile({
      valueTypes: [
        { type: 'samples', unit: 'count' },
        { type: 'cpu', unit: 'nanoseconds' },
      ],
      samples: cpuSamples(profile),
      startedMillis,
      durationNanos: (profile.endTime - profile.startTime) * 1_000,
      periodType: { type: 'cpu', unit: 'nanoseconds' },
      period: cpuIntervalMicros * 1_000,
    });
  });
}

/** Of allocations during that time that are live at its end. */
export function takeHeapProfile(seconds: number, signal: AbortSignal): Promise<Buffer> {
  return alone('heap', async (session) => {
    const startedMillis = Date.now();
    const begunAt = performance.now();
    await session.post('HeapProfiler.enable');
    await session.post('HeapProfiler.startSampling', { samplingInterval: heapIntervalBytes });
    await delay(seconds * 1_000, undefined, { signal }).catch(() => {});
    const { profile } = await session.post('HeapProfiler.stopSampling');
    return encodedProfile({
      valueTypes: [{ type: 'inuse_space', unit: 'bytes' }],
      samples: heapSamples(profile),
      startedMillis,
      durationNanos: (performance.now() - begunAt) * 1e6,
      periodType: { type: 'space', unit: 'bytes' },
      period: heapIntervalBytes,
    });
  });
}

async function alone(kind: string, take: (session: Session) => Promise<Buffer>): Promise<Buffer> {
  if (underWay.has(kind)) throw new ProfileInUse(`${kind} profiling already in use`);
  underWay.add(kind);
  const session = new Session();
  try {
    session.connect();
    return await take(session);
  } finally {
    session.disconnect();
    underWay.delete(kind);
  }
}

function cpuSamples({ nodes, samples = [], timeDeltas = [] }: Profiler.Profile): StackSample[] {
  const parents = new Map<number, number>();
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  for (const { id, children = [] } of nodes) for (const child of children) parents.set(child, id);
  const totals = new Map<number, { count: number; micros: number }>();
  samples.forEach((id, i) => {
    const total = totals.get(id) ?? { count: 0, micros: 0 };
    total.count++;
    total.micros += Math.max(0, timeDeltas[i] ?? 0);
    totals.set(id, total);
  });
  return [...totals].flatMap(([id, { count, micros }]) => {
    const stack = stackOf(id, frames, parents);
    return stack.length === 0 || stack[0]?.functionName === idle ? [] : [{ frames: stack, values: [count, micros * 1_000] }];
  });
}

function heapSamples({ head }: HeapProfiler.SamplingHeapProfile): StackSample[] {
  const samples: StackSample[] = [];
  const waiting: { readonly node: HeapProfiler.SamplingHeapProfileNode; readonly frames: readonly Frame[] }[] = head.children.map((node) => ({ node, frames: [] }));
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { node } = next;
    const frames = [node.callFrame, ...next.frames];
    if (node.selfSize > 0) samples.push({ frames, values: [node.selfSize] });
    for (const child of node.children) waiting.push({ node: child, frames });
  }
  return samples;
}

/** Without the root, which is no function. */
function stackOf(id: number, frames: ReadonlyMap<number, Frame>, parents: ReadonlyMap<number, number>): Frame[] {
  const stack: Frame[] = [];
  for (let at: number | undefined = id; at !== undefined && parents.has(at); at = parents.get(at)) {
    const frame = frames.get(at);
    if (frame !== undefined) stack.push(frame);
  }
  return stack;
}
