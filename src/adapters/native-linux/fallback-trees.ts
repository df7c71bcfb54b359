// Path checks and tree walks in plain Node: on libuv's pool, where a dead file server blocks other work, too. Entries are reached through
// descriptors of their directories, as in the addon.
import { constants } from 'node:fs';
import { chmod, chown, lchown, lstat, open, readdir, stat } from 'node:fs/promises';
import { openPathFlag } from './beneath.js';
import { portErrorFrom } from './errno.js';
import type { PathStatus, TreeOwnership, Trees, TreeUsage } from './trees.js';

/** As in the addon. */
const levelsMax = 200;
const blockBytes = 512;
const asDirectory = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

interface Walk {
  readonly device: bigint;
  failures: number;
  done: number;
}

export class FallbackTrees implements Trees {
  readonly #walks = new Map<string, Walk>();

  async status(path: string, followLinks: boolean): Promise<PathStatus | null> {
    const found = await absentAsNull(followLinks ? stat(path, { bigint: true }) : lstat(path, { bigint: true }), 'status', path);
    return found === null ? null : { mode: Number(found.mode), device: found.dev, inode: found.ino, uid: Number(found.uid), gid: Number(found.gid) };
  }

  async usage(path: string, entriesMax: number): Promise<TreeUsage | null> {
    const root = await absentAsNull(lstat(path, { bigint: true }), 'usage', path);
    if (root === null) return null;
    const seen = new Set<bigint>();
    let usedBytes = Number(root.blocks) * blockBytes;
    let inodesUsed = 1;
    let entries = 1;
    let isPartial = false;
    const waiting = root.isDirectory() ? [{ path, levels: levelsMax }] : [];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const directory = next;
      for (const name of await readdir(directory.path).catch(() => [])) {
        if (entries >= entriesMax) return { usedBytes, inodesUsed, isPartial: true };
        entries++;
        const found = await lstat(`${directory.path}/${name}`, { bigint: true }).catch(() => null);
        if (found === null || found.dev !== root.dev || (!found.isDirectory() && found.nlink > 1n && seen.has(found.ino))) continue;
        seen.add(found.ino);
        usedBytes += Number(found.blocks) * blockBytes;
        inodesUsed++;
        if (!found.isDirectory()) continue;
        if (directory.levels === 0) isPartial = true;
        else waiting.push({ path: `${directory.path}/${name}`, levels: directory.levels - 1 });
      }
    }
    return { usedBytes, inodesUsed, isPartial };
  }

  async setOwnership(path: string, ownership: TreeOwnership): ReturnType<Trees['setOwnership']> {
    try {
      const root = await open(path, openPathFlag | constants.O_NOFOLLOW);
      try {
        const self = `/proc/self/fd/${root.fd}`;
        const before = await root.stat({ bigint: true });
        if (before.isSymbolicLink()) throw Object.assign(new Error(`${path} is a symbolic link`), { code: 'ELOOP' });
        const bits = BigInt(before.isDirectory() ? ownership.directoryBits : ownership.fileBits);
        const gid = Number(before.gid);
        if (ownership.onRootMismatch && before.isDirectory() && gid === ownership.gid && (before.mode & bits) === bits) return { walked: false, gid, failures: 0 };
        const walk = { device: before.dev, failures: 0, done: 0 };
        this.#walks.set(path, walk);
        if (before.isDirectory()) await ownBelow(self, levelsMax, ownership, walk);
        await change(self, Number(before.uid), Number(before.mode), before.isDirectory(), ownership);
        return { walked: true, gid, failures: walk.failures };
      } finally {
        this.#walks.delete(path);
        await root.close();
      }
    } catch (error) {
      throw portErrorFrom(error, 'trees.setOwnership', path);
    }
  }

  ownershipProgress(path: string): number | null {
    return this.#walks.get(path)?.done ?? null;
  }
}

async function ownBelow(directory: string, levels: number, ownership: TreeOwnership, walk: Walk): Promise<void> {
  for (const name of await readdir(directory)) {
    try {
      await ownEntry(`${directory}/${name}`, levels, ownership, walk);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') walk.failures++;
    }
    walk.done++;
  }
}

async function ownEntry(path: string, levels: number, ownership: TreeOwnership, walk: Walk): Promise<void> {
  const found = await lstat(path, { bigint: true });
  if (found.dev !== walk.device) return;
  if (found.isSymbolicLink()) {
    await lchown(path, Number(found.uid), ownership.gid);
    return;
  }
  // Changes the opened file, even if the name leads to another one by then.
  const entry = await open(path, found.isDirectory() ? asDirectory : openPathFlag | constants.O_NOFOLLOW);
  try {
    const opened = await entry.stat({ bigint: true });
    if (opened.isSymbolicLink()) return;
    const self = `/proc/self/fd/${entry.fd}`;
    if (opened.isDirectory() && levels > 0) await ownBelow(self, levels - 1, ownership, walk);
    else if (opened.isDirectory()) walk.failures++;
    await change(self, Number(opened.uid), Number(opened.mode), opened.isDirectory(), ownership);
  } finally {
    await entry.close();
  }
}

/** The owner first: a change of it may take set-id bits away. */
async function change(self: string, uid: number, mode: number, isDirectory: boolean, { gid, fileBits, directoryBits }: TreeOwnership): Promise<void> {
  await chown(self, uid, gid);
  await chmod(self, (mode & 0o7777) | (isDirectory ? directoryBits : fileBits));
}

async function absentAsNull<T>(asked: Promise<T>, operation: string, path: string): Promise<T | null> {
  try {
    return await asked;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return null;
    throw portErrorFrom(error, `trees.${operation}`, path);
  }
}
