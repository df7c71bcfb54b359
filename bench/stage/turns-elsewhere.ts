// The longest turn of another process's event loop (`turns.ts`): loaded before its program (`--import`), this measures from one SIGUSR2 to the next and then writes
// the result. Invariant: without the variable it does nothing at all.
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { isMainThread } from 'node:worker_threads';
import { type Turns, watchTurns } from './turns.js';

const variable = 'LONGEST_TURN_FILE';
const untilMs = 60_000;
const path = process.env[variable];
if (path !== undefined && isMainThread) install(path);

function install(path: string): void {
  let turns: Turns | null = null;
  process.on('SIGUSR2', () => {
    const longest = turns?.end() ?? null;
    turns = turns === null ? watchTurns() : null;
    writeFileSync(`${path}.part`, String(longest));
    renameSync(`${path}.part`, path);
  });
}

/** What a process needs in its environment so that it can be measured. */
export function turnsMeasurable(path: string): Record<string, string> {
  return { [variable]: path, NODE_OPTIONS: `--import=${import.meta.url}` };
}

/** Begins to measure such a process; the answer ends it, and resolves to the milliseconds of the longest turn. */
export async function beginTurns(pid: number, path: string): Promise<() => Promise<number>> {
  await signalled(pid, path);
  return async () => Number(await signalled(pid, path));
}

async function signalled(pid: number, path: string): Promise<string> {
  rmSync(path, { force: true });
  process.kill(pid, 'SIGUSR2');
  for (const end = Date.now() + untilMs; !existsSync(path); await delay(10)) {
    if (Date.now() > end) throw new Error(`process ${pid} does not say how long its turns are`);
  }
  return readFileSync(path, 'utf8');
}
