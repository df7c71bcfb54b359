// Which cgroups there are, kept between looks, so that a look at a tree that hardly changed costs one question for each of them.
//
// Invariants: the kernel counts the links of a directory, two and one of each directory in it: while there are as many as were found before
// and each of those is still there, nothing else can be, and the directory is not listed again. File systems that don't count say 1, and are
// listed each time. What is kept is what the last walk found, within its bounds.
import { readdirSync, statSync } from 'node:fs';
import { LoopShare } from '../../time/index.js';

interface WalkedCgroup {
  readonly path: string;
  readonly directory: string;
  children: readonly WalkedCgroup[];
}

interface Visit {
  readonly cgroup: WalkedCgroup;
  readonly links: number;
}

export interface CgroupWalkOptions {
  /** Where the cgroup of that path is. */
  readonly directoryOf: (path: string) => string;
  readonly cgroupsMax: number;
  readonly levelsMax: number;
}

export class CgroupWalk {
  private readonly tops = new Map<string, WalkedCgroup>();

  constructor(private readonly options: CgroupWalkOptions) {}

  forget(): void {
    this.tops.clear();
  }

  /** The paths of the cgroup and of all below it, level by level, within the bounds; none when it is absent. */
  async walk(top: string): Promise<string[]> {
    const root = this.tops.get(top) ?? this.unseen(top);
    const links = linksOf(root.directory);
    if (links === null) {
      this.tops.delete(top);
      return [];
    }
    this.tops.set(top, root);
    const share = new LoopShare();
    const found: string[] = [];
    let level: readonly Visit[] = [{ cgroup: root, links }];
    for (let depth = 0; level.length > 0; depth++) {
      const below: Visit[] = [];
      for (const { cgroup, links } of level) {
        if (found.length >= this.options.cgroupsMax) return found;
        found.push(cgroup.path);
        if (depth === this.options.levelsMax) continue;
        // Such a tree is in memory: to ask the pool of threads would cost several times what it takes.
        this.visitChildren(cgroup, links, below);
        await (share.pause() ?? undefined);
      }
      level = below;
    }
    return found;
  }

  private visitChildren(cgroup: WalkedCgroup, links: number, below: Visit[]): void {
    const { children } = cgroup;
    if (links === children.length + 2) {
      const visits = visitsOf(children);
      if (visits.length === children.length) {
        for (const visit of visits) below.push(visit);
        return;
      }
    }
    const kept = new Map(children.map((child) => [child.path, child]));
    const paths = directoriesIn(cgroup.directory).map((name) => (cgroup.path === '/' ? `/${name}` : `${cgroup.path}/${name}`));
    cgroup.children = paths.slice(0, this.options.cgroupsMax).map((path) => kept.get(path) ?? this.unseen(path));
    for (const visit of visitsOf(cgroup.children)) below.push(visit);
  }

  private unseen(path: string): WalkedCgroup {
    return { path, directory: this.options.directoryOf(path), children: [] };
  }
}

/** Of those that are there. */
function visitsOf(cgroups: readonly WalkedCgroup[]): readonly Visit[] {
  const visits: Visit[] = [];
  for (const cgroup of cgroups) {
    const links = linksOf(cgroup.directory);
    if (links !== null) visits.push({ cgroup, links });
  }
  return visits;
}

/** null: there is no such directory. */
function linksOf(directory: string): number | null {
  try {
    const stats = statSync(directory, { throwIfNoEntry: false });
    return stats === undefined || !stats.isDirectory() ? null : stats.nlink;
  } catch {
    return null;
  }
}

function directoriesIn(directory: string): string[] {
  try {
    return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
  } catch {
    return [];
  }
}
