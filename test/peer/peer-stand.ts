// A real control plane, a private containerd and one node whose kubelet is the Go one or this project's, for a suite that runs in the
// namespaces of namespaces.ts. Invariant: both kubelets get the same flags, files and directories, so that one can take over from the other.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parse, stringify } from 'yaml';
import { AdminClient, collectionOf, type Json } from './admin-client.js';

const bundle = fileURLToPath(new URL('../../bundle/kubelet-ts.mjs', import.meta.url));
const pollMs = 100;
/** For a machine with other load; nothing waits this long unless it fails. */
const patienceMs = 240_000;
const shownLines = 12;
const shownWidth = 300;

export const nodeName = 'lab-node';
export const busybox = 'registry.k8s.io/e2e-test-images/busybox:1.37.0-1';
export const pause = 'registry.k8s.io/pause:3.10';

/** Which kubelet runs on the node. */
export type Which = 'go' | 'ours';

export interface Said {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export class PeerStand {
  readonly root = '/var/lib/kubelet';
  readonly kubeconfig: string;
  readonly manifests: string;
  readonly podLogs: string;
  private kubelet: ChildProcess | null = null;
  private exited: Promise<number | null> = Promise.resolve(null);
  private lives = 0;
  private spawnedAt = 0;

  private constructor(
    readonly directory: string,
    private readonly scripts: string,
    readonly cgroupRoot: string,
    readonly client: AdminClient,
  ) {
    this.kubeconfig = join(directory, 'cluster/admin.conf');
    this.manifests = join(directory, 'manifests');
    this.podLogs = join(directory, 'pod-logs');
  }

  /** Starts everything but a kubelet. @param settings further fields of the kubelet's configuration @param variables KCM_ARGS and others that cluster.sh knows */
  static up(settings: object = {}, variables: Readonly<Record<string, string>> = {}): PeerStand {
    const { PEER: directory, KUBE_PEER: scripts, PEER_CGROUP_ROOT: cgroupRoot } = process.env;
    if (directory === undefined || scripts === undefined || cgroupRoot === undefined) throw new Error('a stand runs inside the namespaces that runInside makes');
    // Of an earlier stand of this process.
    for (const path of [...['cluster/etcd', 'containerd', 'pod-logs'].map((name) => join(directory, name)), '/var/lib/kubelet', '/var/lib/cni']) emptied(path);
    execFileSync('bash', [join(resolve(scripts), 'peer.sh'), 'up'], { stdio: ['ignore', 'ignore', 'inherit'], timeout: patienceMs, env: { ...process.env, ...variables } });
    const stand = new PeerStand(directory, resolve(scripts), cgroupRoot, new AdminClient(join(directory, 'cluster/pki')));
    makeCgroupRoot(cgroupRoot);
    stand.configure(settings);
    return stand;
  }

  /** Changes fields of the configuration, from the next start on. */
  configure(settings: object): void {
    const file = join(this.directory, 'kubelet.yaml');
    const own = { cgroupRoot: this.cgroupRoot, volumePluginDir: join(this.directory, 'volume-plugins') };
    writeFileSync(file, stringify({ ...(parse(readFileSync(file, 'utf8')) as object), ...own, ...settings }));
  }

  /** Starts a kubelet and waits until it has reported the node ready. */
  async start(which: Which = defaultKubelet(), flags: readonly string[] = []): Promise<void> {
    this.spawn(which, flags);
    await this.untilReady();
  }

  /** Waits until the kubelet that runs has reported the node ready, and pods are accepted. */
  async untilReady(): Promise<void> {
    await this.until('the node is ready', async () => {
      if (this.kubelet?.exitCode !== null) throw new Error(`the kubelet ended with ${this.kubelet?.exitCode}`);
      if ((await this.client.kubelet('/healthz')).status !== 200) return false;
      const lease = await this.client.get('/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/lab-node');
      const node = await this.client.get('/api/v1/nodes/lab-node');
      // Pods are refused before a controller has made it.
      if ((await this.client.api('GET', '/api/v1/namespaces/default/serviceaccounts/default')).status !== 200) return false;
      return Date.parse(lease.spec.renewTime) > this.spawnedAt && node.status.conditions.some((one: Json) => one.type === 'Ready' && one.status === 'True');
    });
  }

  /** Starts a kubelet; whether it comes up is another question. */
  spawn(which: Which = defaultKubelet(), flags: readonly string[] = []): void {
    if (this.kubelet !== null) throw new Error('a kubelet runs already');
    const log = openSync(this.logPath(++this.lives), 'a');
    const program = which === 'go' ? [join(this.directory, 'bin/kubelet')] : [process.execPath, bundle];
    const kubeconfig = join(this.directory, 'cluster/kubelet-lab-node.conf');
    const given = [`--hostname-override=${nodeName}`, '--node-ip=10.90.0.1', `--config=${join(this.directory, 'kubelet.yaml')}`, `--root-dir=${this.root}`];
    if (!flags.some((flag) => flag.startsWith('--kubeconfig='))) given.unshift(`--kubeconfig=${kubeconfig}`);
    const child = spawn(program[0] as string, [...program.slice(1), ...given, ...flags], { stdio: ['ignore', log, log] });
    closeSync(log);
    this.kubelet = child;
    this.spawnedAt = Date.now();
    this.exited = new Promise((settle) => child.once('exit', (code) => settle(code)));
  }

  /** Ends the kubelet; its pods run on. Resolves with its exit status, null after a signal. */
  async stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<number | null> {
    this.kubelet?.kill(signal);
    const code = await this.exited;
    this.kubelet = null;
    return code;
  }

  /** Resolves when the kubelet has ended by itself. */
  async ended(): Promise<number | null> {
    const code = await this.exited;
    this.kubelet = null;
    return code;
  }

  /** Of all kubelets that ran, or of the last one alone. */
  log(which: 'all' | 'last' = 'all'): string {
    const lives = which === 'all' ? Array.from({ length: this.lives }, (_, i) => i + 1) : [this.lives];
    return lives.map((life) => readFileSync(this.logPath(life), 'utf8')).join('');
  }

  private lastLines(): string {
    if (this.lives === 0) return '';
    return this.log('last')
      .split('\n')
      .slice(-shownLines)
      .map((line) => line.slice(0, shownWidth))
      .join('\n');
  }

  private logPath(life: number): string {
    return join(this.directory, `kubelet-${life}.log`);
  }

  /** Ends everything that a reboot of the node ends, and starts the runtime again; the control plane stays. The kubelet must have ended. */
  async reboot(): Promise<void> {
    const state = join(this.directory, 'containerd');
    process.kill(Number(readFileSync(join(state, 'pid'), 'utf8')), 'SIGKILL');
    await this.until('no process of the node is left', () => {
      const alive = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && isOfNode(Number(name), this.cgroupRoot));
      for (const pid of alive) process.kill(Number(pid), 'SIGKILL');
      return alive.length === 0;
    });
    const below = mountpoints().filter((place) => [`${this.root}/`, `${state}/state`, '/run/'].some((prefix) => place.startsWith(prefix)));
    for (const place of below.reverse()) execFileSync('umount', ['-l', place]);
    rmSync(join(state, 'state'), { recursive: true, force: true });
    for (const name of readdirSync('/run')) rmSync(join('/run', name), { recursive: true, force: true });
    rmSync(join(state, 'c.sock'), { force: true });
    execFileSync('bash', [join(this.scripts, 'containerd.sh'), 'up'], { stdio: 'ignore', env: { ...process.env, CTR: state }, timeout: patienceMs });
  }

  /** Ends or starts kube-apiserver alone. */
  async stopApiserver(): Promise<void> {
    const pid = Number(readFileSync(join(this.directory, 'cluster/log/apiserver.pid'), 'utf8'));
    process.kill(pid, 'SIGKILL');
    await this.until('the apiserver is gone', async () => !existsSync(`/proc/${pid}/exe`));
  }

  /** With the command line that it had. @param commandLine as `apiserverCommand` gave it */
  startApiserver(commandLine: readonly string[]): void {
    const log = openSync(join(this.directory, 'cluster/log/apiserver.log'), 'a');
    const child = spawn(commandLine[0] as string, commandLine.slice(1), { cwd: join(this.directory, 'cluster'), stdio: ['ignore', log, log], detached: true });
    closeSync(log);
    child.unref();
    writeFileSync(join(this.directory, 'cluster/log/apiserver.pid'), String(child.pid));
  }

  apiserverCommand(): string[] {
    const pid = readFileSync(join(this.directory, 'cluster/log/apiserver.pid'), 'utf8').trim();
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
      .split('\0')
      .filter((word) => word !== '');
  }

  /** Runs kubectl as the cluster's administrator. */
  kubectl(words: readonly string[], input: string | object = ''): Promise<Said> {
    return new Promise((settle, reject) => {
      const child = this.kubectlProcess(words);
      const out: Buffer[] = [];
      const err: Buffer[] = [];
      child.stdout?.on('data', (chunk: Buffer) => out.push(chunk));
      child.stderr?.on('data', (chunk: Buffer) => err.push(chunk));
      child.once('error', reject);
      child.once('close', (code) => settle({ code, out: Buffer.concat(out).toString(), err: Buffer.concat(err).toString() }));
      child.stdin?.end(typeof input === 'string' ? input : JSON.stringify(input));
    });
  }

  /** One that the caller feeds, reads and ends. */
  kubectlProcess(words: readonly string[], variables: Readonly<Record<string, string>> = {}): ChildProcess {
    return spawn('kubectl', ['--kubeconfig', this.kubeconfig, ...words], { stdio: ['pipe', 'pipe', 'pipe'], env: { ...process.env, ...variables } });
  }

  /** kubectl that must succeed; returns what it printed. */
  async ok(words: readonly string[], input: string | object = ''): Promise<string> {
    const { code, out, err } = await this.kubectl(words, input);
    if (code !== 0) throw new Error(`kubectl ${words.join(' ')}: ${code}: ${err}${out}`);
    return out;
  }

  /** Asks again until it holds; fails with the last problem and the kubelet's last lines. */
  async until(what: string, holds: () => Promise<boolean> | boolean, timeoutMs = patienceMs): Promise<void> {
    const end = Date.now() + timeoutMs;
    for (;;) {
      let problem = '';
      try {
        if (await holds()) return;
      } catch (error) {
        problem = String(error);
      }
      if (Date.now() > end) throw new Error(`not within ${timeoutMs} ms: ${what} ${problem}\n${this.lastLines()}`);
      await delay(pollMs);
    }
  }

  /** The pods of a label selector, as the API has them now. */
  async pods(selector: string, namespace = 'default'): Promise<Json[]> {
    return (await this.client.get(`/api/v1/namespaces/${namespace}/pods?labelSelector=${encodeURIComponent(selector)}`)).items;
  }

  async untilPod(name: string, what: string, holds: (pod: Json) => boolean, namespace = 'default'): Promise<Json> {
    let last: Json = null;
    try {
      await this.until(`pod ${name} ${what}`, async () => {
        last = await this.client.get(`/api/v1/namespaces/${namespace}/pods/${name}`);
        return holds(last);
      });
    } catch (error) {
      throw new Error(`${String(error)}\n${JSON.stringify(last?.status)}`);
    }
    return last;
  }

  /** Creates objects, those without a namespace in `default`. */
  async create(...objects: Json[]): Promise<void> {
    for (const object of objects) {
      const { status, text } = await this.client.api('POST', collectionOf(object), object);
      if (status !== 201) throw new Error(`create ${object.kind} ${object.metadata.name}: ${status} ${text}`);
    }
  }

  async down(): Promise<void> {
    await this.stop();
    this.client.close();
    execFileSync('bash', [join(this.scripts, 'peer.sh'), 'down'], { stdio: 'ignore' });
  }
}

/** KUBE_PEER_KUBELET=go tries a flow on the Go kubelet: what fails there, too, is a fault of the flow. */
function defaultKubelet(): Which {
  return process.env.KUBE_PEER_KUBELET === 'go' ? 'go' : 'ours';
}

export function isGo(): boolean {
  return defaultKubelet() === 'go';
}

/** The Go kubelet refuses a cgroup root that isn't there, and a cpuset without CPUs takes no process. */
function makeCgroupRoot(cgroupRoot: string): void {
  for (const [hierarchy] of cgroupHierarchies()) {
    const path = join(hierarchy as string, cgroupRoot);
    mkdirSync(path, { recursive: true });
    for (const file of ['cpuset.cpus', 'cpuset.mems']) {
      if (existsSync(join(path, file))) writeFileSync(join(path, file), readFileSync(join(hierarchy as string, file)));
    }
  }
}

function emptied(directory: string): void {
  for (const name of existsSync(directory) ? readdirSync(directory) : []) rmSync(join(directory, name), { recursive: true, force: true });
}

/** True for a process of a pod, for containerd and its shims. */
function isOfNode(pid: number, cgroupRoot: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/cgroup`, 'utf8').includes(`:${cgroupRoot}/`) || /^containerd/.test(readFileSync(`/proc/${pid}/comm`, 'utf8'));
  } catch {
    return false;
  }
}

function mountpoints(): string[] {
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '');
}

function cgroupHierarchies(): string[][] {
  return readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' '))
    .filter(([, , type]) => type === 'cgroup' || type === 'cgroup2')
    .map(([, path]) => [path as string]);
}
