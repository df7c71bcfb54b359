// The tree of cgroups, cached between walks, so that a walk of a tree that hardly changed costs one stat for each of them.
//
// Invariants: the kernel counts the links of a directory, two and one of each directory in it: while the count is unchanged
// and each known child still exists, there are no others, and the directory is not listed again. File systems that don't count say 1, and are
// listed each time. The cache holds the last walk's result, within its bounds. One walk at a time.
import { readdirSync } from 'node:fs';
import type { NativeLinux } from '../../native-linux/index.js';
import { LoopShare } from '../../time/index.js';

interface WalkedCgroup {
  readonly path: string;
  readonly directory: string;
  /** The slot of its directory in the batch. */
  readonly slot: number;
  children: readonly WalkedCgroup[];
}

interface Visit {
  readonly cgroup: WalkedCgroup;
  readonly links: number;
}

export interface CgroupWalkOptions {
  /** Counts the links of many directories at a time. */
  readonly batch: Pick<ReturnType<NativeLinux['openFileBatch']>, 'addNumbers' | 'remove' | 'numbersInBackground'>;
  /** The directory of a cgroup's path. */
  readonly directoryOf: (path: string) => string;
  readonly cgroupsMax: number;
  readonly levelsMax: number;
}

export class CgroupWalk {
  private readonly tops = new Map<string, WalkedCgroup>();

  constructor(private readonly options: CgroupWalkOptions) {}

  forget(): void {
    for (const top of this.tops.values()) this.drop(top);
    this.tops.clear();
  }

  /** The paths of the cgroup and of all below it, level by level, within the bounds; none when it is absent. */
  async walk(top: string): Promise<string[]> {
    const root = this.tops.get(top) ?? this.unseen(top);
    this.tops.set(top, root);
    let level = await this.visits([root]);
    if (level.length === 0) {
      this.drop(root);
      this.tops.delete(top);
      return [];
    }
    const found: string[] = [];
    for (let depth = 0; level.length > 0; depth++) {
      for (const { cgroup } of level) {
        if (found.length >= this.options.cgroupsMax) return found;
        found.push(cgroup.path);
      }
      level = depth === this.options.levelsMax ? [] : await this.below(level);
    }
    return found;
  }

  /** Visits to the children of all. */
  private async below(level: readonly Visit[]): Promise<readonly Visit[]> {
    const known = await this.visits(level.flatMap(({ cgroup }) => cgroup.children));
    const linksOf = new Map(known.map(({ cgroup, links }) => [cgroup, links]));
    const share = new LoopShare();
    const fresh: WalkedCgroup[] = [];
    for (const { cgroup, links } of level) {
      const { children } = cgroup;
      if (links === children.length + 2 && children.every((child) => linksOf.has(child))) continue;
      // Such a tree is in memory: the thread pool would cost several times as much.
      this.list(cgroup, linksOf, fresh);
      await (share.pause() ?? undefined);
    }
    for (const { cgroup, links } of await this.visits(fresh)) linksOf.set(cgroup, links);
    return level.flatMap(({ cgroup }) =>
      cgroup.children.flatMap((child) => {
        const links = linksOf.get(child);
        return links === undefined ? [] : [{ cgroup: child, links }];
      }),
    );
  }

  /** Adds new children to `fresh`; drops removed ones. */
  private list(cgroup: WalkedCgroup, linksOf: ReadonlyMap<WalkedCgroup, number>, fresh: WalkedCgroup[]): void {
    const kept = new Map(cgroup.children.map((child) => [child.path, child]));
    const paths = directoriesIn(cgroup.directory).map((name) => (cgroup.path === '/' ? `/${name}` : `${cgroup.path}/${name}`));
    cgroup.children = paths.slice(0, this.options.cgroupsMax).map((path) => {
      const child = kept.get(path) ?? this.unseen(path);
      kept.delete(path);
      if (!linksOf.has(child)) fresh.push(child);
      return child;
    });
    for (const gone of kept.values()) this.drop(gone);
  }

  /** Of the existing ones. */
  private async visits(cgroups: readonly WalkedCgroup[]): Promise<readonly Visit[]> {
    if (cgroups.length === 0) return [];
    const links = await this.options.batch.numbersInBackground(Int32Array.from(cgroups, ({ slot }) => slot));
    return cgroups.flatMap((cgroup, i) => (links.count(i) < 0 ? [] : [{ cgroup, links: links.at(i, 0) }]));
  }

  private unseen(path: string): WalkedCgroup {
    const directory = this.options.directoryOf(path);
    return { path, directory, slot: this.options.batch.addNumbers(directory, { kind: 'links' }), children: [] };
  }

  private drop(cgroup: WalkedCgroup): void {
    this.options.batch.remove(cgroup.slot);
    for (const child of cgroup.children) this.drop(child);
  }
}

function directoriesIn(directory: string): string[] {
  try {
    return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
  } catch {
    return [];
  }
}
