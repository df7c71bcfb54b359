// Removes everything that a private containerd and its containers left on the machine, found by the run's own directory and network name.
// Invariant: touches only objects with that directory or name; every step runs, and running it again is harmless.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmdirSync, rmSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';

const killTimeMs = 10_000;
const pollMs = 20;
const cniResults = '/var/lib/cni/results';

export interface Leftovers {
  readonly processes: readonly number[];
  readonly mounts: readonly string[];
  /** Loop devices that show a file of the run's, and those over such a device. */
  readonly loops: readonly string[];
  readonly bridge: boolean;
  readonly cgroups: readonly string[];
  readonly natRules: readonly string[];
}

export interface RunNames {
  readonly path: string;
  readonly network: string;
  /** The cgroup below which kubelets of this run put their pods, from the root of each hierarchy. */
  readonly cgroupRoot: string;
}

/** The leftovers of a run. */
export function leftoversOf(run: RunNames): Leftovers {
  return {
    processes: processesOf(run.path),
    mounts: mountsBelow(run.path),
    loops: loopsBelow(run.path),
    bridge: existsSync(`/sys/class/net/${run.network}`),
    cgroups: cgroupsOf(run),
    natRules: natRulesOf(run.network),
  };
}

/** Synchronous, so that it also runs while the process exits. Throws when a process survives. */
export function removeEverythingOf(run: RunNames): void {
  const bundles = bundlesOf(run.path);
  const shimSockets = shimSocketsOf(bundles);
  const cgroups = cgroupsOf(run);
  endProcesses(run.path, cgroups);
  // One that is still mounted goes with its mount.
  for (const loop of loopsBelow(run.path)) spawnSync('losetup', ['--detach', loop]);
  for (const mount of mountsBelow(run.path).reverse()) spawnSync('umount', ['-l', mount]);
  if (existsSync(`/sys/class/net/${run.network}`)) spawnSync('ip', ['link', 'delete', run.network]);
  for (const rule of natRulesOf(run.network)) removeNatRule(rule);
  for (const cgroup of cgroups) removeCgroup(cgroup);
  for (const socket of shimSockets) rmSync(socket, { force: true });
  for (const name of cniResultsOf(run.network, bundles)) rmSync(join(cniResults, name), { force: true });
  // A process that ends may still write a file between the listing of a directory and its removal.
  rmSync(run.path, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
}

/** containerd, its shims and a test's kubelets have the directory in their arguments; a container's processes have it in their mounts. */
function processesOf(path: string): number[] {
  return numericNames('/proc').filter((pid) => {
    if (pid === process.pid) return false;
    const commandLine = read(`/proc/${pid}/cmdline`);
    if (commandLine === '') return false; // ended but not yet reaped, or a kernel thread
    return /^[^\0]*containerd|\/kubelet-ts\.mjs\0/.test(commandLine) ? commandLine.includes(`${path}/`) : rootIsBelow(pid, path);
  });
}

/** True when the process's root file system is an overlay (or a bind) kept in `path`. */
function rootIsBelow(pid: number, path: string): boolean {
  const root = read(`/proc/${pid}/mountinfo`)
    .split('\n')
    .find((line) => line.split(' ')[4] === '/');
  return root?.includes(`${path}/`) ?? false;
}

function endProcesses(path: string, cgroups: readonly string[]): void {
  const end = Date.now() + killTimeMs;
  for (;;) {
    const alive = new Set([...processesOf(path), ...cgroups.flatMap(processesInCgroup)]);
    if (alive.size === 0) return;
    if (Date.now() > end) throw new Error(`${path}: processes ${[...alive].join(', ')} survive SIGKILL`);
    for (const pid of alive) kill(pid);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pollMs);
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Directories of the containers that have, or had, a task. */
function bundlesOf(path: string): string[] {
  const tasks = join(path, 'state/io.containerd.runtime.v2.task');
  return namesIn(tasks).flatMap((namespace) => namesIn(join(tasks, namespace)).map((id) => join(tasks, namespace, id)));
}

function shimSocketsOf(bundles: readonly string[]): string[] {
  return bundles
    .map((bundle) =>
      read(join(bundle, 'address'))
        .trim()
        .replace(/^unix:\/\//, ''),
    )
    .filter((socket) => socket.startsWith('/run/containerd/s/'));
}

/** What the CNI library notes for a sandbox: for its network, and for the loopback network that all have. */
function cniResultsOf(network: string, bundles: readonly string[]): string[] {
  return namesIn(cniResults).filter((name) => name.startsWith(`${network}-`) || bundles.some((bundle) => name.includes(`-${basename(bundle)}-`)));
}

/** The run's own cgroup, and cgroups outside of it that containers requested in their bundles; in every hierarchy that has them. */
function cgroupsOf(run: RunNames): string[] {
  const hierarchies = linesOf(read('/proc/self/mounts'))
    .map((line) => line.split(' '))
    .filter(([, , type]) => type === 'cgroup' || type === 'cgroup2')
    .map(([, mountpoint]) => mountpoint as string);
  const asked = bundlesOf(run.path).map((bundle) => {
    const config = read(join(bundle, 'config.json'));
    return config === '' ? undefined : (JSON.parse(config) as { linux?: { cgroupsPath?: string } }).linux?.cgroupsPath;
  });
  const paths = asked.filter((path) => path?.startsWith('/') && path.length > 1 && !path.startsWith(`${run.cgroupRoot}/`)) as string[];
  return [run.cgroupRoot, ...paths].flatMap((path) => hierarchies.map((mountpoint) => join(mountpoint, path))).filter((path) => existsSync(path));
}

function childrenOf(cgroup: string): string[] {
  if (!existsSync(cgroup)) return [];
  return readdirSync(cgroup, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(cgroup, name));
}

function processesInCgroup(cgroup: string): number[] {
  return [...linesOf(read(join(cgroup, 'cgroup.procs'))).map(Number), ...childrenOf(cgroup).flatMap(processesInCgroup)];
}

function removeCgroup(cgroup: string): void {
  for (const child of childrenOf(cgroup)) removeCgroup(child);
  if (existsSync(cgroup)) rmdirSync(cgroup);
}

function mountsBelow(path: string): string[] {
  return linesOf(read('/proc/self/mountinfo'))
    .map((line) => line.split(' ')[4] as string)
    .filter((mountpoint) => mountpoint.startsWith(`${path}/`));
}

/** Those over others come first: a device that another one holds open is only let go with that one. */
export function loopsBelow(path: string): string[] {
  const found = namesIn('/sys/block').flatMap((name) => (read(`/sys/block/${name}/loop/backing_file`).startsWith(`${path}/`) ? [`/dev/${name}`] : []));
  if (found.length === 0) return found;
  const devices = loopDevices();
  // A device's file that was bind-mounted below the path shows as `/` once that mount is detached: such a loop device is found by its file.
  for (let known = new Set(found); ; known = new Set(found)) {
    const files = new Set(found.map(fileOf));
    found.unshift(...devices.flatMap(({ name, file }) => (files.has(file) && !known.has(name) ? [name] : [])));
    if (found.length === known.size) return found;
  }
}

/** Each with the file that it shows, as `fileOf` names it. */
function loopDevices(): { readonly name: string; readonly file: string }[] {
  const { stdout } = spawnSync('losetup', ['--list', '--noheadings', '--raw', '--output', 'NAME,BACK-MAJ:MIN,BACK-INO'], { encoding: 'utf8' });
  return linesOf(stdout ?? '').map((line) => {
    const [name = '', device = '', inode = ''] = line.split(/\s+/);
    // Its columns are padded, and the padding is escaped.
    return { name, file: `${device.replaceAll('\\x20', '')} ${inode}` };
  });
}

/** The file system and inode of a path, as losetup writes them; a path that is gone is no device's file. */
function fileOf(path: string): string {
  try {
    const { dev, ino } = statSync(path);
    // As the kernel packs a device number: twelve bits of the major one, twenty of the minor one, apart.
    const [major, minor] = [(dev >> 8) & 0xfff, (dev & 0xff) | ((dev >> 12) & 0xfff00)];
    return `${major}:${minor} ${ino}`;
  } catch {
    return path;
  }
}

/** The portmap plugin marks its rules with the network's name. */
function natRulesOf(network: string): string[] {
  const { stdout } = spawnSync('iptables-save', ['-t', 'nat'], { encoding: 'utf8' });
  return linesOf(stdout ?? '').filter((line) => line.startsWith('-A ') && line.includes(`name: \\"${network}\\"`));
}

function removeNatRule(rule: string): void {
  const words = [...rule.matchAll(/"((?:[^"\\]|\\.)*)"|(\S+)/g)].map(([, quoted, bare]) => quoted?.replace(/\\(.)/g, '$1') ?? bare ?? '');
  spawnSync('iptables', ['-t', 'nat', '-D', ...words.slice(1)]);
  const chain = words[words.indexOf('-j') + 1] ?? '';
  if (!/^CNI-(DN|SN)-/.test(chain)) return;
  spawnSync('iptables', ['-t', 'nat', '-F', chain]);
  spawnSync('iptables', ['-t', 'nat', '-X', chain]);
}

function numericNames(directory: string): number[] {
  return namesIn(directory)
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

function namesIn(directory: string): string[] {
  return existsSync(directory) ? readdirSync(directory) : [];
}

/** Empty when the file is gone, as files of /proc are once their process is. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function linesOf(text: string): string[] {
  return text.split('\n').filter((line) => line !== '');
}
