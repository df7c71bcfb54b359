// Whether the process at the other end of a TCP connection on this host has closed it, from the kernel's connection table.
//
// A process that closes leaves its last output to the kernel. The kernel drops it, and answers with a reset, as soon as anything more is sent
// to the closed connection. No received byte announces this: the end comes after the bytes that are dropped. But if both ends are on one host,
// the other end has a row of its own in /proc/net/tcp, whose state changes at once.
// Invariant: `closed` requires the connection's own row in the table, so that another network namespace gives `unknown`.
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Socket } from 'node:net';

export type PeerState = 'open' | 'closed' | 'unknown';

const tables = ['/proc/net/tcp', '/proc/net/tcp6'];
/** States of a connection whose process may still read, in the kernel's numbers: established, and ended by this end only. */
const readingStates: ReadonlySet<string> = new Set(['01', '08']);

/** A longer table is not read again in the caller's turn: some hundred connections, a tenth of a millisecond. */
const shortTableCharacters = 128 * 1024;

/** Resolves; `unknown` where the table can't be read or the other end is on another host. */
export async function localPeerState({ localPort, remotePort, localAddress, remoteAddress }: Socket): Promise<PeerState> {
  if (localPort === undefined || remotePort === undefined || !isOnThisHost(localAddress, remoteAddress)) return 'unknown';
  let hasOwnRow = false;
  for (const table of tables) {
    const text = await readFile(table, 'latin1').catch(() => '');
    const row = peerRow(text, localPort, remotePort);
    if (row === 'open') return hasClosedMeanwhile(table, text.length, localPort, remotePort) ? 'closed' : 'open';
    if (row === 'closed') return 'closed';
    hasOwnRow ||= row === 'own';
  }
  return hasOwnRow ? 'closed' : 'unknown';
}

/** Read again at once: on a busy host the table is old by the time its reader has its turn, and the caller writes in this turn. */
function hasClosedMeanwhile(table: string, length: number, localPort: number, remotePort: number): boolean {
  if (length > shortTableCharacters) return false;
  try {
    const row = peerRow(readFileSync(table, 'latin1'), localPort, remotePort);
    return row === 'closed' || row === 'own';
  } catch {
    return false;
  }
}

/** `own`: of the two ends, the table has this one alone. */
function peerRow(text: string, localPort: number, remotePort: number): 'open' | 'closed' | 'own' | 'none' {
  const state = stateIn(text, remotePort, localPort);
  if (state !== null) return readingStates.has(state) ? 'open' : 'closed';
  return stateIn(text, localPort, remotePort) === null ? 'none' : 'own';
}

function isOnThisHost(local = '', remote = ''): boolean {
  return local === remote || /^(::ffff:)?127\.|^::1$/.test(remote);
}

/** The state of a row; null if absent. */
function stateIn(table: string, ownPort: number, otherPort: number): string | null {
  return new RegExp(`:${portText(ownPort)} [0-9A-F]{8,32}:${portText(otherPort)} ([0-9A-F]{2}) `).exec(table)?.[1] ?? null;
}

function portText(port: number): string {
  return port.toString(16).toUpperCase().padStart(4, '0');
}
