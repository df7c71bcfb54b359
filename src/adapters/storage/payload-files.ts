// The atomic writer's file operations in a volume directory.
// Invariant: a path is walked one element at a time and never through a link, except the volume's own `..data`, whose target is one name.
import { chmodSync, closeSync, constants, fchmodSync, lchownSync, lstatSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import type { PayloadReading, PayloadStep, PayloadWrite, VolumeContent, VolumeEntry } from '../../ports/outbound/pod-volumes.js';
import { checkName, type DirectoryHandle, walking } from './directory-handle.js';
import { errnoName, FileRefusal } from './file-errors.js';
import { named } from './go-file-text.js';
import { removeEverything, removeTree } from './remove-tree.js';

const dataLink = '..data';
const newFile = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
/** The maximum depth of a payload: its paths have at most 4096 bytes. */
const levelsMax = 2048;

export function readPayload(volume: DirectoryHandle, paths: readonly string[]): VolumeContent {
  const entries = volume.entries().map(({ name }): readonly [string, VolumeEntry] => [name, entryOf(volume, name)]);
  const generation = generationOf(volume);
  if (generation === null) return { entries, generationPaths: null, readings: paths.map((path) => [path, { kind: 'absent' }]) };
  const generationPaths = walking(volume, [generation], (directory) => pathsBelow(directory, '', levelsMax)) ?? [];
  return { entries, generationPaths, readings: paths.map((path) => [path, reading(volume, generation, path)]) };
}

function entryOf(volume: DirectoryHandle, name: string): VolumeEntry {
  const entry = volume.look(name);
  if (entry?.isSymbolicLink() === true) return { kind: 'symlink', target: volume.linkTarget(name) };
  return { kind: entry?.isDirectory() === true ? 'directory' : entry?.isFile() === true ? 'file' : 'other' };
}

/** The name that the data link leads to; null when that is no directory in the volume. */
function generationOf(volume: DirectoryHandle): string | null {
  if (volume.look(dataLink)?.isSymbolicLink() !== true) return null;
  const target = volume.linkTarget(dataLink);
  if (target.includes('/') || target === '.' || target === '..') return null;
  return volume.look(target)?.isDirectory() === true ? target : null;
}

function pathsBelow(directory: DirectoryHandle, prefix: string, levels: number): string[] {
  if (levels === 0) throw new FileRefusal('failed-precondition', `${directory.where()} is too deep`);
  return directory.entries().flatMap((entry) => {
    const path = `${prefix}${entry.name}`;
    return entry.isDirectory() ? [path, ...(walking(directory, [entry.name], (below) => pathsBelow(below, `${path}/`, levels - 1)) ?? [])] : [path];
  });
}

function reading(volume: DirectoryHandle, generation: string, path: string): PayloadReading {
  const { parents, name } = split(path);
  try {
    const found = walking(volume, [generation, ...parents], (directory): PayloadReading => {
      const entry = directory.look(name);
      if (entry === null) return { kind: 'absent' };
      if (!entry.isFile()) return { kind: 'failed', message: `read ${directory.where()}/${name}: ${entry.isDirectory() ? 'is a directory' : 'not a regular file'}` };
      return { kind: 'file', bytes: new Uint8Array(readFileSync(directory.at(name))) };
    });
    return found ?? { kind: 'absent' };
  } catch (error) {
    // A file in place of the payload's directory: the path is absent.
    if (errnoName(error) === 'ENOTDIR') return { kind: 'absent' };
    throw error;
  }
}

/** Stops at the first step that fails, undoing what isn't visible yet. */
export function carryOutPayloadSteps(volume: DirectoryHandle, { steps, switchAt, undo }: Pick<PayloadWrite, 'steps' | 'switchAt' | 'undo'>): void {
  for (const [i, step] of steps.entries()) {
    try {
      carryOutStep(volume, step);
    } catch (error) {
      if (i <= switchAt) for (const back of undo) carryOutStep(volume, back);
      throw error;
    }
  }
}

function carryOutStep(volume: DirectoryHandle, step: PayloadStep): void {
  switch (step.operation) {
    case 'rename':
      volume.rename(step.from, step.to);
      return;
    case 'apply-fs-group':
      applyGroupBelow(volume, step, levelsMax);
      // The volume's root comes last, to mark the walk as complete. Its parents belong to the kubelet.
      applyGroup(volume.where(), step);
      return;
    default:
      inParent(volume, step.path, (directory, name) => carryOutInParent(directory, name, step));
  }
}

type NamedStep = Exclude<PayloadStep, { operation: 'rename' | 'apply-fs-group' }>;

function carryOutInParent(directory: DirectoryHandle, name: string, step: NamedStep): void {
  switch (step.operation) {
    case 'make-directory':
      mkdirSync(directory.at(name), { mode: step.mode });
      chmodSync(directory.at(name), step.mode);
      return;
    case 'write-file':
      writeNew(directory.at(name), step.bytes, step.mode);
      return;
    case 'change-owner':
      lchownSync(directory.at(name), step.uid, Number(directory.look(name)?.gid ?? 0n));
      return;
    case 'make-symlink':
      directory.link(name, step.target);
      return;
    case 'remove-link':
      directory.unlink(name);
      return;
    case 'remove-tree':
      removeTree(directory, name, removeEverything);
  }
}

function inParent(volume: DirectoryHandle, path: string, work: (directory: DirectoryHandle, name: string) => void): void {
  const { parents, name } = split(path);
  const done = walking(volume, parents, (directory) => {
    work(directory, name);
    return true;
  });
  if (done === null) throw new FileRefusal('not-found', `${volume.where()}/${path}: no such file or directory`);
}

function split(path: string): { readonly parents: readonly string[]; readonly name: string } {
  const elements = path.split('/').map(checkName);
  return { parents: elements.slice(0, -1), name: elements.at(-1) ?? '' };
}

function writeNew(path: string, bytes: Uint8Array, mode: number): void {
  const fd = openSync(path, newFile, mode);
  try {
    named(path, () => writeFileSync(fd, bytes));
    // The umask took bits away.
    fchmodSync(fd, mode);
  } finally {
    closeSync(fd);
  }
}

type GroupStep = Extract<PayloadStep, { operation: 'apply-fs-group' }>;

function applyGroupBelow(directory: DirectoryHandle, step: GroupStep, levels: number): void {
  if (levels === 0) throw new FileRefusal('failed-precondition', `${directory.where()} is too deep`);
  for (const entry of directory.entries()) {
    if (entry.isDirectory()) walking(directory, [entry.name], (below) => applyGroupBelow(below, step, levels - 1));
    applyGroup(directory.at(entry.name), step);
  }
}

function applyGroup(path: string, { gid, fileBits, directoryBits }: GroupStep): void {
  const entry = lstatSync(path);
  lchownSync(path, entry.uid, gid);
  // The mode of a link means nothing, and chmod would follow it.
  if (!entry.isSymbolicLink()) chmodSync(path, (entry.mode & 0o7777) | (entry.isDirectory() ? directoryBits : fileBits));
}
