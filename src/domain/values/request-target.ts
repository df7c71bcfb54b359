// The target of an HTTP request: its path and query, and the decoded path.
import { utf8Decode } from './utf8.js';

/** A request target's path (origin or absolute form), still percent-encoded, and its query without `?`. */
export function splitTarget(target: string): { readonly path: string; readonly query: string } {
  const origin = target.replace(/^https?:\/\/[^/?]*/i, '');
  const at = origin.indexOf('?');
  return at < 0 ? { path: origin, query: '' } : { path: origin.slice(0, at), query: origin.slice(at + 1) };
}

/** Percent-decodes a path; null when an escape is broken, which a server answers with 400. */
export function decodePath(path: string): string | null {
  if (!path.includes('%')) return path;
  if (/%(?![0-9a-fA-F]{2})/.test(path)) return null;
  return path.replace(/(?:%[0-9a-fA-F]{2})+/g, (run) => utf8Decode(Uint8Array.from(run.slice(1).split('%'), (digits) => Number.parseInt(digits, 16))));
}
