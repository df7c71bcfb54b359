// Carries out the atomic writer's plans on a model file system.
import {
  type AtomicWritePlan,
  type AtomicWriteStep,
  comparedPaths,
  type FileReading,
  planAtomicWrite,
  type VolumeDirectory,
  type VolumeEntry,
} from '../../src/domain/volumes/atomic-writer.js';
import { fsGroupMode } from '../../src/domain/volumes/volume-ownership.js';
import type { VolumePayload } from '../../src/domain/volumes/volume-payload.js';
import { type ModelFileSystem, Refusal } from './model-file-system.js';

/** What an adapter looks up before it asks for a plan. */
export function volumeDirectory(files: ModelFileSystem, path: string, payload: VolumePayload): VolumeDirectory {
  const entries = new Map(files.children(path).map((name) => [name, entryOf(files, `${path}/${name}`)] as const));
  const link = files.lstat(`${path}/..data`);
  const dataLink = link?.type === 'symlink' ? link.target : null;
  const generation = dataLink === null ? null : `${path}/${dataLink}`;
  const resolved = generation === null ? null : files.resolve(generation);
  const found = resolved?.kind === 'found' && files.entries.get(resolved.path)?.type === 'dir' ? resolved.path : null;
  const readings = new Map(comparedPaths(payload).map((name) => [name, reading(files, `${generation}/${name}`)]));
  return { path, entries, generationPaths: found === null ? null : files.below(found).map((name) => name.slice(found.length + 1)), readings };
}

export function planFor(files: ModelFileSystem, path: string, payload: VolumePayload, generation: string, fsGroup: number | null): AtomicWritePlan {
  return planAtomicWrite(payload, volumeDirectory(files, path, payload), generation, fsGroup);
}

export function carryOut(files: ModelFileSystem, volume: string, step: AtomicWriteStep): void {
  switch (step.operation) {
    case 'make-directory':
      files.makeDirectory(`${volume}/${step.path}`, step.mode);
      return;
    case 'write-file':
      files.writeFile(`${volume}/${step.path}`, step.bytes, step.mode);
      return;
    case 'change-owner':
      files.entries.get(`${volume}/${step.path}`)!.uid = step.uid;
      return;
    case 'apply-fs-group':
      applyFsGroup(files, volume, step.gid);
      return;
    case 'make-symlink':
      files.makeSymlink(`${volume}/${step.path}`, step.target);
      return;
    case 'rename':
      files.rename(`${volume}/${step.from}`, `${volume}/${step.to}`);
      return;
    case 'remove-link':
      files.unlink(`${volume}/${step.path}`);
      return;
    default:
      files.removeTree(`${volume}/${step.path}`);
      return;
  }
}

function applyFsGroup(files: ModelFileSystem, volume: string, gid: number): void {
  for (const path of [...files.below(volume), volume]) {
    const entry = files.entries.get(path)!;
    entry.gid = gid;
    if (entry.type !== 'symlink') entry.mode = fsGroupMode(entry.mode, entry.type === 'dir' ? 'directory' : 'file', true);
  }
}

function reading(files: ModelFileSystem, path: string): FileReading {
  try {
    return { kind: 'file', bytes: files.read(path) };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return error.message.endsWith('no such file or directory') ? { kind: 'absent' } : { kind: 'failed', message: error.message };
  }
}

function entryOf(files: ModelFileSystem, path: string): VolumeEntry {
  const entry = files.lstat(path)!;
  if (entry.type === 'symlink') return { kind: 'symlink', target: entry.target };
  return { kind: entry.type === 'dir' ? 'directory' : entry.type === 'file' ? 'file' : 'other' };
}
