// Archives as `kubectl cp` sends and reads them (ustar, POSIX 1003.1): regular files and directories; long names by pax headers.
// Invariant: a name that leads out of the directory is refused; sizes are checked against the available bytes.

export interface TarEntry {
  readonly name: string;
  readonly kind: 'file' | 'directory' | 'other';
  readonly content: Buffer;
}

const blockBytes = 512;
const nameBytes = 100;
const regularMode = '0000644';

/** Throws an Error for a malformed archive. */
export function readTar(bytes: Buffer): readonly TarEntry[] {
  const entries: TarEntry[] = [];
  let pax = '';
  for (let at = 0; at + blockBytes <= bytes.length; ) {
    const head = bytes.subarray(at, at + blockBytes);
    if (head.every((byte) => byte === 0)) break;
    if (sumOf(head) !== Number.parseInt(text(head, 148, 8), 8)) throw new Error('This does not look like a tar archive');
    const size = Number.parseInt(text(head, 124, 12) || '0', 8);
    const content = bytes.subarray(at + blockBytes, at + blockBytes + size);
    if (!Number.isInteger(size) || content.length < size) throw new Error('Unexpected EOF in archive');
    at += blockBytes + Math.ceil(size / blockBytes) * blockBytes;
    const type = String.fromCharCode(head[156] ?? 0);
    if (type === 'x') {
      pax = /(?:^|\n)\d+ path=([^\n]*)\n/.exec(content.toString('utf8'))?.[1] ?? '';
      continue;
    }
    const prefix = text(head, 345, 155);
    const name = pax || (prefix === '' ? text(head, 0, nameBytes) : `${prefix}/${text(head, 0, nameBytes)}`);
    pax = '';
    if (name.split('/').includes('..')) throw new Error(`${name}: name not allowed`);
    entries.push({ name, kind: type === '5' ? 'directory' : type === '0' || type === '\0' ? 'file' : 'other', content });
  }
  return entries;
}

export function writeTar(files: readonly (readonly [name: string, content: Buffer])[], seconds: number): Buffer {
  const parts: Buffer[] = [];
  for (const [name, content] of files) {
    if (Buffer.byteLength(name) > nameBytes) {
      const record = paxRecord('path', name);
      parts.push(head('pax', record.length, 'x', seconds), padded(record));
    }
    parts.push(head(name, content.length, '0', seconds), padded(content));
  }
  return Buffer.concat([...parts, Buffer.alloc(2 * blockBytes)]);
}

function head(name: string, size: number, type: string, seconds: number): Buffer {
  const block = Buffer.alloc(blockBytes);
  block.write(name, 0, nameBytes);
  for (const [at, field] of [
    [100, regularMode],
    [108, '0000000'],
    [116, '0000000'],
    [124, size.toString(8).padStart(11, '0')],
    [136, seconds.toString(8).padStart(11, '0')],
    [156, type],
    [257, 'ustar\x0000'],
  ] as const)
    block.write(field, at, 'latin1');
  block.write(`${sumOf(block).toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return block;
}

/** Its length is part of it. */
function paxRecord(key: string, value: string): Buffer {
  const rest = ` ${key}=${value}\n`;
  let length = Buffer.byteLength(rest);
  while (String(length).length + Buffer.byteLength(rest) !== length) length = String(length).length + Buffer.byteLength(rest);
  return Buffer.from(`${length}${rest}`);
}

function padded(content: Buffer): Buffer {
  return Buffer.concat([content, Buffer.alloc((blockBytes - (content.length % blockBytes)) % blockBytes)]);
}

/** With its own field counted as blanks. */
function sumOf(block: Buffer): number {
  return block.reduce((sum, byte, at) => sum + (at >= 148 && at < 156 ? 0x20 : byte), 0);
}

function text(block: Buffer, at: number, length: number): string {
  return block
    .toString('utf8', at, at + length)
    .replace(/\0[\s\S]*$/, '')
    .trim();
}
