// The subordinate ids of a user, from the host's `getsubids`: the range for the user namespaces of pods.
// Invariant: without such a user or program the result is null, which selects the kubelet's own range; a program that fails is a failure.
import { execFile } from 'node:child_process';
import { accessSync, constants, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
/** A range is a line. */
const outputBytesMax = 1024 * 1024;
const timeMillisMax = 30_000;
const program = 'getsubids';

export interface SubordinateIdsOptions {
  readonly user: string;
  /** The value of PATH. */
  readonly searchPath: string;
  readonly passwdFile?: string;
}

/** Throws an Error that names the user if the program fails, takes longer than 30 s or prints more than 1 MiB. */
export async function readSubordinateIds({
  user,
  searchPath,
  passwdFile = '/etc/passwd',
}: SubordinateIdsOptions): Promise<{ readonly uids: string; readonly gids: string } | null> {
  if (!hasUser(passwdFile, user)) return null;
  const path = searchPath.split(':').find((directory) => directory.startsWith('/') && isProgram(join(directory, program)));
  if (path === undefined) return null;
  const ask = async (what: string, args: readonly string[]): Promise<string> => {
    try {
      return (await run(join(path, program), [...args, user], { timeout: timeMillisMax, maxBuffer: outputBytesMax, encoding: 'utf8' })).stdout;
    } catch (error) {
      throw new Error(`error retrieving additional ${what} for user ${JSON.stringify(user)}: ${error instanceof Error ? error.message.trim() : String(error)}`);
    }
  };
  return { uids: await ask('ids', []), gids: await ask('gids', ['-g']) };
}

function hasUser(passwdFile: string, user: string): boolean {
  let text: string;
  try {
    text = readFileSync(passwdFile, 'utf8');
  } catch (error) {
    // The host has no such user.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
  return text.split('\n').some((line) => line.startsWith(`${user}:`));
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
