// The encodings and digests that the domain carries itself, against the host's own, and the naming rules.
import { createHash } from 'node:crypto';
import { crc32 as zlibCrc32 } from 'node:zlib';
import fc from 'fast-check';
import t from 'tap';
import { base64Decode, base64Encode } from '../../src/domain/values/base64.js';
import { crc32 } from '../../src/domain/values/crc32.js';
import {
  dns1123LabelProblems,
  dns1123SubdomainProblems,
  envVarNameProblems,
  isDns1123Label,
  isDns1123Subdomain,
  labelValueProblems,
  portNameProblems,
  qualifiedNameProblems,
} from '../../src/domain/values/dns-names.js';
import { fnv1aHash32, fnv1aHash64, fnv1aHash128Hex, fnv1Hash32 } from '../../src/domain/values/fnv.js';
import { hexOfBytes } from '../../src/domain/values/hex.js';
import { sha256 } from '../../src/domain/values/sha256.js';
import { isValidUtf8, utf8Decode, utf8Encode, utf8Length } from '../../src/domain/values/utf8.js';

const bytes = fc.uint8Array({ maxLength: 300 });
const text = fc.string({ unit: 'binary' });
/** Bytes that are nearly text: the places where decoders differ. */
const nearlyText = fc
  .array(fc.constantFrom(0x41, 0x80, 0xbf, 0xc0, 0xc2, 0xe0, 0xa0, 0xed, 0x9f, 0xef, 0xf0, 0x90, 0xf4, 0x8f, 0xf5), { maxLength: 12 })
  .map((array) => Uint8Array.from(array));

t.test('encodings and digests agree with the host', async (t) => {
  const property = (name: string, holds: fc.IRawProperty<unknown>): void => {
    t.doesNotThrow(() => fc.assert(holds, { numRuns: 300 }), name);
  };
  property(
    'utf8 encodes as Buffer',
    fc.property(text, (s) => Buffer.from(s).equals(utf8Encode(s)) && utf8Length(s) === Buffer.byteLength(s)),
  );
  property(
    'lone surrogates too',
    fc.property(fc.string({ unit: fc.constantFrom('\ud800', '\udc00', 'a', '\u00e9') }), (s) => Buffer.from(s).equals(utf8Encode(s))),
  );
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const strict = (b: Uint8Array): boolean => {
    try {
      new TextDecoder('utf-8', { fatal: true }).decode(b);
      return true;
    } catch {
      return false;
    }
  };
  property(
    'utf8 decodes as TextDecoder',
    fc.property(fc.oneof(bytes, nearlyText), (b) => utf8Decode(b) === decoder.decode(b) && isValidUtf8(b) === strict(b)),
  );
  property(
    'base64 as Buffer, there and back',
    fc.property(bytes, (b) => base64Encode(b) === Buffer.from(b).toString('base64') && hexOfBytes(base64Decode(base64Encode(b)) as Uint8Array) === hexOfBytes(b)),
  );
  property(
    'sha256',
    fc.property(bytes, (b) => hexOfBytes(sha256(b)) === createHash('sha256').update(b).digest('hex')),
  );
  property(
    'crc32, also in two parts',
    fc.property(bytes, bytes, (a, b) => crc32(b, crc32(a)) === zlibCrc32(Buffer.concat([a, b]))),
  );
  const exact = (b: Uint8Array, offset: bigint, prime: bigint, width: bigint): bigint => {
    let hash = offset;
    for (const byte of b) hash = ((hash ^ BigInt(byte)) * prime) & ((1n << width) - 1n);
    return hash;
  };
  property(
    'fnv-1a against its definition',
    fc.property(
      bytes,
      (b) =>
        BigInt(fnv1aHash32(b)) === exact(b, 0x811c9dc5n, 0x01000193n, 32n) &&
        fnv1aHash64(b) === exact(b, 0xcbf29ce484222325n, 0x100000001b3n, 64n) &&
        BigInt(`0x${fnv1aHash128Hex(b)}`) === exact(b, 0x6c62272e07bb014262b821756295c58dn, (1n << 88n) + 0x13bn, 128n),
    ),
  );
  t.equal(fnv1Hash32(utf8Encode('foobar')), 0x31f0b262, 'fnv-1, the published value');
  t.equal(fnv1aHash32(utf8Encode('foobar')), 0xbf9cf968, 'fnv-1a, the published value');
  for (const broken of ['A', 'AA=', 'A===', '====', 'AA=A', 'AA-_', 'A\u00e9==']) t.equal(base64Decode(broken), null, `base64 ${JSON.stringify(broken)} is refused`);
  t.strictSame(base64Decode('aGVs\nbG8='), utf8Encode('hello'), 'line breaks are skipped');
});

t.test('names', async (t) => {
  const rows: readonly (readonly [check: (name: string) => string[], good: readonly string[], bad: readonly string[]])[] = [
    [dns1123LabelProblems, ['a', '0', 'a-b', 'x'.repeat(63)], ['', 'A', '-a', 'a-', 'a.b', 'a_b', 'x'.repeat(64), 'ä', 'a\n']],
    [dns1123SubdomainProblems, ['a.b', 'a', '1.2.3', 'a-b.c-d', 'x'.repeat(253)], ['', 'A.b', 'a..b', '.a', 'a.', 'a.-b', 'x'.repeat(254)]],
    [qualifiedNameProblems, ['a', 'A_b.c', 'example.com/x', 'kubernetes.io/config.hash'], ['', '/a', 'a/', 'A.b/c', 'a/b/c', '-a', 'x'.repeat(64)]],
    [labelValueProblems, ['', 'a', 'A.b_c-1', 'x'.repeat(63)], ['bad value!', '-a', 'a-', 'x'.repeat(64)]],
    [portNameProblems, ['http', 'a', '1a', 'a-b'], ['', 'HTTP', '80', 'a--b', '-a', 'a-', 'abcdefghijklmnop']],
    [envVarNameProblems, ['A', 'a b', '1', 'a.b-c', '$(A)'], ['', 'a=b', 'ä', 'a\tb']],
  ];
  for (const [check, good, bad] of rows) {
    for (const name of good) t.strictSame(check(name), [], `${check.name}: ${JSON.stringify(name)} is good`);
    for (const name of bad) t.ok(check(name).length > 0, `${check.name}: ${JSON.stringify(name)} is bad`);
  }
  t.strictSame(dns1123LabelProblems('a.b'), ['must not contain dots']);
  t.match(dns1123LabelProblems('A')[0] ?? '', /^a lowercase RFC 1123 label must consist of .*\(e\.g\. 'my-name', {2}or '123-abc', regex used for validation is '\[a-z0-9\]/);
  t.equal(isDns1123Label('a.b') || isDns1123Subdomain('a..b') || !isDns1123Label('a') || !isDns1123Subdomain('a.b'), false);
});
