// A kubelet of a test's own: the bundled program as a process of its own, standalone, on a private containerd and in directories and
// cgroups below it. Invariant: everything that it and its containers leave is removed with the private containerd, however the test ends.
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Pod } from '../../src/ports/model/pod.js';
import type { ContainerStatus } from '../../src/ports/model/pod-status.js';
import type { PrivateContainerd } from './private-containerd.js';

const bundle = fileURLToPath(new URL('../../bundle/kubelet-ts.mjs', import.meta.url));
const pollMs = 25;
/** Long enough for a machine that does other things, too; nothing waits this long unless it fails. */
const defaultUntilMs = 120_000;
const shownLines = 25;
/** USER_HZ, which is 100 on every architecture that Node runs on. */
const ticksPerSecond = 100;

export const nodeName = 'node-under-test';

export interface LogLine {
  /** Milliseconds. */
  readonly ts: number;
  readonly level: string;
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** The end of a process: its exit code, or null when a signal ended it. */
type Exit = number | null;

export class KubeletProcess {
  private readonly base: string;
  readonly root: string;
  readonly manifests: string;
  readonly podLogs: string;
  /** More words for its command line, from its next start on. */
  readonly flags: string[] = [];
  /** More variables of its environment, from its next start on. */
  readonly environment: Record<string, string> = {};
  /** What is run, from its next start on. */
  program = bundle;
  private child: ChildProcess | null = null;
  private exited: Promise<Exit> = Promise.resolve(null);
  private staged = 0;

  private constructor(
    readonly containerd: PrivateContainerd,
    name: string,
    private readonly port: number,
    settings: object,
  ) {
    this.base = join(containerd.directory, name);
    this.root = join(this.base, 'kubelet');
    this.manifests = join(this.base, 'manifests');
    this.podLogs = join(this.base, 'pods-log');
    for (const directory of [this.root, this.manifests, this.podLogs, join(this.base, 'staged')]) mkdirSync(directory, { recursive: true });
    // A node of a cluster is its runtime's kubelet, which sets the kernel up; this machine's kernel is not a test's to set.
    const own = join(this.base, 'own-settings.yaml');
    writeFileSync(own, 'node: shared\n');
    this.environment.KUBELET_TS_CONFIG = own;
    writeFileSync(this.logPath, '');
    writeFileSync(join(this.base, 'config.yaml'), JSON.stringify({ ...this.configuration(), ...settings }));
  }

  /** Prepares one in directories of that name; it does not run yet. @param settings further fields of its configuration */
  static async prepare(containerd: PrivateContainerd, name = 'node', settings: object = {}): Promise<KubeletProcess> {
    return new KubeletProcess(containerd, name, await freePort(), settings);
  }

  private get logPath(): string {
    return join(this.base, 'kubelet.log');
  }

  private configuration(): object {
    return {
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      staticPodPath: this.manifests,
      podLogsDir: this.podLogs,
      containerRuntimeEndpoint: this.containerd.endpoint,
      cgroupRoot: this.containerd.cgroupRoot,
      cgroupDriver: 'cgroupfs',
      failCgroupV1: false,
      failSwapOn: false,
      // How full the host is must not end pods of tests that are about something else.
      evictionHard: {},
      healthzPort: this.port,
      enableServer: false,
      authentication: { anonymous: { enabled: false }, webhook: { enabled: false } },
      authorization: { mode: 'AlwaysAllow' },
      logging: { format: 'json' },
    };
  }

  /** Settings on top of its configuration, from its next start on. */
  configure(more: object): void {
    writeFileSync(join(this.base, 'config.yaml'), JSON.stringify({ ...(this.configuration() as object), ...more }));
  }

  /** Processor time that it has used so far, of all its threads. */
  get cpuSeconds(): number {
    const fields = readFileSync(`/proc/${this.pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
  }

  /** Of its loopback listener. */
  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get pid(): number {
    const pid = this.child?.pid;
    if (pid === undefined) throw new Error('the kubelet does not run');
    return pid;
  }

  /** Starts the process; whether it comes up is another question. */
  spawn(): void {
    const log = openSync(this.logPath, 'a');
    const args = ['--root-dir', this.root, '--config', join(this.base, 'config.yaml'), '--hostname-override', nodeName, ...this.flags];
    const child = spawn(process.execPath, [this.program, ...args], { stdio: ['ignore', log, log], env: { ...process.env, ...this.environment } });
    closeSync(log);
    this.child = child;
    this.exited = new Promise((resolve) => child.once('exit', (code) => resolve(code)));
  }

  /** Starts it and waits until it says that it is well. */
  async start(): Promise<void> {
    this.spawn();
    const child = this.child;
    await this.until('the kubelet is well', async () => child?.exitCode !== null || (await this.health()) === 200);
    if (child?.exitCode !== null) throw new Error(`the kubelet ended with ${String(child?.exitCode)}\n${this.log}`);
  }

  /** Ends it as nothing that can be prepared for does. */
  async kill(): Promise<void> {
    this.child?.kill('SIGKILL');
    await this.ended();
  }

  /** Sends SIGTERM; its containers keep running. */
  async stop(): Promise<Exit> {
    this.child?.kill('SIGTERM');
    return await this.ended();
  }

  /** Resolves when it has ended. */
  async ended(): Promise<Exit> {
    const code = await this.exited;
    this.child = null;
    return code;
  }

  /** Puts a manifest into its directory, whole at once, as tools that manage static pods do. */
  apply(file: string, manifest: object | string): void {
    const staged = join(this.base, 'staged', String(this.staged++));
    writeFileSync(staged, typeof manifest === 'string' ? manifest : JSON.stringify(manifest));
    renameSync(staged, join(this.manifests, file));
  }

  withdraw(file: string): void {
    rmSync(join(this.manifests, file), { recursive: true });
  }

  /** The HTTP status of /healthz; null: no answer. */
  async health(): Promise<number | null> {
    return (await this.get('/healthz'))?.status ?? null;
  }

  async pods(): Promise<readonly Pod[]> {
    const answer = await this.get('/pods');
    if (answer === null) throw new Error('the kubelet does not answer');
    // No items are null, as Go encodes them.
    return ((await answer.json()) as { readonly items: readonly Pod[] | null }).items ?? [];
  }

  /** A static pod by the name in its manifest; null when the kubelet has none. */
  async pod(name: string): Promise<Pod | null> {
    return (await this.pods()).find(({ metadata }) => metadata.name === `${name}-${nodeName}`) ?? null;
  }

  /** Waits until a pod is as it should be, and returns it. */
  async untilPod(name: string, holds: (pod: Pod) => boolean, what = 'is as expected'): Promise<Pod> {
    let last: Pod | null = null;
    await this.until(
      `pod ${name} ${what}`,
      async () => {
        last = await this.pod(name);
        return last !== null && holds(last);
      },
      defaultUntilMs,
      () => JSON.stringify(last?.status ?? null),
    );
    return last as unknown as Pod;
  }

  untilRunning(name: string): Promise<Pod> {
    return this.untilPod(name, isRunning, 'runs');
  }

  async untilAbsent(name: string): Promise<void> {
    await this.until(`pod ${name} is gone`, async () => (await this.pod(name)) === null);
  }

  /** Asks again until it holds; fails with the kubelet's last words. */
  async until(what: string, holds: () => Promise<boolean> | boolean, timeoutMs = defaultUntilMs, seen: () => string = () => ''): Promise<void> {
    const end = Date.now() + timeoutMs;
    for (;;) {
      let problem = '';
      try {
        if (await holds()) return;
      } catch (error) {
        problem = String(error);
      }
      if (Date.now() > end) {
        const lines = this.logLines().slice(-shownLines).map(shortLine);
        throw new Error(`not within ${timeoutMs} ms: ${what} ${problem} ${seen()}\n${lines.join('\n')}`);
      }
      await delay(pollMs);
    }
  }

  get log(): string {
    return readFileSync(this.logPath, 'utf8');
  }

  /** What it logged, over all its lives. */
  logLines(): LogLine[] {
    return this.log
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as LogLine);
  }

  /** Its events about a pod, oldest first. */
  events(name: string): LogLine[] {
    return this.logLines().filter(({ msg, object }) => msg === 'Event occurred' && typeof object === 'string' && object.endsWith(`/${name}-${nodeName}`));
  }

  private async get(path: string): Promise<Response | null> {
    try {
      return await fetch(`${this.url}${path}`, { signal: AbortSignal.timeout(10_000) });
    } catch {
      return null;
    }
  }
}

/** What a test puts into a manifest. */
export function manifest(name: string, spec: object, metadata: object = {}): object {
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'default', ...metadata }, spec: { hostNetwork: true, terminationGracePeriodSeconds: 1, ...spec } };
}

/** A container that runs a shell script. `exec` or a trap is the script's business: a shell as process 1 ignores SIGTERM. */
export function scripted(containerd: PrivateContainerd, name: string, script: string, more: object = {}): object {
  return { name, image: containerd.images.busybox, command: ['sh', '-c', script], ...more };
}

/** A container that waits for ever and ends at once when it is asked to. */
export function pausing(containerd: PrivateContainerd, name = 'main'): object {
  return { name, image: containerd.images.pause };
}

export function isRunning({ status }: Pod): boolean {
  const containers = status?.containerStatuses ?? [];
  return status?.phase === 'Running' && containers.length > 0 && containers.every(({ state }) => state?.running != null);
}

/** A container's status, regular or init. */
export function statusOf(pod: Pod, containerName: string): ContainerStatus {
  const all = [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])];
  const found = all.find(({ name }) => name === containerName);
  if (found === undefined) throw new Error(`no status of container ${containerName}: ${JSON.stringify(pod.status)}`);
  return found;
}

/** The runtime's id of a container. */
export function idOf(pod: Pod, containerName = 'main'): string {
  return (statusOf(pod, containerName).containerID ?? '').replace('containerd://', '');
}

function shortLine({ ts, level, msg, caller, pid, v, ...fields }: LogLine): string {
  return `${new Date(ts).toISOString().slice(11, 23)} ${level} ${msg} ${JSON.stringify(fields)}`;
}

/** A port of the loopback address that is free now. Nothing else may ask for port 0 and get it before the kubelet does, so it is not certain. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}
