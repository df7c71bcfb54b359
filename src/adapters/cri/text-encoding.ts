// How protobuf strings become bytes and back in this process. gRPC hands over messages as Buffers, so reading goes
// through Buffer's decoder in place of a TextDecoder; writing keeps TextEncoder, which beats Buffer's write. Since the
// library reads ASCII up to 32 bytes by itself, little is left to gain: bench/cri-decode.ts shows 0 to 4 % on CRI lists.
// It is a setting of the protobuf library, thus of every gRPC adapter, and readers and writers take it when they are
// made: install it before the first message.
// Invariant: byte for byte what the library's own encoding does, strict mode, lone surrogates and U+FEFF included.
import { Buffer, isUtf8 } from 'node:buffer';
import { configureTextEncoding } from '@bufbuild/protobuf/wire';

const encoder = new TextEncoder();
const loneSurrogate = /\p{Surrogate}/u;

/** UTF-8 of a text; a lone surrogate becomes U+FFFD, as UTF-8 has no form of it. */
export function encodeUtf8(text: string): Uint8Array<ArrayBuffer> {
  return Buffer.from(text, 'utf8');
}

/** Encodes to the start of `dest`, which the caller has made large enough (3 bytes for each UTF-16 unit). */
export function encodeUtf8Into(text: string, dest: Uint8Array): { written: number } {
  return encoder.encodeInto(text, dest);
}

/**
 * Text of UTF-8 bytes; a leading U+FEFF is kept as text.
 * Malformed bytes become U+FFFD, or a TypeError when `strict`.
 */
export function decodeUtf8(bytes: Uint8Array, strict = false): string {
  if (strict && !isUtf8(bytes)) throw new TypeError('The encoded data was not valid for encoding utf-8');
  // toString() without an argument is UTF-8 and skips the look-up of the encoding's name.
  return Buffer.isBuffer(bytes) ? bytes.toString() : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
}

/** Whether a text survives a round trip: false if it has a lone surrogate, which encoding would replace. */
export function checkUtf8(text: string): boolean {
  return !loneSurrogate.test(text);
}

let installed = false;

/** Makes the protobuf library use the functions above. Idempotent. */
export function installTextEncoding(): void {
  if (installed) return;
  configureTextEncoding({ encodeUtf8, encodeUtf8Into, decodeUtf8, checkUtf8 });
  installed = true;
}
