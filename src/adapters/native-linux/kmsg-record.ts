// The text form of one /dev/kmsg record: `priority,sequence,microseconds,flags[,...];text`, then dictionary lines that begin with a space.
// Described in the kernel's Documentation/ABI/testing/dev-kmsg.
import type { KernelLogRecord } from '../../ports/outbound/kernel-log.js';

/** null for text that isn't a record. */
export function parseKmsgRecord(raw: string): KernelLogRecord | null {
  const semicolon = raw.indexOf(';');
  if (semicolon < 0) return null;
  const [priority, sequence, micros] = raw.slice(0, semicolon).split(',').map(Number);
  if (!isCount(priority) || !isCount(sequence) || !isCount(micros)) return null;
  const end = raw.indexOf('\n', semicolon);
  const text = raw.slice(semicolon + 1, end < 0 ? undefined : end);
  return { level: priority & 7, facility: priority >> 3, sequence, sinceBootMicros: micros, text: text.includes('\\x') ? unescaped(text) : text };
}

function isCount(value: number | undefined): value is number {
  return value !== undefined && Number.isSafeInteger(value) && value >= 0;
}

/** The kernel writes control characters, the backslash and bytes above 126 as \xNN, byte by byte. */
function unescaped(text: string): string {
  const bytes: Buffer[] = [];
  let from = 0;
  for (const match of text.matchAll(/\\x([0-9a-f]{2})/g)) {
    bytes.push(Buffer.from(text.slice(from, match.index)), Buffer.from([Number.parseInt(match[1]!, 16)]));
    from = match.index + match[0].length;
  }
  bytes.push(Buffer.from(text.slice(from)));
  return Buffer.concat(bytes).toString('utf8');
}
