// The system journal, read by journalctl(1): its arguments are passed unchanged, never through a shell.
// Invariants: a run ends by its time limit, by its client's disconnect, or by itself; no process is left then.
import { type ChildProcess, spawn } from 'node:child_process';

const runMillis = 30_000;
const unitsBytesMax = 4 * 1024 * 1024;
const environment = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C.UTF-8' };

export class SystemJournal {
  constructor(private readonly program = 'journalctl') {}

  /** Units with entries in the journal; null: no journal. */
  async units(signal: AbortSignal): Promise<ReadonlySet<string> | null> {
    let text = '';
    try {
      for await (const chunk of this.run(['--field', '_SYSTEMD_UNIT'], signal)) {
        if (text.length < unitsBytesMax) text += Buffer.from(chunk).toString('utf8');
      }
    } catch {
      return null;
    }
    return new Set(text.split('\n').filter((line) => line !== ''));
  }

  /** Its output, including stderr. Throws if the program is missing. */
  async *run(words: readonly string[], signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const child = spawn(this.program, [...words], { stdio: ['ignore', 'pipe', 'pipe'], env: environment });
    const ended = new Promise<void>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', () => resolve());
    });
    // A caller that doesn't await the end must not get an unhandled rejection.
    ended.catch(() => {});
    const kill = (): void => void child.kill('SIGKILL');
    const timer = setTimeout(kill, runMillis);
    signal.addEventListener('abort', kill, { once: true });
    try {
      yield* merged(child);
      await ended;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', kill);
      kill();
    }
  }
}

/** Both outputs as they come. */
async function* merged({ stdout, stderr }: ChildProcess): AsyncGenerator<Uint8Array> {
  if (stdout === null || stderr === null) return;
  const sources = [stdout, stderr].map((stream) => stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>);
  const next = (index: number) => sources[index]!.next().then((result) => ({ index, result }));
  const waiting = new Map([0, 1].map((index) => [index, next(index)]));
  while (waiting.size > 0) {
    const { index, result } = await Promise.race(waiting.values());
    if (result.done === true) waiting.delete(index);
    else {
      waiting.set(index, next(index));
      yield result.value;
    }
  }
}
