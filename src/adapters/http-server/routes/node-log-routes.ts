// /logs/: the files under /var/log, as a file server shows them (spec/config-and-api.md, 10.2).
// Invariant: nothing outside the directory is read, even through links: paths are opened beneath it, one element at a time.
import type { FileHandle } from 'node:fs/promises';
import { notFound, plainText, redirect, strictText } from '../http-answer.js';
import type { KubeletAnswer, KubeletQuestion, KubeletRoute } from '../kubelet-routes.js';

export type LogEntry =
  | { readonly kind: 'directory'; readonly names: readonly { readonly name: string; readonly isDirectory: boolean }[] }
  | { readonly kind: 'file'; readonly file: FileHandle; readonly size: number; readonly modifiedMillis: number }
  /** Neither: a device, a socket, or something that can't be reached. */
  | { readonly kind: 'none' };

/** Opens an entry below the log directory; `elements` has no empty, `.` or `..` element. */
export type OpenLogEntry = (elements: readonly string[]) => Promise<LogEntry>;

const chunkBytes = 64 * 1024;

export function nodeLogRoute(open: OpenLogEntry): KubeletRoute {
  return { pattern: '/logs/', methods: ['GET'], produces: null, answer: (question) => answer(open, question) };
}

/** A switched-off endpoint. */
export function disabledRoute(pattern: string, message: string): KubeletRoute {
  return { pattern, methods: null, produces: null, answer: () => strictText(405, message) };
}

async function answer(open: OpenLogEntry, question: KubeletQuestion): Promise<KubeletAnswer | null> {
  const { elements, path, method, headers } = question;
  const wanted = elements.slice(1);
  if (wanted.some((element) => element === '.' || element === '..' || element.includes('/') || element.includes('\0'))) return notFound;
  const entry = await open(wanted);
  if (entry.kind === 'none') return notFound;
  if (entry.kind === 'directory') {
    if (!path.endsWith('/')) return redirect(method, `${elements.at(-1) ?? ''}/`);
    return { status: 200, headers: { 'Content-Type': 'text/html; charset=utf-8' }, body: listing(entry.names) };
  }
  if (path.endsWith('/')) {
    await entry.file.close();
    return redirect(method, `../${encodeURIComponent(elements.at(-1) ?? '')}`);
  }
  return fileAnswer(entry, headers.range, headers['if-modified-since']);
}

function listing(names: readonly { readonly name: string; readonly isDirectory: boolean }[]): string {
  const lines = names.map(({ name, isDirectory }) => {
    const shown = `${name}${isDirectory ? '/' : ''}`;
    return `<a href="${encodeURI(shown).replace(/[?#]/g, encodeURIComponent)}">${shown.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)}</a>\n`;
  });
  return `<!doctype html>\n<meta name="viewport" content="width=device-width">\n<pre>\n${lines.join('')}</pre>\n`;
}

async function fileAnswer(entry: Extract<LogEntry, { kind: 'file' }>, range: string | undefined, since: string | undefined): Promise<KubeletAnswer> {
  const { file, size, modifiedMillis } = entry;
  const headers = { 'Content-Type': 'text/plain; charset=utf-8', 'Accept-Ranges': 'bytes', 'Last-Modified': new Date(modifiedMillis).toUTCString() };
  const sinceMillis = since === undefined ? Number.NaN : Date.parse(since);
  if (Math.floor(modifiedMillis / 1000) * 1000 <= sinceMillis) {
    await file.close();
    return { status: 304, headers: { 'Last-Modified': headers['Last-Modified'] }, body: '' };
  }
  const part = rangeOf(range, size);
  if (part === 'unsatisfiable') {
    await file.close();
    return plainText(416, 'invalid range: failed to overlap\n', { 'Content-Range': `bytes */${size}` });
  }
  const [from, to] = part ?? [0, size];
  const length = { 'Content-Length': String(to - from) };
  const ranged = part === null ? {} : { 'Content-Range': `bytes ${from}-${to - 1}/${size}` };
  return { kind: 'stream', status: part === null ? 200 : 206, headers: { ...headers, ...length, ...ranged }, chunks: fileBytes(file, from, to) };
}

/** One range; null: the whole file, also for several ranges or malformed ones. */
function rangeOf(range: string | undefined, size: number): readonly [from: number, to: number] | 'unsatisfiable' | null {
  const match = /^bytes=(\d*)-(\d*)$/.exec(range ?? '');
  if (match === null || (match[1] === '' && match[2] === '')) return null;
  const [, first = '', last = ''] = match;
  if (first === '') return Number(last) === 0 ? 'unsatisfiable' : [Math.max(0, size - Number(last)), size];
  const to = last === '' ? size : Math.min(size, Number(last) + 1);
  return Number(first) >= size || to <= Number(first) ? 'unsatisfiable' : [Number(first), to];
}

/** A part of a file, which is closed at its end. */
export async function* fileBytes(file: FileHandle, from: number, to: number): AsyncGenerator<Uint8Array> {
  try {
    for (let at = from; at < to; ) {
      const { bytesRead, buffer } = await file.read(Buffer.alloc(Math.min(chunkBytes, to - at)), 0, Math.min(chunkBytes, to - at), at);
      // Truncated meanwhile; the announced length is no longer possible.
      if (bytesRead === 0) return;
      at += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}
