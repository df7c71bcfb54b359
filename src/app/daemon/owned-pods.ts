// Which pods on this host are this agent's: those that have, or ever had, a mark below its root directory. The mark is made before anything
// else of the pod is, and it is taken away only when nothing of the pod is left; so an agent that was killed at any point knows its pods again.
// Marks of pods that are gone go when there are twice as many as were kept the last time, so that an agent that runs for months keeps few.
import { mkdirSync, readdirSync, rmdirSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { KubeletOperations } from '../../domain/agent/kubelet.js';
import type { Command } from '../../domain/kernel/machine.js';

const directoryName = 'owned-pods';
const directoryMode = 0o750;
/** So many marks are never worth a look at the host. */
const fewMarks = 64;
const podCgroup = /^pod(.+)$/;

export class OwnedPods {
  private readonly directory: string;
  private readonly known: Set<string>;
  /** The marks of before the last look: a pod that was marked while the host was looked at may not be in what was found. */
  private older = new Set<string>();
  private lookAt = fewMarks;
  private isLooking = false;
  private onHost: (() => Promise<ReadonlySet<string>>) | null = null;
  /** Marks that are being made. */
  private readonly marking = new Map<string, Promise<void>>();

  /** Throws what the kernel says. */
  constructor(rootDirectory: string) {
    this.directory = join(rootDirectory, directoryName);
    mkdirSync(this.directory, { recursive: true, mode: directoryMode });
    this.known = new Set(readdirSync(this.directory));
  }

  get uids(): ReadonlySet<string> {
    return this.known;
  }

  /** To be told of each command before it is carried out; null when it needn't be waited for. Rejects with what the kernel says. */
  note(command: Command<KubeletOperations>): Promise<void> | null {
    const uid = podOf(command);
    if (uid === null || this.known.has(uid) || uid.includes('/') || uid === '.' || uid === '..') return null;
    const marking = this.marking.get(uid) ?? this.mark(uid);
    this.marking.set(uid, marking);
    return marking;
  }

  /** From now on, marks are held against what the host has of pods, by uid. A look that fails is made again after as many further pods. */
  forgetBy(onHost: () => Promise<ReadonlySet<string>>): void {
    this.onHost = onHost;
  }

  private async mark(uid: string): Promise<void> {
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

  /** Forgets the pods of which nothing is left. */
  keepOnly(existing: ReadonlySet<string>): void {
    for (const uid of this.known) {
      if (existing.has(uid)) continue;
      rmdirSync(join(this.directory, uid));
      this.known.delete(uid);
    }
  }
}

/** The pod that a command makes something of; null for commands that make nothing new. */
function podOf(command: Command<KubeletOperations>): string | null {
  switch (command.op) {
    case 'podDirectories.prepare':
      return command.request.uid;
    case 'sandboxes.run':
      return command.request.config.metadata.uid;
    case 'podCgroups.ensure':
      return podCgroup.exec(command.request.name.at(-1) ?? '')?.[1] ?? null;
    default:
      return null;
  }
}
