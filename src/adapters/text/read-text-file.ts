// A small text file, whole. Throws the kernel's errors unchanged, and encoding errors with the file's name.
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { decodeText } from './decode-text.js';

/** The file exists, but has an unsupported encoding. */
export class EncodingError extends Error {}

export function readTextFileSync(path: string): string {
  return textOf(readFileSync(path), path);
}

export async function readTextFile(path: string): Promise<string> {
  return textOf(await readFile(path), path);
}

function textOf(bytes: Uint8Array, path: string): string {
  const decoded = decodeText(bytes);
  if (!decoded.ok) throw new EncodingError(`read ${path}: ${decoded.problem}`);
  return decoded.text;
}
