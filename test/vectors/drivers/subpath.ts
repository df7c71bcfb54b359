// subpath: what is allowed, what is made, what is cleaned, and the mounts of a container that uses sub paths.
import { containerMounts, type MountedVolume } from '../../../src/domain/containers/mounts.js';
import type { Question } from '../../../src/domain/volumes/path-resolution.js';
import {
  type MountQuestion,
  type Planned,
  planSubPathCleanup,
  planSubPathDirectory,
  planSubPathMount,
  type Refused,
  subPathPresence,
  subPathTarget,
  type TargetMount,
} from '../../../src/domain/volumes/sub-path.js';
import { subPathDirectoryFailure, subPathMountFailure, subPathUses } from '../../../src/domain/volumes/sub-path-mounts.js';
import type { Container } from '../../../src/ports/model/container.js';
import type { PathEntry, SubPathStep } from '../../../src/ports/outbound/pod-volumes.js';
import { isObject } from '../compare.js';
import type { VectorDriver } from '../driver.js';
import { type LayoutEntry, ModelFileSystem, octal, Refusal } from '../model-file-system.js';

interface Input {
  readonly kind: 'safeMakeDir' | 'prepare' | 'clean' | 'containerMounts';
  readonly layout: readonly LayoutEntry[];
  readonly base?: string;
  readonly subPath?: string;
  readonly perm?: string;
  readonly volumeName?: string;
  readonly containerName?: string;
  readonly volumeMountIndex?: number;
  readonly mounted?: readonly string[];
  readonly container?: Container;
  readonly env?: Readonly<Record<string, string>>;
  readonly volumes?: readonly { readonly name: string; readonly innerName?: string; readonly path: string | null; readonly readOnly?: boolean }[];
}

const root = '/r';
const podDirectory = `${root}/pod`;

class Host {
  readonly files: ModelFileSystem;
  readonly mounted: Set<string>;
  readonly mountCalls: unknown[] = [];

  constructor({ layout, mounted = [] }: Input) {
    this.files = ModelFileSystem.of(root, layout);
    this.mounted = new Set(mounted.map((path) => `${root}/${path}`));
  }

  /** Answers questions until there is a decision. */
  ask<T>(decision: (known: ReadonlyMap<string, PathEntry>, mounted: TargetMount | null) => T | Question | MountQuestion): T {
    const known = new Map<string, PathEntry>();
    let mounted: TargetMount | null = null;
    for (let asked = 0; asked < 1000; asked++) {
      const answer = decision(known, mounted);
      if (!isQuestion(answer)) return answer as T;
      if (answer.kind === 'look') known.set(answer.path, this.look(answer.path));
      else mounted = !this.mounted.has(answer.target) ? 'none' : answer.source === answer.target ? 'same-file' : 'other-file';
    }
    throw new Error('a decision asks for ever');
  }

  carryOut(plan: Refused | Planned): boolean {
    if (plan.kind === 'refused') return false;
    try {
      for (const step of plan.steps) this.carryOutStep(step);
    } catch (error) {
      if (error instanceof Refusal) return false;
      throw error;
    }
    return true;
  }

  carryOutStep(step: SubPathStep): void {
    const { files } = this;
    switch (step.operation) {
      case 'make-directory':
        files.makeDirectory(step.path, step.mode);
        return;
      case 'ensure-directory': {
        const elements = step.path.split('/').slice(1);
        for (let i = 1; i <= elements.length; i++) {
          const path = `/${elements.slice(0, i).join('/')}`;
          if (!files.entries.has(path)) files.makeDirectory(path, step.mode);
        }
        return;
      }
      case 'ensure-file':
        if (files.entries.get(step.path)?.type === 'dir') throw new Refusal(`open ${step.path}: is a directory`);
        if (!files.entries.has(step.path)) files.writeFile(step.path, new Uint8Array(), step.mode);
        return;
      case 'unmount':
        this.mounted.delete(step.path);
        this.mountCalls.push({ action: 'unmount', source: '', target: named(step.path) });
        return;
      case 'bind':
        this.mounted.add(step.target);
        this.mountCalls.push({ action: 'mount', source: '/proc/<pid>/fd/<fd>', target: named(step.target) });
        return;
      case 'remove':
        if (files.entries.get(step.path)?.type === 'dir') files.removeDirectory(step.path);
        else files.unlink(step.path);
        return;
      default:
        if (files.children(step.path).length === 0) files.removeDirectory(step.path);
    }
  }

  tree(below: string, from: string): unknown[] {
    return this.files.below(below).map((path) => shown(path.slice(from.length + 1), this.files, path));
  }

  private look(path: string): PathEntry {
    const entry = this.files.lstat(path);
    if (entry === null) return { kind: 'absent' };
    if (entry.type === 'symlink') return { kind: 'symlink', target: entry.target };
    return { kind: entry.type === 'dir' ? 'directory' : entry.type === 'file' ? 'file' : 'other' };
  }
}

function isQuestion(answer: unknown): answer is Question | MountQuestion {
  return isObject(answer) && (answer['kind'] === 'look' || answer['kind'] === 'compare');
}

function named(path: string): string {
  return path.replace(new RegExp(`^${root}(?=/|$)`), '<root>');
}

function shown(path: string, files: ModelFileSystem, at: string): unknown {
  const { type, mode, target } = files.entries.get(at)!;
  return type === 'symlink' ? { path, type, target } : { path, type, mode: octal(mode) };
}

function makeDirectory(host: Host, { base = '', subPath = '', perm = '0' }: Input): unknown {
  const before = new Set(host.files.entries.keys());
  const allowed = host.carryOut(host.ask((known) => planSubPathDirectory(`${root}/${base}`, subPath, Number.parseInt(perm, 8), known)));
  const created = host.files.below(root).filter((path) => !before.has(path));
  return { allowed, created: created.map((path) => shown(path.slice(root.length + 1), host.files, path)) };
}

function prepare(host: Host, { base = '', subPath = '', volumeName = '', containerName = '', volumeMountIndex = 0 }: Input): unknown {
  const target = subPathTarget(podDirectory, volumeName, containerName, volumeMountIndex);
  const allowed = host.carryOut(host.ask((known, mounted) => planSubPathMount({ volumePath: `${root}/${base}`, subPath, target }, known, mounted)));
  return { allowed, ...(allowed ? { hostPath: named(target) } : {}), mountCalls: host.mountCalls, podTree: host.tree(podDirectory, podDirectory) };
}

function clean(host: Host, { volumeName = '' }: Input): unknown {
  const { files } = host;
  const directory = `${podDirectory}/volume-subpaths/${volumeName}`;
  const containers = files.children(directory).map((name) => {
    const container = `${directory}/${name}`;
    const entries = files.children(container).map((entry) => ({ name: entry, isMounted: host.mounted.has(`${container}/${entry}`) }));
    return { name, isDirectory: files.entries.get(container)!.type === 'dir', entries };
  });
  const steps = planSubPathCleanup(podDirectory, volumeName, files.entries.has(directory) ? { containers } : null);
  const ok = host.carryOut({ kind: 'planned', steps });
  return { ok, unmounted: host.mountCalls.map((call) => (call as { target: string }).target), left: host.tree(root, root) };
}

/** What the node does about sub paths before a container is made. */
function prepared(host: Host, { container, volumes = [] }: Input, env: readonly { readonly name: string; readonly value: string }[]) {
  const mounts: Record<number, string> = {};
  const failures: Record<number, string> = {};
  for (const { index, volumeName, subPath } of subPathUses(container!, env)) {
    const volume = volumes.find(({ name }) => name === volumeName);
    if (volume?.path == null) continue;
    const volumePath = `${root}/${volume.path}`;
    if (host.ask((known) => subPathPresence(volumePath, subPath, known)) === 'absent') {
      const { mode } = host.files.entries.get(volumePath)!;
      if (!host.carryOut(host.ask((known) => planSubPathDirectory(volumePath, subPath, mode, known)))) {
        failures[index] = subPathDirectoryFailure(volumeName, container!.name);
        continue;
      }
    }
    const target = subPathTarget(podDirectory, volume.innerName ?? volumeName, container!.name, index);
    if (host.carryOut(host.ask((known, mounted) => planSubPathMount({ volumePath, subPath, target }, known, mounted)))) mounts[index] = target;
    else failures[index] = subPathMountFailure(volumeName, container!.name);
  }
  return { mounts, failures };
}

function mountsOf(host: Host, input: Input): unknown {
  const before = new Set(host.files.entries.keys());
  const env = Object.entries(input.env ?? {}).map(([name, value]) => ({ name, value }));
  const { mounts: subPathMounts, failures: subPathFailures } = prepared(host, input, env);
  const volumes: Record<string, MountedVolume> = {};
  for (const { name, path, readOnly } of input.volumes ?? []) if (path !== null) volumes[name] = { hostPath: `${root}/${path}`, readOnly: readOnly === true };
  const made = containerMounts({ metadata: { name: 'p' }, spec: { containers: [input.container!] } }, input.container!, env, {
    volumes,
    imageVolumes: {},
    subPathMounts,
    subPathFailures,
    deviceMounts: [],
    podIps: [],
    terminationFile: '',
    recursiveReadOnlySupported: true,
    selinuxEnabled: false,
    rootDirectory: root,
  });
  if (!made.ok) return { error: made.message };
  const mounts = made.value.map(({ containerPath, hostPath, readonly, propagation, recursiveReadOnly }, i) => {
    const { name } = input.container!.volumeMounts![i]!;
    return { name, containerPath, hostPath: named(hostPath), readOnly: readonly, propagation, recursiveReadOnly };
  });
  const created = host.files.below(`${root}/vol`).filter((path) => !before.has(path));
  return { mounts, createdUnderVolume: created.map((path) => path.slice(root.length + 1)) };
}

export const driver: VectorDriver = {
  run(input: Input) {
    const host = new Host(input);
    switch (input.kind) {
      case 'safeMakeDir':
        return makeDirectory(host, input);
      case 'prepare':
        return prepare(host, input);
      case 'clean':
        return clean(host, input);
      default:
        return mountsOf(host, input);
    }
  },
  /** What the reference logs. */
  informative: ['detail'],
};
