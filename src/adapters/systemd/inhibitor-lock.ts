// logind's inhibitor lock, held by a child process, `systemd-inhibit`, for as long as a pipe from this process to it is open.
// The lock is a descriptor that logind passes over the bus, which Node can't receive; systemd-inhibit(1) receives it and comes with every logind. It runs
// `cat` once it has the lock, so output through the pipe proves that the lock is held.
// Invariant: when this process ends in any way, the pipe closes, `cat` ends, and the lock with it.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';

export interface InhibitorLock {
  /** Resolves when it is released. Idempotent. */
  release(): Promise<void>;
}

export interface InhibitorOptions {
  /** The program and its first arguments. */
  readonly program?: readonly string[];
  readonly environment?: Readonly<Record<string, string | undefined>>;
  readonly timeoutMillis?: number;
}

const words = ['--what=shutdown', '--who=kubelet', '--why=Kubelet needs time to handle node shutdown', '--mode=delay', 'cat'];
const defaultTimeoutMillis = 25_000;
/** How much of a failed program's output is kept. */
const complaintMax = 4096;
/** After the pipe was closed. */
const endMillis = 5_000;
const greeting = 'held\n';

/** Takes the lock. Throws systemd-inhibit's message. @param lost called when the lock ends by itself; never after `release` */
export async function takeInhibitorLock(options: InhibitorOptions, lost: () => void): Promise<InhibitorLock> {
  const [program = 'systemd-inhibit', ...before] = options.program ?? ['systemd-inhibit'];
  const child = spawn(program, [...before, ...words], { stdio: ['pipe', 'pipe', 'pipe'], env: { ...process.env, ...options.environment } });
  const held = new HeldLock(child, lost);
  await held.taken(options.timeoutMillis ?? defaultTimeoutMillis);
  return held;
}

class HeldLock implements InhibitorLock {
  private readonly exited: Promise<void>;
  private complaint = '';
  private isHeld = false;
  private isReleased = false;

  constructor(
    private readonly child: ChildProcessByStdio<Writable, Readable, Readable>,
    private readonly lost: () => void,
  ) {
    child.stdin.on('error', () => {});
    child.stderr.on('data', (chunk: Buffer) => {
      this.complaint = `${this.complaint}${chunk.toString('utf8')}`.slice(0, complaintMax);
    });
    this.exited = new Promise((resolve) => {
      // Not `exit`: the program's output is complete only at `close`.
      child.once('close', () => resolve());
      child.once('error', (error) => {
        this.complaint = error.message;
        resolve();
      });
    });
    void this.exited.then(() => {
      if (this.isHeld && !this.isReleased) this.lost();
    });
  }

  async taken(timeoutMillis: number): Promise<void> {
    let late: NodeJS.Timeout | undefined;
    const answered = new Promise<'held'>((resolve) => {
      this.child.stdout.once('data', () => resolve('held'));
    });
    const tooLate = new Promise<'late'>((resolve) => {
      late = setTimeout(() => resolve('late'), timeoutMillis);
    });
    this.child.stdin.write(greeting);
    const first = await Promise.race([answered, tooLate, this.exited.then(() => 'ended' as const)]);
    clearTimeout(late);
    if (first === 'held') {
      this.isHeld = true;
      return;
    }
    this.child.kill('SIGKILL');
    throw new Error(first === 'late' ? `systemd-inhibit has not got the lock within ${timeoutMillis} ms` : `systemd-inhibit: ${this.complaint.trim() || 'it ended'}`);
  }

  async release(): Promise<void> {
    this.isReleased = true;
    this.child.stdin.end();
    const kill = setTimeout(() => this.child.kill('SIGKILL'), endMillis);
    await this.exited;
    clearTimeout(kill);
  }
}
