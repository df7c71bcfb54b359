// Checks at the agent's start whether a plugin can be run, so that a missing one doesn't surface at the first pull.
import { accessSync, constants, statSync } from 'node:fs';
import { join } from 'node:path';

/** The error of the directory, or of the plugin of that name in it; null: none. @param name null for the directory alone */
export function findPlugin(directory: string, name: string | null): string | null {
  if (name === null) return isThere(directory, 'directory') ? null : `plugin binary directory ${directory} did not exist`;
  const path = join(directory, name);
  if (!isThere(path, 'file')) return `plugin binary executable ${path} did not exist`;
  try {
    accessSync(path, constants.X_OK);
    return null;
  } catch {
    return `plugin binary executable ${path} is not executable`;
  }
}

function isThere(path: string, kind: 'directory' | 'file'): boolean {
  const found = path === '' ? undefined : statSync(path, { throwIfNoEntry: false });
  return kind === 'directory' ? found?.isDirectory() === true : found?.isFile() === true;
}
