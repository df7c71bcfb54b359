// IP addresses as bytes: parses texts of runtimes, nodes and users, and formats the API's canonical text.
// Invariant: 4 bytes for IPv4, including IPv4-mapped IPv6 addresses; 16 bytes otherwise.

export type IpAddress = Uint8Array;
export type IpFamily = 4 | 6;

export function ipFamily(address: IpAddress): IpFamily {
  return address.length === 4 ? 4 : 6;
}

/** null when the text is no address. Leading zeros in IPv4 parts are read as decimal, as the API has always done. */
export function parseIp(text: string): IpAddress | null {
  if (!text.includes(':')) return parseIpv4(text);
  const bytes = parseIpv6(text);
  if (bytes === null) return null;
  const mapped = bytes.subarray(0, 10).every((byte) => byte === 0) && bytes[10] === 0xff && bytes[11] === 0xff;
  return mapped ? bytes.slice(12) : bytes;
}

/** Dotted decimal, or lower-case groups with the longest run of zero groups (two at least, the first of equals) as `::`. */
export function formatIp(address: IpAddress): string {
  if (address.length === 4) return address.join('.');
  const groups = Array.from({ length: 8 }, (_, i) => (address[2 * i]! << 8) | address[2 * i + 1]!);
  const run = longestZeroRun(groups);
  const text = (from: number, to: number): string =>
    groups
      .slice(from, to)
      .map((group) => group.toString(16))
      .join(':');
  return run === null ? text(0, 8) : `${text(0, run.from)}::${text(run.to, 8)}`;
}

function longestZeroRun(groups: readonly number[]): { readonly from: number; readonly to: number } | null {
  let best: { from: number; to: number } | null = null;
  for (let from = 0; from < groups.length; from++) {
    let to = from;
    while (to < groups.length && groups[to] === 0) to++;
    if (to - from >= 2 && (best === null || to - from > best.to - best.from)) best = { from, to };
    from = to;
  }
  return best;
}

function parseIpv4(text: string): Uint8Array | null {
  const parts = text.split('.');
  if (parts.length !== 4 || !parts.every((part) => /^[0-9]+$/.test(part) && Number(part) <= 255)) return null;
  return Uint8Array.from(parts, Number);
}

function parseIpv6(text: string): Uint8Array | null {
  const halves = text.split('::');
  if (halves.length > 2) return null;
  const head = parseGroups(halves[0]!, halves.length === 1);
  const tail = halves.length === 2 ? parseGroups(halves[1]!, true) : [];
  if (head === null || tail === null) return null;
  const missing = 8 - head.length - tail.length;
  // `::` represents at least one group; without it all eight are written.
  if (halves.length === 2 ? missing < 1 : missing !== 0) return null;
  const groups = [...head, ...Array.from({ length: missing }, () => 0), ...tail];
  return Uint8Array.from(groups.flatMap((group) => [group >> 8, group & 0xff]));
}

/** The groups between colons; the last may be an IPv4 address, which makes two. */
function parseGroups(text: string, mayEndInIpv4: boolean): number[] | null {
  if (text === '') return [];
  const groups: number[] = [];
  const parts = text.split(':');
  for (const [i, part] of parts.entries()) {
    if (mayEndInIpv4 && i === parts.length - 1 && part.includes('.')) {
      const bytes = parseIpv4(part);
      if (bytes === null) return null;
      groups.push((bytes[0]! << 8) | bytes[1]!, (bytes[2]! << 8) | bytes[3]!);
    } else if (/^[0-9a-fA-F]{1,4}$/.test(part)) groups.push(Number.parseInt(part, 16));
    else return null;
  }
  return groups;
}
