// Decodes a user's text in the encodings that Go's YAML reader accepts: UTF-8, or UTF-16 with a byte order mark. Another encoding is
// refused by its name, not by the errors of reading it as UTF-8.
//
// Invariant: the result has no byte order mark at its beginning; invalid bytes are never replaced by other characters.

export type DecodedText = { readonly ok: true; readonly text: string; readonly hasMark: boolean } | { readonly ok: false; readonly problem: string };

type Mark = readonly [name: string, bytes: readonly number[]];

/** The longer ones first: UTF-32LE begins as UTF-16LE does. */
const marks: readonly Mark[] = [
  ['UTF-32LE', [0xff, 0xfe, 0, 0]],
  ['UTF-32BE', [0, 0, 0xfe, 0xff]],
  ['UTF-8', [0xef, 0xbb, 0xbf]],
  ['UTF-16LE', [0xff, 0xfe]],
  ['UTF-16BE', [0xfe, 0xff]],
];

export function decodeText(bytes: Uint8Array): DecodedText {
  const [encoding, mark] = marks.find(([, mark]) => mark.every((byte, i) => bytes[i] === byte)) ?? ['', []];
  const content = bytes.subarray(mark.length);
  if (encoding.startsWith('UTF-32')) return { ok: false, problem: `the text is ${encoding}: expected UTF-8` };
  if (encoding === 'UTF-16LE' || encoding === 'UTF-16BE') {
    const text = decoded(content, encoding);
    return text === null ? { ok: false, problem: `the text is ${encoding} by its byte order mark and not valid in it: expected UTF-8` } : { ok: true, text, hasMark: true };
  }
  if (bytes.includes(0)) {
    const guess = encodingWithoutMark(content);
    return { ok: false, problem: guess === null ? 'a binary file, not a text: expected UTF-8' : `the text looks like ${guess} without a byte order mark: expected UTF-8` };
  }
  const text = decoded(content, 'UTF-8');
  return text === null ? { ok: false, problem: `invalid UTF-8 at byte ${mark.length + validPrefix(content)}` } : { ok: true, text, hasMark: mark.length > 0 };
}

function decoded(bytes: Uint8Array, encoding: string): string | null {
  try {
    return new TextDecoder(encoding, { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** Texts of configuration are ASCII for the most part: nearly every second byte of UTF-16, three of four of UTF-32 are 0. */
function encodingWithoutMark(bytes: Uint8Array): string | null {
  const looked = bytes.subarray(0, 512);
  const zeros = [0, 0, 0, 0];
  for (const [i, byte] of looked.entries()) if (byte === 0) zeros[i % 4] = (zeros[i % 4] as number) + 1;
  const [a, b, c, d] = zeros.map((count) => count * 4 >= looked.length * 0.7);
  if (b && c && d && !a) return 'UTF-32LE';
  if (a && b && c && !d) return 'UTF-32BE';
  if (b && d && !a && !c) return 'UTF-16LE';
  return a && c && !b && !d ? 'UTF-16BE' : null;
}

/** How many bytes are valid before the first that isn't. */
function validPrefix(bytes: Uint8Array): number {
  let [good, bad] = [0, bytes.length];
  while (bad - good > 1) {
    const middle = (good + bad) >> 1;
    // Up to three bytes of a character may be behind the end.
    if (isValidStart(bytes.subarray(0, middle))) good = middle;
    else bad = middle;
  }
  return good;
}

function isValidStart(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes, { stream: true });
    return true;
  } catch {
    return false;
  }
}
