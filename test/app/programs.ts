// The programs as processes of their own, as users start them.
import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const boundMillis = 90_000;
/** An agent with a kubeconfig is the node's kubelet unless its own settings say otherwise, and this machine isn't a test's to set up. */
const sharedNode = fileURLToPath(new URL('../../../test/app/shared-node.yaml', import.meta.url));

export class Program {
  out = '';
  err = '';
  private readonly child: ChildProcess;
  private readonly exited: Promise<number | NodeJS.Signals>;

  constructor(name: 'kubelet-ts' | 'kubelet-ctl', words: readonly string[], environment: Readonly<Record<string, string>> = {}, timeout = boundMillis, user: number | null = null) {
    const file = fileURLToPath(new URL(`../../src/app/cli/${name}.js`, import.meta.url));
    this.child = spawn(process.execPath, [file, ...words], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, KUBELET_TS_CONFIG: sharedNode, ...environment },
      ...(user === null ? {} : { uid: user, gid: user }),
      timeout,
      killSignal: 'SIGKILL',
    });
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.out += text;
    });
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.err += text;
    });
    this.exited = new Promise((resolve) => {
      this.child.once('close', (code, signal) => resolve(code ?? signal ?? 'SIGKILL'));
    });
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  /** Closes the reader of its output. */
  closeOutput(): void {
    this.child.stdout?.destroy();
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** The exit code, or the signal that ended it. */
  end(): Promise<number | NodeJS.Signals> {
    return this.exited;
  }
}
