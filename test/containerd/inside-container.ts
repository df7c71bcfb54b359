// Inspects a running container without kubelet and runtime: its processes in /proc, its files, its mounts, its cgroups.
import { execFileSync } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { Pod } from '../../src/ports/model/pod.js';
import { idOf } from './kubelet-process.js';
import type { TestNode } from './test-node.js';

export class InsideContainer {
  private constructor(
    /** Of its first process, on the host. */
    readonly pid: number,
  ) {}

  /** Fails when the container does not run. */
  static of({ runtime }: TestNode, pod: Pod, containerName = 'main'): InsideContainer {
    return InsideContainer.byId(runtime.processes(), idOf(pod, containerName));
  }

  static byId(processes: ReadonlyMap<string, number>, id: string): InsideContainer {
    const pid = processes.get(id);
    if (pid === undefined) throw new Error(`no process of ${id} runs`);
    return new InsideContainer(pid);
  }

  /** Where the host finds a path of the container. */
  path(path: string): string {
    return `/proc/${this.pid}/root${path}`;
  }

  file(path: string): string {
    return readFileSync(this.path(path), 'utf8');
  }

  private proc(file: string): string {
    return readFileSync(`/proc/${this.pid}/${file}`, 'utf8');
  }

  get commandLine(): string[] {
    return this.proc('cmdline').split('\0').slice(0, -1);
  }

  get environment(): Record<string, string> {
    const entries = this.proc('environ').split('\0').slice(0, -1);
    return Object.fromEntries(entries.map((entry) => [entry.slice(0, entry.indexOf('=')), entry.slice(entry.indexOf('=') + 1)]));
  }

  get workingDirectory(): string {
    return readlinkSync(`/proc/${this.pid}/cwd`);
  }

  /** A line of /proc/PID/status, its fields apart by single spaces. */
  status(field: string): string {
    const line = this.proc('status')
      .split('\n')
      .find((one) => one.startsWith(`${field}:`));
    if (line === undefined) throw new Error(`the kernel tells no ${field}`);
    return line
      .slice(field.length + 1)
      .trim()
      .replace(/\s+/g, ' ');
  }

  oomScoreAdj(): number {
    return Number(this.proc('oom_score_adj'));
  }

  /** Number of a namespace; two processes share it if their numbers are equal. */
  namespace(kind: 'net' | 'pid' | 'ipc' | 'uts' | 'mnt'): string {
    return readlinkSync(`/proc/${this.pid}/ns/${kind}`);
  }

  /** The line of the last mount at a mount point, as the container sees it. */
  mount(path: string): string | undefined {
    return this.proc('mounts')
      .split('\n')
      .findLast((line) => line.split(' ')[1] === path);
  }

  /** Runs a program of the host in namespaces of the container. */
  enter(namespaces: readonly ('uts' | 'net' | 'pid' | 'ipc')[], ...command: string[]): string {
    return execFileSync('nsenter', ['--target', String(this.pid), ...namespaces.map((one) => `--${one}`), '--', ...command], { encoding: 'utf8' });
  }

  /** Directory of its cgroup in a hierarchy of cgroup v1. */
  cgroup(controller: 'cpu' | 'memory' | 'pids'): string {
    const line = this.proc('cgroup')
      .split('\n')
      .find((one) => one.split(':')[1]?.split(',').includes(controller));
    return join('/sys/fs/cgroup', controller, line?.split(':')[2] ?? '');
  }

  cgroupFile(controller: 'cpu' | 'memory' | 'pids', file: string): string {
    return readFileSync(join(this.cgroup(controller), file), 'utf8').trim();
  }
}

/** A shell script that waits for SIGTERM. */
export const waiting = 'trap "exit 0" TERM; while :; do sleep 0.1; done';
