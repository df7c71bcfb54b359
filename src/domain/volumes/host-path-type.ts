// hostPath volumes: checks the path before containers get it.
// Invariant: the `..` check comes first; only the types with `OrCreate` create a path.

import type { HostPathKind } from '../../ports/outbound/pod-volumes.js';

export type HostPathEntry = HostPathKind;

export type HostPathCheck =
  | { readonly kind: 'good' }
  /** Made with all parents; an entry that turns up in the way is no error. */
  | { readonly kind: 'make-directory'; readonly path: string; readonly mode: number }
  /** Parents aren't made; a link to nowhere gets its target made. */
  | { readonly kind: 'create-file'; readonly path: string; readonly mode: number }
  | { readonly kind: 'refused'; readonly message: string };

const directoryMode = 0o755;
const fileMode = 0o644;

const wanted: Readonly<Record<string, { readonly entry: HostPathEntry; readonly text: string }>> = {
  Directory: { entry: 'directory', text: 'a directory' },
  DirectoryOrCreate: { entry: 'directory', text: 'a directory' },
  File: { entry: 'file', text: 'a file' },
  FileOrCreate: { entry: 'file', text: 'a file' },
  Socket: { entry: 'socket', text: 'a socket file' },
  CharDevice: { entry: 'char-device', text: 'a character device' },
  BlockDevice: { entry: 'block-device', text: 'a block device' },
};

/** @param type null or `''`: the path needn't even exist, which is for the runtime to find out */
export function checkHostPath(path: string, type: string | null, entry: HostPathEntry): HostPathCheck {
  if (path.split('/').includes('..')) return { kind: 'refused', message: `invalid HostPath \`${path}\`: must not contain '..'` };
  if (type === null || type === '') return { kind: 'good' };
  const rule = Object.hasOwn(wanted, type) ? wanted[type]! : null;
  if (rule === null) return { kind: 'refused', message: `${type} is an invalid volume type` };
  if (entry === 'absent' && type === 'DirectoryOrCreate') return { kind: 'make-directory', path, mode: directoryMode };
  if (entry === 'absent' && type === 'FileOrCreate') return { kind: 'create-file', path, mode: fileMode };
  return entry === rule.entry ? { kind: 'good' } : { kind: 'refused', message: `hostPath type check failed: ${path} is not ${rule.text}` };
}
