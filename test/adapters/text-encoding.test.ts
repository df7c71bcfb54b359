// The Buffer-based text encoding against TextEncoder and TextDecoder, which the protobuf library would use without it.
import { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire';
import fc from 'fast-check';
import t from 'tap';
import { checkUtf8, decodeUtf8, encodeUtf8, encodeUtf8Into, installTextEncoding } from '../../src/adapters/cri/text-encoding.js';

const encoder = new TextEncoder();
const lenient = new TextDecoder('utf-8', { ignoreBOM: true });
const strict = new TextDecoder('utf-8', { ignoreBOM: true, fatal: true });

const texts: readonly (readonly [string, string, boolean])[] = [
  ['empty', '', true],
  ['ASCII with NUL', 'a\0b', true],
  ['two, three and four bytes', '\u00e9\u6f22\u{1f980}', true],
  ['leading U+FEFF is text', '\ufeffx', true],
  ['last code point', '\u{10ffff}', true],
  ['lone high surrogate', 'a\ud800b', false],
  ['lone low surrogate', '\udc00', false],
  ['surrogates the wrong way round', '\udc00\ud800', false],
  ['high surrogate at the end after a pair', '\u{1f980}\ud83e', false],
  ['longer than any fast path', '\u00e9'.repeat(5000), true],
];

const byteRows: readonly (readonly [string, readonly number[]])[] = [
  ['overlong slash', [0xc0, 0xaf]],
  ['overlong NUL', [0xe0, 0x80, 0x80]],
  ['surrogate', [0xed, 0xa0, 0x80]],
  ['truncated at the end', [0x61, 0xf0, 0x9f, 0xa6]],
  ['truncated before ASCII', [0xe6, 0xbc, 0x61]],
  ['lone continuation', [0x80]],
  ['above U+10FFFF', [0xf4, 0x90, 0x80, 0x80]],
  ['never a byte of UTF-8', [0xfe, 0xff]],
  ['byte-order mark', [0xef, 0xbb, 0xbf, 0x78]],
  ['good', [0xc3, 0xa9, 0xe6, 0xbc, 0xa2]],
];

/** What a strict decoder says: the text, or null when it refuses. */
function strictly(decode: () => string): string | null {
  try {
    return decode();
  } catch (error) {
    if (error instanceof TypeError) return null;
    throw error;
  }
}

function sameInto(text: string): boolean {
  const mine = new Uint8Array(text.length * 3 + 2).fill(0x2a);
  const theirs = mine.slice();
  const { written } = encodeUtf8Into(text, mine.subarray(1));
  return written === encoder.encodeInto(text, theirs.subarray(1)).written && Buffer.compare(mine, theirs) === 0;
}

t.test('texts', async (t) => {
  for (const [name, text, wellFormed] of texts) {
    t.equal(Buffer.compare(encodeUtf8(text), encoder.encode(text)), 0, `${name}: bytes`);
    t.ok(sameInto(text), `${name}: into a larger array, nothing beside it touched`);
    t.equal(checkUtf8(text), wellFormed, `${name}: survives or not`);
    t.equal(decodeUtf8(encodeUtf8(text)) === text, wellFormed, `${name}: round trip`);
  }
});

t.test('bytes from outside', async (t) => {
  for (const [name, values] of byteRows) {
    const bytes = Uint8Array.from([0x2a, ...values, 0x2a]).subarray(1, -1);
    t.equal(decodeUtf8(bytes), lenient.decode(bytes), `${name}: lenient`);
    t.equal(decodeUtf8(Buffer.from(bytes)), lenient.decode(bytes), `${name}: lenient, from a Buffer`);
    const [mine, theirs] = [strictly(() => decodeUtf8(bytes, true)), strictly(() => strict.decode(bytes))];
    t.equal(mine, theirs, `${name}: strict`);
  }
});

t.test('any text, any bytes', async (t) => {
  const anyUnits = fc.array(fc.integer({ min: 0, max: 0xffff })).map((units) => String.fromCharCode(...units));
  const texts = fc.property(fc.oneof(anyUnits, fc.string({ unit: 'binary' })), (text) => {
    const bytes = encodeUtf8(text);
    return Buffer.compare(bytes, encoder.encode(text)) === 0 && sameInto(text) && checkUtf8(text) === (decodeUtf8(bytes) === text);
  });
  const bytes = fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
    const sameStrict = strictly(() => decodeUtf8(bytes, true)) === strictly(() => strict.decode(bytes));
    return sameStrict && decodeUtf8(bytes) === lenient.decode(bytes);
  });
  t.doesNotThrow(() => fc.assert(texts));
  t.doesNotThrow(() => fc.assert(bytes, { numRuns: 500 }));
});

t.test('installed: the library writes and reads the same', async (t) => {
  const write = () => texts.map(([, text]) => Buffer.from(new BinaryWriter().string(text).finish()).toString('hex'));
  const read = () => byteRows.map(([, bytes]) => new BinaryReader(Uint8Array.from([bytes.length, ...bytes])).string());
  const before = { written: write(), read: read() };
  installTextEncoding();
  installTextEncoding();
  const decodes = t.capture(TextDecoder.prototype, 'decode', TextDecoder.prototype.decode);
  t.same({ written: write(), read: read() }, before);
  t.throws(() => new BinaryReader(Uint8Array.of(2, 0xc0, 0xaf)).string(true), TypeError, 'strict reading refuses');
  t.equal(decodes().length, 0, 'TextDecoder is out of use');
});
