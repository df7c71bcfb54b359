// A file that may be replaced at any time: reread when the path's target has changed.
import { stat } from 'node:fs/promises';
import { readTextFile } from '../text/index.js';

/** Credentials are kilobytes. */
const bytesMax = 1024 * 1024;

export class WatchedFile {
  private identity = '';
  private content: string | null = null;

  constructor(readonly path: string) {}

  /** The current content. Throws the kernel's error; keeps the last content. */
  async read(): Promise<string> {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(this.path, { bigint: true });
    const identity = `${dev}:${ino}:${size}:${mtimeNs}:${ctimeNs}`;
    if (this.content !== null && identity === this.identity) return this.content;
    if (size > BigInt(bytesMax)) throw new Error(`read ${this.path}: larger than ${bytesMax} bytes`);
    this.content = await readTextFile(this.path);
    this.identity = identity;
    return this.content;
  }
}
