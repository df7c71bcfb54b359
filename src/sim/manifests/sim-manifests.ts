// Manifests as a model: a directory (or one file) of plain values and a URL, answered synchronously. Nothing is parsed: a scenario gives values,
// or marks a file as unreadable.
//
// Invariants: an unchanged file is the same content object; a change while the path is watched gives an event, a change while it isn't
// gives none; the same changes give the same answers.
import { unreachable } from '../../domain/kernel/assert.js';
import type { FileWatchEvent } from '../../ports/outbound/file-watch.js';
import type { ManifestContent, ManifestFile, ManifestListing, ManifestOperations, ManifestResponse, ManifestsChanged } from '../../ports/outbound/manifests.js';
import type { PortErrorKind } from '../../ports/port-error.js';
import { type Answer, answered, refused } from '../runtime/answers.js';

export type ManifestOperationName = keyof ManifestOperations;
type AnyRequest = { [Name in ManifestOperationName]: { readonly op: Name; readonly request: ManifestOperations[Name]['request'] } }[ManifestOperationName];

export interface SimManifestsState {
  /** Path -> content, of regular files and other entries of the directory. */
  readonly files: Map<string, ManifestContent>;
  readonly directories: Set<string>;
  /** Paths that are watched; each is a directory or a file that exists. */
  readonly watched: Set<string>;
  /** URL -> what a GET answers. */
  readonly responses: Map<string, ManifestResponse>;
}

export function emptyManifestsState(): SimManifestsState {
  return { files: new Map(), directories: new Set(), watched: new Set(), responses: new Map() };
}

/** Which failure an operation meets instead of its answer; null: none. */
export type ManifestFailurePlan = (op: ManifestOperationName, request: unknown) => { readonly kind: PortErrorKind; readonly message: string } | null;

const latency = 200;

export class SimManifests {
  constructor(
    readonly state: SimManifestsState = emptyManifestsState(),
    private readonly plan: ManifestFailurePlan = () => null,
  ) {}

  knows(op: string): op is ManifestOperationName {
    return op.startsWith('manifestDirectory.') || op.startsWith('manifestUrl.');
  }

  handle<Name extends ManifestOperationName>(op: Name, request: ManifestOperations[Name]['request']): Answer<ManifestOperations[Name]['reply']> {
    const failure = this.plan(op, request);
    if (failure !== null) return refused(failure.kind, failure.message, op, subjectOf(request), latency);
    return this.answer({ op, request } as AnyRequest) as Answer<ManifestOperations[Name]['reply']>;
  }

  makeDirectory(path: string): void {
    this.state.directories.add(path);
  }

  /** Writes a file whole, as a rename over it does. The event is to be delivered to the node; null when nothing watches. */
  put(path: string, content: ManifestContent): ManifestsChanged | null {
    const change = this.state.files.has(path) ? 'modified' : 'created';
    this.state.files.set(path, content);
    return this.entryEvent(path, change);
  }

  remove(path: string): ManifestsChanged | null {
    if (!this.state.files.delete(path)) return null;
    return this.state.watched.delete(path) ? changed({ kind: 'gone', path }) : this.entryEvent(path, 'deleted');
  }

  /** Removes the directory with its content. */
  removeDirectory(path: string): ManifestsChanged | null {
    this.state.directories.delete(path);
    for (const file of [...this.state.files.keys()]) if (parentOf(file) === path) this.state.files.delete(file);
    return this.state.watched.delete(path) ? changed({ kind: 'gone', path }) : null;
  }

  serve(url: string, response: ManifestResponse): void {
    this.state.responses.set(url, response);
  }

  private entryEvent(path: string, change: 'created' | 'modified' | 'deleted'): ManifestsChanged | null {
    if (this.state.watched.has(path)) return changed({ kind: 'entry', path, name: '', change });
    const directory = parentOf(path);
    return this.state.watched.has(directory) ? changed({ kind: 'entry', path: directory, name: path.slice(directory.length + 1), change }) : null;
  }

  private answer(asked: AnyRequest): Answer<unknown> {
    switch (asked.op) {
      case 'manifestDirectory.list':
        return answered(this.list(asked.request.path), latency);
      case 'manifestDirectory.readFile':
        return answered(this.file(asked.request.path), latency);
      case 'manifestDirectory.watch': {
        const { path } = asked.request;
        if (!this.state.directories.has(path) && !this.state.files.has(path)) return refused('not-found', `${path} does not exist`, asked.op, path, latency);
        this.state.watched.add(path);
        return answered(null, latency);
      }
      case 'manifestUrl.fetch': {
        const response = this.state.responses.get(asked.request.url);
        if (response !== undefined) return answered(response, latency);
        return refused('unavailable', `${asked.request.url}: connection refused`, asked.op, asked.request.url, latency);
      }
      default:
        return unreachable(asked);
    }
  }

  private list(path: string): ManifestListing {
    if (this.state.files.has(path)) return { kind: 'file', file: this.file(path) };
    if (!this.state.directories.has(path)) return { kind: 'absent' };
    const inside = [...this.state.files.keys()].filter((file) => parentOf(file) === path && !file.startsWith(`${path}/.`));
    return { kind: 'directory', files: inside.sort().map((file) => this.file(file)) };
  }

  private file(path: string): ManifestFile {
    return { path, content: this.state.files.get(path) ?? { kind: 'absent' } };
  }
}

function changed(event: FileWatchEvent): ManifestsChanged {
  return { type: 'manifests-changed', events: [event] };
}

function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/'));
}

function subjectOf(request: ManifestOperations[ManifestOperationName]['request']): string {
  return 'url' in request ? request.url : request.path;
}
