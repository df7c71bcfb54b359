// A containerd of a test's own: own root, state, socket, CNI network and images, beside all other programs of the machine.
// Invariant: after `stop`, after the process's exit, and at the latest at the next start (when the process was killed) nothing of it is left.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { accessSync, constants, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { removeEverythingOf } from './leftovers.js';
import { claimRunDirectory, type RunDirectory } from './run-directory.js';
import { busyboxImage, pauseImage, testImageArchives } from './test-images.js';

const programs = ['containerd', 'containerd-shim-runc-v2', 'ctr', 'runc', 'umoci', 'skopeo', 'cc', 'ip', 'iptables'];
const files = ['/bin/busybox', '/usr/lib/cni/bridge'];
const unusedPlugins = ['aufs', 'btrfs', 'devmapper', 'zfs', 'native'];
const readyTimeMs = 20_000;
const endTimeMs = 20_000;
const pollMs = 10;

/** For `t.test(name, { skip })`: false, or why containerd's tests can't run here. With REQUIRE_CONTAINERD=1 the lack is an error. */
export function skipWithoutContainerd(): string | false {
  const reason = whatIsMissing();
  if (reason !== null && process.env.REQUIRE_CONTAINERD === '1') throw new Error(`REQUIRE_CONTAINERD=1, but ${reason}`);
  return reason === null ? false : `no private containerd: ${reason}`;
}

function whatIsMissing(): string | null {
  if (process.getuid?.() !== 0) return 'only root can run containers';
  const directories = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin'];
  const missing = [...programs.filter((name) => !directories.some((directory) => isExecutable(join(directory, name)))), ...files.filter((file) => !isExecutable(file))];
  if (missing.length > 0) return `${missing.join(', ')} not installed (.ci/run names the Debian packages)`;
  return isStatic('/bin/busybox') ? null : '/bin/busybox is dynamically linked (Debian: busybox-static)';
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** The header of a dynamically linked ELF file contains the loader's name. */
function isStatic(path: string): boolean {
  return !readFileSync(path).subarray(0, 4096).includes('/ld-linux');
}

export class PrivateContainerd {
  readonly images = { busybox: busyboxImage, pause: pauseImage };
  private daemon: ChildProcess | null = null;
  private readonly onExit = (): void => removeEverythingOf(this.run);

  private constructor(private readonly run: RunDirectory) {
    process.once('exit', this.onExit);
  }

  /** Starts one and imports the images; `config` is TOML that goes to the end of its configuration. */
  static async start(config = ''): Promise<PrivateContainerd> {
    const archives = testImageArchives();
    const containerd = new PrivateContainerd(claimRunDirectory());
    try {
      containerd.writeConfiguration(config);
      await containerd.startDaemon();
      for (const archive of archives) containerd.ctr('images', 'import', archive);
    } catch (error) {
      await containerd.stop();
      throw error;
    }
    return containerd;
  }

  /** Holds all of it; a test may put its own directories (kubelet root, logs) below. */
  get directory(): string {
    return this.run.path;
  }

  get socket(): string {
    return join(this.run.path, 'containerd.sock');
  }

  /** As a kubelet's containerRuntimeEndpoint. */
  get endpoint(): string {
    return `unix://${this.socket}`;
  }

  /** Name of the CNI network and of its bridge. */
  get network(): string {
    return this.run.network;
  }

  get podCidr(): string {
    return this.run.podCidr;
  }

  /** For a kubelet's cgroupRoot and a sandbox's cgroup parent; it goes with the rest. */
  get cgroupRoot(): string {
    return this.run.cgroupRoot;
  }

  /** What the daemon wrote to its log so far. */
  get log(): string {
    return readFileSync(join(this.run.path, 'containerd.log'), 'utf8');
  }

  /** Starts a container in the background that no kubelet knows, as another program on the node would. */
  runUnmanaged(image: string, id: string, ...command: string[]): void {
    this.ctr('run', '--detach', '--runc-root', join(this.run.path, 'runc'), '--cgroup', join(this.cgroupRoot, 'unmanaged', id), image, id, ...command);
  }

  /** Runs `ctr` in the namespace of the kubelet; returns what it prints, throws when it fails. */
  ctr(...args: string[]): string {
    return execFileSync('ctr', ['--address', this.socket, '--namespace', 'k8s.io', ...args], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], timeout: 60_000 });
  }

  /** Starts the daemon again after `stopDaemon`; resolves when its socket answers. */
  async startDaemon(): Promise<void> {
    const log = openSync(join(this.run.path, 'containerd.log'), 'a');
    const path = `${process.env.PATH ?? ''}${delimiter}/usr/sbin${delimiter}/sbin`;
    const daemon = spawn('containerd', ['--config', join(this.run.path, 'config.toml')], { stdio: ['ignore', log, log], env: { ...process.env, PATH: path } });
    this.daemon = daemon;
    const end = Date.now() + readyTimeMs;
    while (!(await this.answers())) {
      if (daemon.exitCode !== null || Date.now() > end) throw new Error(`containerd does not answer on ${this.socket}:\n${this.log.slice(-2000)}`);
      await delay(pollMs);
    }
  }

  /** Ends the daemon alone, as a crash would with 'SIGKILL': containers and shims live on. */
  async stopDaemon(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    const daemon = this.daemon;
    this.daemon = null;
    if (daemon === null || daemon.exitCode !== null || daemon.signalCode !== null) return;
    const exited = new Promise<void>((resolve) => daemon.once('exit', () => resolve()));
    daemon.kill(signal);
    const late = setTimeout(() => daemon.kill('SIGKILL'), endTimeMs);
    await exited;
    clearTimeout(late);
  }

  async restart(): Promise<void> {
    await this.stopDaemon();
    await this.startDaemon();
  }

  /** Ends the daemon and every container, and removes all traces. */
  async stop(): Promise<void> {
    await this.stopDaemon('SIGKILL');
    removeEverythingOf(this.run);
    process.off('exit', this.onExit);
  }

  private answers(): Promise<boolean> {
    return new Promise((resolve) => {
      const socket = connect(this.socket, () => {
        socket.destroy();
        resolve(true);
      });
      socket.once('error', () => resolve(false));
    });
  }

  private writeConfiguration(extra: string): void {
    const { path, network, podCidr } = this.run;
    const plugins = [
      {
        type: 'bridge',
        bridge: network,
        isGateway: true,
        hairpinMode: true,
        ipam: { type: 'host-local', dataDir: join(path, 'ipam'), ranges: [[{ subnet: podCidr }]], routes: [{ dst: '0.0.0.0/0' }] },
      },
      { type: 'portmap', capabilities: { portMappings: true } },
    ];
    mkdirSync(join(path, 'cni'));
    writeFileSync(join(path, 'cni', '10-network.conflist'), JSON.stringify({ cniVersion: '1.0.0', name: network, plugins }));
    writeFileSync(join(path, 'config.toml'), `${configuration(path)}\n${extra}\n`);
  }
}

/** Network namespaces and runc's records, which containers of all daemons share by default, stay below `path` and go with it. */
function configuration(path: string): string {
  return `version = 2
root = "${path}/root"
state = "${path}/state"
disabled_plugins = [${unusedPlugins.map((name) => `"io.containerd.snapshotter.v1.${name}"`).join(', ')}]
[grpc]
  address = "${path}/containerd.sock"
[plugins."io.containerd.internal.v1.opt"]
  path = "${path}/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${pauseImage}"
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  stream_server_address = "127.0.0.1"
  stream_server_port = "0"
[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "/usr/lib/cni"
  conf_dir = "${path}/cni"
[plugins."io.containerd.grpc.v1.cri".containerd]
  snapshotter = "overlayfs"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
  Root = "${path}/runc"`;
}
