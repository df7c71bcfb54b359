// Manifests as plain values, and a manifest directory that exists only in memory.

import type { PortOf } from '../../src/ports/operation.js';
import type { FileWatchEvent } from '../../src/ports/outbound/file-watch.js';
import type { ManifestContent, ManifestDirectoryOperations, ManifestFile, ManifestListing } from '../../src/ports/outbound/manifests.js';
import { PortError } from '../../src/ports/port-error.js';

type Plain = Record<string, unknown>;

/** `{ name, image }` containers and the like are given as overrides of the spec. */
export function podValue(name: string, spec: Plain = {}, metadata: Plain = {}): Plain {
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, ...metadata }, spec: { containers: [{ name: 'c', image: 'nginx:1' }], ...spec } };
}

export function document(value: unknown): ManifestContent {
  return { kind: 'document', value, notes: [] };
}

/** In memory: file name -> content. A watch that is refused, and a path that is no directory, can be had too. */
export class MemoryManifests implements PortOf<ManifestDirectoryOperations> {
  readonly files = new Map<string, ManifestContent>();
  /** What `watch` fails with; null: it succeeds. */
  refusal: PortError | null = null;
  listing: ManifestListing | PortError | null = null;

  constructor(readonly path: string) {}

  put(name: string, content: ManifestContent): FileWatchEvent {
    const change = this.files.has(name) ? 'modified' : 'created';
    this.files.set(name, content);
    return { kind: 'entry', path: this.path, name, change };
  }

  remove(name: string): FileWatchEvent {
    this.files.delete(name);
    return { kind: 'entry', path: this.path, name, change: 'deleted' };
  }

  async list(): Promise<ManifestListing> {
    if (this.listing instanceof PortError) throw this.listing;
    if (this.listing !== null) return this.listing;
    const names = [...this.files.keys()].filter((name) => !name.startsWith('.')).sort();
    return { kind: 'directory', files: names.map((name) => this.file(name)) };
  }

  async readFile({ path }: { readonly path: string }): Promise<ManifestFile> {
    return this.file(path.slice(this.path.length + 1));
  }

  async watch(): Promise<null> {
    if (this.refusal !== null) throw this.refusal;
    return null;
  }

  private file(name: string): ManifestFile {
    return { path: `${this.path}/${name}`, content: this.files.get(name) ?? { kind: 'absent' } };
  }
}

export function portError(kind: PortError['kind'], message: string): PortError {
  return new PortError({ kind, message, operation: 'manifestDirectory.watch', subject: '' });
}
