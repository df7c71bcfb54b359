// The payload of an API data volume: files by relative path, and the rules for such paths.
// Invariant: a checked payload has clean relative paths that can't leave the volume or collide with the atomic writer's own names.
import { cleanPath } from '../values/slash-paths.js';
import { utf8Length } from '../values/utf8.js';

export interface PayloadFile {
  readonly bytes: Uint8Array;
  /** Permission bits, before the pod's fsGroup. */
  readonly mode: number;
  /** The owner; null for root. */
  readonly fsUser: number | null;
}

/** In source order: of two entries with one path the later one counts. */
export type VolumePayload = ReadonlyMap<string, PayloadFile>;

export type PayloadResult = { readonly ok: true; readonly payload: VolumePayload } | { readonly ok: false; readonly message: string };

const maxPathBytes = 4096;
const maxElementBytes = 255;

/** The same files under clean paths; any bad path refuses all of them. */
export function checkedPayload(payload: VolumePayload): PayloadResult {
  const clean = new Map<string, PayloadFile>();
  for (const [path, file] of payload) {
    const problem = payloadPathProblem(path);
    if (problem !== null) return { ok: false, message: problem };
    clean.set(cleanPath(path), file);
  }
  return { ok: true, payload: clean };
}

/** Null for a good path. A volume's own names begin with `..`, so no payload path may. */
export function payloadPathProblem(path: string): string | null {
  if (path === '') return 'invalid path: must not be empty: ""';
  if (path.startsWith('/')) return `invalid path: must be relative path: ${path}`;
  if (utf8Length(path) > maxPathBytes) return `invalid path: must be less than or equal to ${maxPathBytes} characters`;
  const elements = path.split('/');
  for (const element of elements) {
    if (element === '..') return `invalid path: must not contain '..': ${path}`;
    if (utf8Length(element) > maxElementBytes) return `invalid path: filenames must be less than or equal to ${maxElementBytes} characters`;
  }
  return elements[0]!.length > 2 && elements[0]!.startsWith('..') ? `invalid path: must not start with '..': ${path}` : null;
}
