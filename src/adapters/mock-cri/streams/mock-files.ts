// The files of a mock container, in memory: written by its commands, lost with it.
// Invariant: no path leads to the host's disk; all files of a container together stay below `bytesMax` and `filesMax`.
import { posix } from 'node:path';

const bytesMax = 64 * 1024 * 1024;
const filesMax = 1_000;
/** Initial directories. */
const directories = ['/', '/etc', '/home', '/root', '/tmp', '/var'];

export class FileProblem extends Error {}

export class MockFiles {
  private readonly contents = new Map<string, Buffer>();
  private readonly made = new Set<string>(directories);
  private bytes = 0;

  path(path: string): string {
    const whole = posix.resolve('/', path);
    return whole === '/' ? whole : whole.replace(/\/$/, '');
  }

  /** null: no such file. */
  read(path: string): Buffer | null {
    return this.contents.get(this.path(path)) ?? null;
  }

  isDirectory(path: string): boolean {
    return this.made.has(this.path(path));
  }

  makeDirectory(path: string): void {
    const whole = this.path(path);
    if (this.contents.has(whole)) throw new FileProblem('File exists');
    if (this.made.size >= filesMax) throw new FileProblem('No space left on device');
    for (let at = whole; at !== '/'; at = posix.dirname(at)) this.made.add(at);
  }

  /** Throws FileProblem. */
  write(path: string, content: Buffer): void {
    const whole = this.path(path);
    if (this.isDirectory(whole)) throw new FileProblem('Is a directory');
    if (!this.isDirectory(posix.dirname(whole))) throw new FileProblem('No such file or directory');
    const bytes = this.bytes - (this.contents.get(whole)?.length ?? 0) + content.length;
    if (bytes > bytesMax || (this.contents.size >= filesMax && !this.contents.has(whole))) throw new FileProblem('No space left on device');
    this.bytes = bytes;
    this.contents.set(whole, content);
  }

  /** false: it didn't exist. */
  remove(path: string): boolean {
    const whole = this.path(path);
    this.bytes -= this.contents.get(whole)?.length ?? 0;
    return this.contents.delete(whole);
  }

  /** Names in a directory, sorted. */
  list(path: string): readonly string[] {
    const whole = this.path(path);
    const names = [...this.contents.keys(), ...this.made].filter((other) => other !== whole && posix.dirname(other) === whole);
    return names.map((name) => posix.basename(name)).sort();
  }

  /** Files at or below a path, sorted. */
  below(path: string): readonly (readonly [path: string, content: Buffer])[] {
    const whole = this.path(path);
    const prefix = whole === '/' ? '/' : `${whole}/`;
    return [...this.contents].filter(([name]) => name === whole || name.startsWith(prefix)).sort(([a], [b]) => (a < b ? -1 : 1));
  }
}
