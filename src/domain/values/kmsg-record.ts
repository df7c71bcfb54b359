// The text form of one /dev/kmsg record: `priority,sequence,microseconds,flags[,...];text`, then dictionary lines that begin with a space.
// Described in the kernel's Documentation/ABI/testing/dev-kmsg.
// Invariant: the message is the kernel's own text: control characters, backslashes and bytes above 126 stay `\xNN`, so that a name can't fake a line.
import { type GoParse, goQuote, parseGoInt } from './go-text.js';

export interface KmsgRecord {
  /** syslog's: level and 8 times the facility. */
  readonly priority: number;
  readonly sequence: number;
  readonly microsSinceBoot: bigint;
  /** With the dictionary, and the newline that ends each line. */
  readonly message: string;
}

export function parseKmsgRecord(raw: string): GoParse<KmsgRecord> {
  const semicolon = raw.indexOf(';');
  if (semicolon < 0) return { ok: false, error: "invalid kmsg; must contain a ';'" };
  const fields = raw.slice(0, semicolon).split(',');
  if (fields.length < 3) return { ok: false, error: 'invalid kmsg: must contain at least 3 comma separated fields' };
  const numbers: bigint[] = [];
  for (const [i, what] of (['priority', 'sequence number', 'timestamp'] as const).entries()) {
    const parsed = parseGoInt(fields[i] as string, 10, 64);
    if (!parsed.ok) return { ok: false, error: `could not parse ${goQuote(fields[i] as string)} as ${what}: ${parsed.error}` };
    numbers.push(parsed.value);
  }
  const [priority, sequence, microsSinceBoot] = numbers as [bigint, bigint, bigint];
  return { ok: true, value: { priority: Number(priority), sequence: Number(sequence), microsSinceBoot, message: raw.slice(semicolon + 1) } };
}
