// The pods of a manifest directory, file by file: the effects of a listing, one changed file or a removed one.
// Invariant: a pod follows the last good version of its file. Of several files with one namespace and name the last path counts,
// and the others take over when it is removed: removing one of two copies doesn't stop the pod.
import type { Pod } from '../../ports/model/pod.js';
import type { ManifestContent, ManifestFile } from '../../ports/outbound/manifests.js';
import { podFullNameOf } from '../values/pod-references.js';
import { type ManifestPods, podsOfManifest } from './manifest-pods.js';

export interface ManifestStoreSettings {
  readonly nodeName: string;
  /** The feature PreventStaticPodAPIReferences. */
  readonly preventApiReferences: boolean;
}

interface KnownFile {
  /** The source of the pod: the same object needn't be decoded again. */
  readonly content: ManifestContent;
  readonly pod: Pod;
}

export interface ManifestStore {
  readonly files: Map<string, KnownFile>;
  /** Path -> the last report about it, so that a bad file is reported once and not at each listing. */
  readonly reported: Map<string, string>;
  /** Path of a file whose pod another file defines, too -> the line about it. */
  shadowed: ReadonlyMap<string, string>;
}

export interface StoreLine {
  readonly level: 'error' | 'warn';
  readonly text: string;
}

export function newManifestStore(): ManifestStore {
  return { files: new Map(), reported: new Map(), shadowed: new Map() };
}

/** The complete list of pods, in order of path. */
export function podsOfStore(store: ManifestStore): Pod[] {
  return [...winners(store).values()].map((winner) => winner.pod);
}

/** A directory listing replaces everything: a file that is invalid now has no pod, even if it had one before. */
export function takeListing(store: ManifestStore, files: readonly ManifestFile[], settings: ManifestStoreSettings): StoreLine[] {
  const lines: StoreLine[] = [];
  const next = new Map<string, KnownFile>();
  for (const file of files) {
    const known = store.files.get(file.path);
    const result = known?.content === file.content ? known : readFile(store, file, settings, 'Could not process manifest file', lines);
    if (result !== null) next.set(file.path, result);
  }
  const paths = new Set(files.map((file) => file.path));
  for (const path of [...store.reported.keys()]) if (!paths.has(path)) store.reported.delete(path);
  store.files.clear();
  for (const [path, known] of next) store.files.set(path, known);
  lines.push(...duplicateLines(store));
  return lines;
}

/** Takes one changed file. An invalid version leaves the pod unchanged: it may be a partial write, and more events will follow. */
export function takeFile(store: ManifestStore, file: ManifestFile, settings: ManifestStoreSettings): { readonly isChanged: boolean; readonly lines: readonly StoreLine[] } {
  if (file.content.kind === 'absent') return { isChanged: removeFile(store, file.path), lines: [] };
  const known = store.files.get(file.path);
  if (known?.content === file.content) return { isChanged: false, lines: [] };
  const lines: StoreLine[] = [];
  const result = readFile(store, file, settings, "can't process config file", lines);
  if (result === null) return { isChanged: false, lines };
  store.files.set(file.path, result);
  lines.push(...duplicateLines(store));
  return { isChanged: true, lines };
}

/** False when the file had no pod. */
export function removeFile(store: ManifestStore, path: string): boolean {
  store.reported.delete(path);
  return store.files.delete(path);
}

export function clearStore(store: ManifestStore): void {
  store.files.clear();
  store.reported.clear();
  store.shadowed = new Map();
}

function readFile(store: ManifestStore, file: ManifestFile, settings: ManifestStoreSettings, complaint: string, lines: StoreLine[]): KnownFile | null {
  const origin = { kind: 'file', path: file.path } as const;
  const result = podsOfManifest(file.content, { ...settings, origin });
  report(store, file.path, remarkOn(file.path, result), complaint, lines);
  const pod = result.kind === 'pods' ? result.pods[0] : undefined;
  return pod === undefined ? null : { content: file.content, pod };
}

/** The log line for a file, without its prefix. */
function remarkOn(path: string, result: ManifestPods): StoreLine | null {
  switch (result.kind) {
    case 'absent':
      return null;
    case 'skipped':
      return { level: 'warn', text: `${path}: ${result.message}, ignoring` };
    case 'rejected':
      // A text that is a pod but may not be one, and a text that isn't a pod at all.
      return { level: 'error', text: result.isParsed ? result.message : `${path}: couldn't parse as pod(${result.message}), please check config file` };
    case 'pods':
      return result.notes.length === 0 ? null : { level: 'warn', text: `${path}: ${result.notes.join('; ')}` };
  }
}

/** Reports a remark unless it repeats the last one for the path. The prefix of an error depends on what found it and doesn't count as a change. */
function report(store: ManifestStore, path: string, remark: StoreLine | null, complaint: string, lines: StoreLine[]): void {
  if (remark === null) store.reported.delete(path);
  else if (store.reported.get(path) !== remark.text) {
    store.reported.set(path, remark.text);
    lines.push(remark.level === 'error' ? { level: 'error', text: `${complaint} "${path}": ${remark.text}` } : remark);
  }
}

interface Winner {
  readonly path: string;
  readonly pod: Pod;
  readonly losers: readonly string[];
}

function winners(store: ManifestStore): Map<string, Winner> {
  const byName = new Map<string, Winner>();
  const paths = [...store.files.keys()].sort();
  for (const path of paths) {
    const { pod } = store.files.get(path) as KnownFile;
    const name = podFullNameOf(pod);
    const earlier = byName.get(name);
    byName.set(name, { path, pod, losers: earlier === undefined ? [] : [...earlier.losers, earlier.path] });
  }
  return byName;
}

/** One line for each file that another one overrides. */
function duplicateLines(store: ManifestStore): StoreLine[] {
  const shadowed = new Map<string, string>();
  const lines: StoreLine[] = [];
  for (const winner of winners(store).values()) {
    for (const loser of winner.losers) {
      const { name, namespace = '' } = winner.pod.metadata;
      const text = `${loser}: pod "${name}" in namespace "${namespace}" is also defined by ${winner.path}, which is used`;
      shadowed.set(loser, text);
      if (store.shadowed.get(loser) !== text) lines.push({ level: 'warn', text });
    }
  }
  store.shadowed = shadowed;
  return lines;
}
