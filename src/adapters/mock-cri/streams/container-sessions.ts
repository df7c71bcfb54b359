// A session of exec or attach: runs a program of the mock container on its streams, or shows the container's own output, until the
// program ends, the container ends, or the client disconnects. Invariant: its timers and listeners end with it.
import type { Writable } from 'node:stream';
import type { Micros } from '../../../ports/micros.js';
import type { SimContainer } from '../../../sim/index.js';
import { type CommandOutcome, type CommandSession, readSizes, type TerminalSize } from '../../streaming/index.js';
import type { RealTime } from '../../time/index.js';
import type { Answer } from '../rpc.js';
import type { MockFiles } from './mock-files.js';
import { ProgramInput } from './program-input.js';
import type { ProgramScene } from './programs.js';
import { runCommand } from './shell.js';
import { terminalInput } from './terminal-input.js';

/** The exit code after a container's processes were killed. */
const killedCode = 137;
const interruptedCode = 130;
const defaultPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

export interface ExecPlan {
  readonly command: readonly string[];
  readonly tty: boolean;
  readonly container: SimContainer;
  readonly hostname: string;
  readonly files: MockFiles;
  /** The model's end of a command in this container: its duration, and an outcome that takes precedence over the program's. */
  readonly modelled: Answer<{ readonly exitCode: number; readonly stderr: string }>;
  readonly time: RealTime;
  /** Aborted when the container ends. */
  readonly ended: AbortSignal;
  /** After each thing that was written. */
  readonly wrote: () => void;
}

/** Resolves once the client has the outcome, or is gone. */
export async function execSession(session: CommandSession, plan: ExecPlan): Promise<void> {
  const withdrawals = new Set<() => void>();
  const after = (micros: Micros): Promise<void> =>
    new Promise((resolve) => {
      if (micros > 0) withdrawals.add(plan.time.after(micros, resolve));
      else resolve();
    });
  const gone = session.closed.then((): CommandOutcome | null => null);
  const killed = new Promise<CommandOutcome>((resolve) => {
    const kill = (): void => resolve(exited(plan.command, killedCode));
    plan.ended.addEventListener('abort', kill, { once: true });
    withdrawals.add(() => plan.ended.removeEventListener('abort', kill));
    if (plan.ended.aborted) kill();
  });
  let interrupt = (): void => {};
  const interrupted = new Promise<CommandOutcome>((resolve) => {
    interrupt = () => resolve(exited(plan.command, interruptedCode));
  });
  const run = program(session, plan, after, () => interrupt());
  const outcome = await Promise.race([run, killed, interrupted, gone]);
  for (const withdraw of withdrawals) withdraw();
  if (outcome !== null) await session.finish(outcome);
}

async function program(session: CommandSession, plan: ExecPlan, after: (micros: Micros) => Promise<void>, interrupt: () => void): Promise<CommandOutcome | null> {
  const { command, modelled } = plan;
  await after(modelled.after);
  if (!modelled.outcome.ok) return { kind: 'failed', message: modelled.outcome.error.message };
  const scene = sceneOf(session, plan, after, interrupt);
  const { exitCode, stderr } = modelled.outcome.value;
  try {
    if (exitCode !== 0) {
      await scene.err(stderr);
      return exited(command, exitCode);
    }
    return exited(command, await runCommand(command, scene));
  } catch (error) {
    // The client is gone, or the program failed: reports the failure to the client, if connected.
    return { kind: 'failed', message: `error executing command in container: ${error instanceof Error ? error.message : String(error)}` };
  }
}

function sceneOf(session: CommandSession, plan: ExecPlan, after: (micros: Micros) => Promise<void>, interrupt: () => void): ProgramScene {
  const { container, files, hostname, time, tty, wrote } = plan;
  let size: TerminalSize = { Width: 80, Height: 24 };
  if (session.resize !== null)
    readSizes(session.resize, (given) => {
      size = given;
    });
  const out = writer(session.stdout, tty, wrote);
  let { stdin } = session;
  if (tty && stdin !== null) {
    const terminal = terminalInput(stdin, (text) => session.stdout?.write(text));
    terminal.onInterrupt(interrupt);
    stdin = terminal.lines;
  }
  const envs = (container.config.envs ?? []).map(({ key, value }) => [key, typeof value === 'string' ? value : Buffer.from(value).toString('utf8')] as const);
  return {
    input: new ProgramInput(stdin),
    out,
    err: tty ? out : writer(session.stderr, false, wrote),
    env: new Map([['PATH', defaultPath], ['HOSTNAME', hostname], ['HOME', '/root'], ...(tty ? [['TERM', 'xterm'] as const] : []), ...envs]),
    files,
    hostname,
    size: () => (tty ? size : null),
    now: () => time.now(),
    sleep: after,
    cwd: container.config.workingDir || '/',
  };
}

/** @param tty lines end as terminals have them */
function writer(stream: Writable | null, tty: boolean, wrote: () => void): (bytes: Buffer | string) => Promise<void> {
  return (bytes) =>
    new Promise((resolve, reject) => {
      if (stream === null || bytes.length === 0) {
        resolve();
        return;
      }
      const shown = tty ? Buffer.from(bytes).toString('utf8').replace(/\r?\n/g, '\r\n') : bytes;
      stream.write(shown, (error) => {
        if (error !== null && error !== undefined) reject(error);
        else {
          wrote();
          resolve();
        }
      });
    });
}

function exited(command: readonly string[], exitCode: number): CommandOutcome {
  return { kind: 'exited', exitCode, message: `error executing command [${command.join(' ')}], exit code ${exitCode}` };
}

export interface AttachPlan {
  readonly tty: boolean;
  readonly ended: AbortSignal;
  readonly wrote: () => void;
  /** Subscribes to the container's output from now on. Returns the unsubscribe function. */
  readonly listen: (listener: (text: string) => void) => () => void;
}

/** What waits for a client that does not read. */
const unreadMax = 1024 * 1024;

export async function attachSession(session: CommandSession, { tty, ended, wrote, listen }: AttachPlan): Promise<void> {
  // Nothing in a mock container reads it.
  session.stdin?.resume();
  session.resize?.resume();
  const stop = listen((text) => {
    const { stdout } = session;
    // A slow viewer doesn't block the container.
    if (stdout === null || stdout.writableLength > unreadMax) return;
    stdout.write(tty ? text.replace(/\n/g, '\r\n') : text, () => wrote());
  });
  const over = new Promise<boolean>((resolve) => {
    ended.addEventListener('abort', () => resolve(true), { once: true });
    if (ended.aborted) resolve(true);
  });
  const hasEnded = await Promise.race([over, session.closed.then(() => false)]);
  stop();
  if (hasEnded) await session.finish({ kind: 'exited', exitCode: 0, message: '' });
}
