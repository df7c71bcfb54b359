// Pods that belong to this agent: those that have, or ever had, a mark below its root directory. The mark is made before anything
// else of the pod, and removed only after everything of the pod; so a killed agent recognizes its pods again.
// Marks of removed pods are deleted when there are twice as many as were kept the last time, so that a long-running agent keeps few.
import { mkdirSync, readdirSync, rmdirSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';

const directoryName = 'owned-pods';
const directoryMode = 0o750;
/** Up to this many marks no listing of the host is needed. */
const fewMarks = 64;

export class OwnedPods {
  private readonly directory: string;
  private readonly known: Set<string>;
  /** The marks from before the last listing: a pod that was marked during the listing may be missing in it. */
  private older = new Set<string>();
  private lookAt = fewMarks;
  private isLooking = false;
  private onHost: (() => Promise<ReadonlySet<string>>) | null = null;
  /** Marks that are being made. */
  private readonly marking = new Map<string, Promise<void>>();

  /** Throws the kernel's error. */
  constructor(rootDirectory: string) {
    this.directory = join(rootDirectory, directoryName);
    mkdirSync(this.directory, { recursive: true, mode: directoryMode });
    this.known = new Set(readdirSync(this.directory));
  }

  get uids(): ReadonlySet<string> {
    return this.known;
  }

  /** Must be called before a command that makes something of the pod is performed; null: no wait needed. Rejects with the kernel's error. */
  mark(uid: string): Promise<void> | null {
    if (this.known.has(uid) || uid.includes('/') || uid === '.' || uid === '..') return null;
    const marking = this.marking.get(uid) ?? this.make(uid);
    this.marking.set(uid, marking);
    return marking;
  }

  /** From now on, compares marks with the host's pods, by uid. A failed listing is retried after as many further pods. */
  forgetBy(onHost: () => Promise<ReadonlySet<string>>): void {
    this.onHost = onHost;
  }

  private async make(uid: string): Promise<void> {
    try {
      await mkdir(join(this.directory, uid), { recursive: true, mode: directoryMode });
      this.known.add(uid);
    } finally {
      this.marking.delete(uid);
    }
    if (this.known.size >= this.lookAt) void this.forgetGone();
  }

  private async forgetGone(): Promise<void> {
    if (this.onHost === null || this.isLooking) return;
    this.isLooking = true;
    const before = new Set(this.known);
    try {
      const existing = await this.onHost();
      this.keepOnly(new Set([...existing, ...[...this.known].filter((uid) => !this.older.has(uid))]));
    } catch {
      // The runtime is away, or a mark can't be removed: nothing depends on it.
    }
    this.older = before;
    this.lookAt = Math.max(fewMarks, 2 * this.known.size);
    this.isLooking = false;
  }

  /** Forgets pods that are completely removed. */
  keepOnly(existing: ReadonlySet<string>): void {
    for (const uid of this.known) {
      if (existing.has(uid)) continue;
      rmdirSync(join(this.directory, uid));
      this.known.delete(uid);
    }
  }
}
