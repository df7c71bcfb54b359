// Files below /var/log for clients with access to the node's logs. Opened beneath it: a link that leads outside counts as absent.
import { constants, readdirSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { LogEntry, OpenLogEntry } from '../http-server/index.js';
import type { NativeLinux } from '../native-linux/index.js';

/** More than a directory of logs has; a listing of more would be cut without a word. */
const namesMax = 100_000;

export function nodeLogFiles(root: string, native: Pick<NativeLinux, 'openBeneath'>): OpenLogEntry {
  return async (elements) => {
    const path = elements.length === 0 ? '.' : join(...elements);
    try {
      const found = native.openBeneath(root, path, { flags: constants.O_RDONLY | constants.O_NONBLOCK, mode: 0, followSymlinks: true });
      try {
        return await entryOf(found.path);
      } finally {
        found.close();
      }
    } catch {
      return { kind: 'none' };
    }
  };
}

async function entryOf(path: string): Promise<LogEntry> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const stats = await file.stat();
  if (stats.isFile()) return { kind: 'file', file, size: stats.size, modifiedMillis: stats.mtimeMs };
  await file.close();
  if (!stats.isDirectory()) return { kind: 'none' };
  const entries = readdirSync(path, { withFileTypes: true }).slice(0, namesMax);
  const names = entries.map((entry) => ({ name: entry.name, isDirectory: entry.isDirectory() }));
  return { kind: 'directory', names: names.sort((a, b) => (a.name < b.name ? -1 : 1)) };
}
