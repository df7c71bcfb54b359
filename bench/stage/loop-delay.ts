// The delay of another process's event loop: loaded before its program (`--import`), this measures from one SIGUSR2 to the next and then
// writes the result. Between measurements it costs nothing. Invariant: without the variable it does nothing at all.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { isMainThread } from 'node:worker_threads';

const variable = 'LOOP_DELAY_FILE';
/** A timer of this length comes late; by how much is the delay. Milliseconds. */
const resolutionMs = 10;
const untilMs = 10_000;

/** Milliseconds by which timers came late. */
export interface LoopDelay {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

const path = process.env[variable];
if (path !== undefined && isMainThread) install(path);

function install(path: string): void {
  let histogram: IntervalHistogram | null = null;
  process.on('SIGUSR2', () => {
    if (histogram === null) {
      histogram = monitorEventLoopDelay({ resolution: resolutionMs });
      histogram.enable();
      return;
    }
    histogram.disable();
    const late = (nanoseconds: number): number => Math.max(0, Number((nanoseconds / 1e6 - resolutionMs).toPrecision(3)));
    const seen: LoopDelay = { p50: late(histogram.percentile(50)), p99: late(histogram.percentile(99)), max: late(histogram.max) };
    histogram = null;
    writeFileSync(`${path}.part`, JSON.stringify(seen));
    renameSync(`${path}.part`, path);
  });
}

/** What a process needs in its environment so that it can be measured. */
export function measurable(path: string): Record<string, string> {
  return { [variable]: path, NODE_OPTIONS: `--import=${import.meta.url}` };
}

/** Begins to measure such a process; the answer ends it, and resolves to what was seen. */
export function beginLoopDelay(pid: number, path: string): () => Promise<LoopDelay> {
  rmSync(path, { force: true });
  process.kill(pid, 'SIGUSR2');
  return async () => {
    process.kill(pid, 'SIGUSR2');
    for (const end = Date.now() + untilMs; !existsSync(path); await delay(10)) {
      if (Date.now() > end) throw new Error(`process ${pid} does not say how late it was`);
    }
    return JSON.parse(readFileSync(path, 'utf8')) as LoopDelay;
  };
}

/** An idle process: the lateness of its timers at the same time is the host's own share. */
export class IdleProcess {
  private constructor(
    private readonly child: ChildProcess,
    private readonly path: string,
  ) {}

  static async start(path: string): Promise<IdleProcess> {
    const program = 'console.log("up"); setInterval(() => {}, 1e9)';
    const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, ...measurable(path) } });
    await once(child.stdout, 'data');
    return new IdleProcess(child, path);
  }

  begin(): () => Promise<LoopDelay> {
    return beginLoopDelay(this.child.pid ?? 0, this.path);
  }

  stop(): void {
    this.child.kill('SIGKILL');
  }
}
