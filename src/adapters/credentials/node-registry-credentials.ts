// Registry credentials of the node: Docker's configuration files in the kubelet's search paths, and credential provider plugins.
// Invariants: secrets go through pipes, never through arguments or messages; neither a plugin nor its child processes outlive the call.
import { spawn } from 'node:child_process';
import { closeSync, constants, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import type { Call, PortOf } from '../../ports/operation.js';
import type { NodeDockerConfig, PluginRun, RegistryCredentialOperations } from '../../ports/outbound/registry-credentials.js';
import { PortError } from '../../ports/port-error.js';
import { decodeText } from '../text/index.js';

/** A configuration is kilobytes. */
const configBytesMax = 1024 * 1024;
const stdoutBytesMax = 1024 * 1024;
/** How much of a failed plugin's stderr is kept, from its end. */
const stderrBytesMax = 4 * 1024;
const operation = 'registryCredentials.runPlugin';

export interface RegistryCredentialPlaces {
  readonly rootDirectory: string;
  readonly workingDirectory: string;
  /** null: the agent's user has none. */
  readonly homeDirectory: string | null;
  /** null: no plugins. */
  readonly pluginDirectory: string | null;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export class NodeRegistryCredentials implements PortOf<RegistryCredentialOperations> {
  constructor(private readonly places: RegistryCredentialPlaces) {}

  async readNodeConfig(_request: null, call: Call): Promise<NodeDockerConfig | null> {
    if (call.signal.aborted) throw new PortError({ kind: 'cancelled', message: 'context canceled', operation: 'registryCredentials.readNodeConfig', subject: '' });
    const { rootDirectory, workingDirectory, homeDirectory } = this.places;
    const home = homeDirectory === null ? [] : [homeDirectory];
    return (
      firstReadable([rootDirectory, workingDirectory, ...home.map((path) => join(path, '.docker')), '/.docker'], 'config.json') ??
      firstReadable([rootDirectory, workingDirectory, ...home, '/'], '.dockercfg')
    );
  }

  async runPlugin(run: PluginRun, call: Call): Promise<{ readonly stdout: string }> {
    const { pluginDirectory, environment } = this.places;
    const refused = (kind: PortError['kind'], message: string) => new PortError({ kind, message, operation, subject: run.name });
    if (pluginDirectory === null) throw refused('failed-precondition', 'this kubelet has no directory of credential provider plugins');
    if (run.name === '' || run.name === '.' || run.name === '..' || /[/\0]/.test(run.name)) throw refused('invalid-argument', `${JSON.stringify(run.name)} is no file name`);
    if (call.signal.aborted) throw refused('cancelled', 'context canceled');
    const env = { ...environment, ...Object.fromEntries(run.env.map(({ name, value }) => [name, value])) };
    return new PluginProcess(join(pluginDirectory, run.name), run, env, call).run();
  }
}

function firstReadable(directories: readonly string[], format: NodeDockerConfig['format']): NodeDockerConfig | null {
  for (const directory of directories) {
    const path = join(directory, format);
    const text = readBounded(path);
    if (text !== null) return { format, path, text };
  }
  return null;
}

/** null: it can't be read, or is larger than any such file. */
function readBounded(path: string): string | null {
  let file: number;
  try {
    // A pipe in its place must not hold the agent up.
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch {
    return null;
  }
  try {
    const bytes = Buffer.alloc(configBytesMax + 1);
    let size = 0;
    for (let read = -1; read !== 0 && size < bytes.length; size += read) read = readSync(file, bytes, size, bytes.length - size, null);
    if (size > configBytesMax) return null;
    const decoded = decodeText(bytes.subarray(0, size));
    return decoded.ok ? decoded.text : bytes.toString('utf8', 0, size);
  } catch {
    return null;
  } finally {
    closeSync(file);
  }
}

class PluginProcess {
  private readonly stdout: Buffer[] = [];
  private stdoutBytes = 0;
  private stderr = '';
  private readonly startedAt = performance.now();

  constructor(
    private readonly path: string,
    private readonly plugin: PluginRun,
    private readonly env: NodeJS.ProcessEnv,
    private readonly call: Call,
  ) {}

  run(): Promise<{ readonly stdout: string }> {
    return new Promise((resolve, reject) => {
      // A process group of its own, so that the plugin's child processes end with it.
      const child = spawn(this.path, [...this.plugin.args], { env: this.env, stdio: 'pipe', detached: true });
      const kill = () => {
        if (child.pid !== undefined) killGroup(child.pid);
      };
      const settle = (failure: PortError | null) => {
        this.call.signal.removeEventListener('abort', kill);
        if (failure === null) resolve({ stdout: Buffer.concat(this.stdout).toString('utf8') });
        else reject(failure);
      };
      this.call.signal.addEventListener('abort', kill);
      child.once('error', (error: NodeJS.ErrnoException) => settle(this.failure(startKinds[error.code ?? ''] ?? 'unknown', `cannot be run: ${error.code ?? 'unknown error'}`)));
      child.once('close', (code, signal) => {
        // Background processes that it left.
        kill();
        settle(this.outcome(code, signal));
      });
      child.stdout.on('data', (chunk: Buffer) => this.took(chunk, kill));
      child.stderr.on('data', (chunk: Buffer) => {
        this.stderr = (this.stderr + chunk.toString('utf8')).slice(-stderrBytesMax);
      });
      // One that ends without reading is no failure.
      child.stdin.on('error', () => {});
      child.stdin.end(this.plugin.stdin);
    });
  }

  private took(chunk: Buffer, kill: () => void): void {
    this.stdoutBytes += chunk.length;
    if (this.stdoutBytes <= stdoutBytesMax) this.stdout.push(chunk);
    else kill();
  }

  private outcome(code: number | null, signal: NodeJS.Signals | null): PortError | null {
    if (this.call.signal.aborted) {
      const { timeoutMicros } = this.call;
      return timeoutMicros !== null && (performance.now() - this.startedAt) * 1_000 >= timeoutMicros
        ? this.failure('deadline-exceeded', 'context deadline exceeded')
        : this.failure('cancelled', 'context canceled');
    }
    if (this.stdoutBytes > stdoutBytesMax) return this.failure('resource-exhausted', `wrote more than ${stdoutBytesMax} bytes`);
    if (code === 0) return null;
    const how = code === null ? `signal: ${signal ?? 'unknown'}` : `exit status ${code}`;
    return this.failure('unknown', this.stderr === '' ? how : `${how}: ${this.stderr.trim()}`);
  }

  private failure(kind: PortError['kind'], message: string): PortError {
    return new PortError({ kind, message, operation, subject: this.plugin.name });
  }
}

const startKinds: Readonly<Record<string, PortError['kind']>> = { ENOENT: 'not-found', EACCES: 'permission-denied', E2BIG: 'invalid-argument', EAGAIN: 'resource-exhausted' };

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended already.
  }
}
