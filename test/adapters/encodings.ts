// One text in the encodings that editors save: those that are read, and those that are refused by their name.

export function utf16(text: string, order: 'le' | 'be', hasMark: boolean): Uint8Array {
  const bytes = Buffer.from(`${hasMark ? '\ufeff' : ''}${text}`, 'utf16le');
  return order === 'le' ? bytes : bytes.swap16();
}

function utf32(text: string, order: 'le' | 'be', hasMark: boolean): Uint8Array {
  const points = [...`${hasMark ? '\ufeff' : ''}${text}`].map((character) => character.codePointAt(0) ?? 0);
  const bytes = Buffer.alloc(points.length * 4);
  for (const [i, point] of points.entries()) {
    if (order === 'le') bytes.writeUInt32LE(point, i * 4);
    else bytes.writeUInt32BE(point, i * 4);
  }
  return bytes;
}

export function encodings(text: string): readonly (readonly [name: string, bytes: Uint8Array])[] {
  const withReturns = text.replace(/\n/g, '\r\n');
  return [
    ['UTF-8', Buffer.from(text)],
    ['UTF-8 with a mark', Buffer.from(`\ufeff${text}`)],
    ['carriage returns', Buffer.from(withReturns)],
    ['a mark and carriage returns', Buffer.from(`\ufeff${withReturns}`)],
    ['UTF-16LE', utf16(text, 'le', true)],
    ['UTF-16BE with carriage returns', utf16(withReturns, 'be', true)],
  ];
}

export function unreadableEncodings(text: string): readonly (readonly [name: string, bytes: Uint8Array, problem: string])[] {
  return [
    ['UTF-16LE without a mark', utf16(text, 'le', false), 'the text looks like UTF-16LE without a byte order mark: expected UTF-8'],
    ['UTF-16BE without a mark', utf16(text, 'be', false), 'the text looks like UTF-16BE without a byte order mark: expected UTF-8'],
    ['half a character of UTF-16', utf16(`${text}a`, 'le', true).subarray(0, -1), 'the text is UTF-16LE by its byte order mark and not valid in it: expected UTF-8'],
    ['UTF-32LE', utf32(text, 'le', true), 'the text is UTF-32LE: expected UTF-8'],
    ['UTF-32BE', utf32(text, 'be', true), 'the text is UTF-32BE: expected UTF-8'],
    ['UTF-32LE without a mark', utf32(text, 'le', false), 'the text looks like UTF-32LE without a byte order mark: expected UTF-8'],
    ['Latin 1', Buffer.concat([Buffer.from(text), Uint8Array.of(0xfc)]), `invalid UTF-8 at byte ${Buffer.byteLength(text)}`],
    ['a program', Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0, 0, 0, 0, 0, 0, 0]), 'a binary file, not a text: expected UTF-8'],
  ];
}
