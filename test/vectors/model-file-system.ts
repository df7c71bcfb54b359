// A file system in memory: enough of Linux's rules for links, modes and refusals to perform the domain's plans.
// Invariant: every path is absolute and clean; each entry's parent is a directory.
import { posix } from 'node:path';

export type EntryType = 'file' | 'dir' | 'symlink' | 'fifo' | 'socket' | 'char' | 'block';

export interface Entry {
  readonly type: EntryType;
  mode: number;
  bytes: Uint8Array;
  target: string;
  uid: number;
  gid: number;
}

export interface LayoutEntry {
  readonly path: string;
  readonly type: EntryType;
  readonly mode?: string;
  readonly content?: string;
  readonly target?: string;
}

/** Refused with the text that the operating system has for it. */
export class Refusal extends Error {}

const maxLinks = 40;
const umask = 0o022;

export class ModelFileSystem {
  readonly entries = new Map<string, Entry>([['/', newEntry('dir', 0o755)]]);

  /** Entries with parents created as needed; `<root>` in targets is replaced by `root`. */
  static of(root: string, layout: readonly LayoutEntry[]): ModelFileSystem {
    const files = new ModelFileSystem();
    files.makeParents(`${root}/x`);
    for (const { path, type, mode, content = '', target = '' } of layout) {
      const at = posix.join(root, path);
      files.makeParents(at);
      const entry = newEntry(type, mode === undefined ? (type === 'dir' ? 0o755 : 0o644) : Number.parseInt(mode, 8));
      entry.bytes = Buffer.from(content);
      entry.target = target.replaceAll('<root>', root);
      files.entries.set(at, entry);
    }
    return files;
  }

  clone(): ModelFileSystem {
    const copy = new ModelFileSystem();
    for (const [path, entry] of this.entries) copy.entries.set(path, { ...entry });
    return copy;
  }

  /** Null if absent; links are not followed at the end. */
  lstat(path: string): Entry | null {
    const parent = this.resolve(posix.dirname(path));
    return parent.kind === 'found' ? (this.entries.get(posix.join(parent.path, posix.basename(path))) ?? null) : null;
  }

  /** Where the path leads when links are followed, or why nowhere. */
  resolve(path: string): { readonly kind: 'found'; readonly path: string } | { readonly kind: 'absent' | 'not-a-directory' | 'loop' } {
    let rest = path.split('/').filter((element) => element !== '');
    let at = '/';
    let links = 0;
    while (rest.length > 0) {
      const [element = '', ...others] = rest;
      const current = this.entries.get(at);
      if (current?.type !== 'dir') return { kind: 'not-a-directory' };
      rest = others;
      if (element === '.') continue;
      const next = element === '..' ? posix.dirname(at) : posix.join(at, element);
      const entry = this.entries.get(next);
      if (entry === undefined) return { kind: 'absent' };
      if (entry.type !== 'symlink') at = next;
      else if (++links > maxLinks) return { kind: 'loop' };
      else {
        if (entry.target.startsWith('/')) at = '/';
        rest = [...entry.target.split('/').filter((part) => part !== ''), ...rest];
      }
    }
    return { kind: 'found', path: at };
  }

  read(path: string): Uint8Array {
    const found = this.resolve(path);
    if (found.kind !== 'found') throw new Refusal(`open ${path}: ${refusalText(found.kind)}`);
    const entry = this.entries.get(found.path)!;
    if (entry.type === 'dir') throw new Refusal(`read ${path}: is a directory`);
    return entry.bytes;
  }

  children(path: string): string[] {
    const prefix = path === '/' ? '/' : `${path}/`;
    return [...this.entries.keys()]
      .filter((other) => other !== '/' && other.startsWith(prefix) && !other.slice(prefix.length).includes('/'))
      .map((other) => other.slice(prefix.length))
      .sort(byBytes);
  }

  below(path: string): string[] {
    return [...this.entries.keys()].filter((other) => other.startsWith(`${path}/`)).sort(byBytes);
  }

  makeDirectory(path: string, mode: number): void {
    this.add(path, newEntry('dir', mode), `mkdir ${path}`);
  }

  writeFile(path: string, bytes: Uint8Array, mode: number): void {
    const entry = newEntry('file', mode);
    entry.bytes = bytes;
    this.add(path, entry, `open ${path}`);
  }

  /** With parents; an existing path is no error. */
  makeDirectories(path: string, mode: number): void {
    const found = this.resolve(path);
    if (found.kind === 'found') {
      if (this.entries.get(found.path)!.type !== 'dir') throw new Refusal(`mkdir ${path}: not a directory`);
      return;
    }
    this.makeDirectories(posix.dirname(path), mode);
    if (this.lstat(path) === null) this.makeDirectory(path, mode);
  }

  /** Through links, as open(2) with O_CREAT does. */
  createFile(path: string, mode: number): void {
    const entry = this.lstat(path);
    if (entry?.type === 'symlink') {
      this.createFile(posix.resolve(posix.dirname(path), entry.target), mode);
      return;
    }
    const parent = this.resolve(posix.dirname(path));
    if (parent.kind !== 'found') throw new Refusal(`open ${path}: ${refusalText(parent.kind)}`);
    if (this.entries.get(parent.path)!.type !== 'dir') throw new Refusal(`open ${path}: not a directory`);
    if (entry === null) this.writeFile(posix.join(parent.path, posix.basename(path)), new Uint8Array(), mode);
  }

  makeSymlink(path: string, target: string): void {
    const entry = newEntry('symlink', 0o777);
    entry.target = target;
    this.add(path, entry, `symlink ${target} ${path}`);
  }

  rename(from: string, to: string): void {
    const entry = this.entries.get(from);
    if (entry === undefined) throw new Refusal(`rename ${from} ${to}: no such file or directory`);
    if (this.entries.get(to)?.type === 'dir') throw new Refusal(`rename ${from} ${to}: file exists`);
    this.entries.delete(from);
    this.entries.set(to, entry);
  }

  unlink(path: string): void {
    if (this.entries.get(path)?.type === 'dir') throw new Refusal(`remove ${path}: is a directory`);
    this.entries.delete(path);
  }

  removeDirectory(path: string): void {
    if (this.below(path).length > 0) throw new Refusal(`remove ${path}: directory not empty`);
    this.entries.delete(path);
  }

  removeTree(path: string): void {
    for (const other of this.below(path)) this.entries.delete(other);
    this.entries.delete(path);
  }

  private add(path: string, entry: Entry, what: string): void {
    if (this.entries.get(posix.dirname(path))?.type !== 'dir') throw new Refusal(`${what}: no such file or directory`);
    if (this.entries.has(path)) throw new Refusal(`${what}: file exists`);
    this.entries.set(path, entry);
  }

  private makeParents(path: string): void {
    const parent = posix.dirname(path);
    if (this.entries.has(parent)) return;
    this.makeParents(parent);
    this.entries.set(parent, newEntry('dir', 0o777 & ~umask));
  }
}

function newEntry(type: EntryType, mode: number): Entry {
  return { type, mode, bytes: new Uint8Array(), target: '', uid: 0, gid: 0 };
}

function refusalText(kind: 'absent' | 'not-a-directory' | 'loop'): string {
  if (kind === 'absent') return 'no such file or directory';
  return kind === 'loop' ? 'too many levels of symbolic links' : 'not a directory';
}

export function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

export function octal(mode: number): string {
  return mode.toString(8).padStart(4, '0');
}
