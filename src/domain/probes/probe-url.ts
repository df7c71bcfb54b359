// The path of an HTTP probe in its URL: users write paths with queries, spaces and escapes, which keep their meaning.
// Invariant: the result is empty or begins with `/`, and a valid escape is not escaped again.
import { utf8Encode } from '../values/utf8.js';

/** Path, query and fragment of `path`, percent-encoded where a URL needs it. A path that can't be read as one is taken literally. */
export function probeTarget(path: string): string {
  const hash = path.indexOf('#');
  const beforeFragment = hash < 0 ? path : path.slice(0, hash);
  const fragment = hash < 0 ? '' : path.slice(hash + 1);
  const question = beforeFragment.indexOf('?');
  const plain = question < 0 ? beforeFragment : beforeFragment.slice(0, question);
  const query = question < 0 ? '' : beforeFragment.slice(question);
  // Control characters and broken escapes: no URL at all, so every character of it is the path's.
  if (/[\0-\x1f\x7f]/.test(path) || hasBrokenEscape(plain) || hasBrokenEscape(fragment)) return rooted(percentEncoded(utf8Encode(path), pathCharacters));
  const encodedFragment = fragment === '' ? '' : `#${encoded(fragment, fragmentCharacters)}`;
  return rooted(encoded(plain, pathCharacters)) + query + encodedFragment;
}

/** Characters that are not escaped when a path or a fragment is encoded again. */
const pathCharacters = /[A-Za-z0-9\-_.~$&+,/:;=@]/;
const fragmentCharacters = /[A-Za-z0-9\-_.~$&+,/:;=?@!()*]/;
/** Characters that stay unescaped if they were written so. */
const tolerated = /[!$&'()*+,;=:@[\]%]/;

function hasBrokenEscape(text: string): boolean {
  return /%(?![0-9a-fA-F]{2})/.test(text);
}

/** Unchanged if it is a valid encoding, otherwise decoded and encoded again. */
function encoded(text: string, characters: RegExp): string {
  const isValid = [...text].every((character) => characters.test(character) || tolerated.test(character));
  return isValid ? text : percentEncoded(decoded(text), characters);
}

function decoded(text: string): Uint8Array {
  const bytes: number[] = [];
  for (const [part] of text.matchAll(/%[0-9a-fA-F]{2}|[^%]+/g)) {
    if (part.startsWith('%')) bytes.push(Number.parseInt(part.slice(1), 16));
    else for (const byte of utf8Encode(part)) bytes.push(byte);
  }
  return Uint8Array.from(bytes);
}

function percentEncoded(bytes: Uint8Array, characters: RegExp): string {
  let text = '';
  for (const byte of bytes) {
    const character = String.fromCharCode(byte);
    text += byte < 0x80 && characters.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return text;
}

function rooted(path: string): string {
  return path === '' || path.startsWith('/') ? path : `/${path}`;
}
