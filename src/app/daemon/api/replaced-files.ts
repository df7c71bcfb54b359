// Files that may be replaced while the daemon runs (certificates, authorities): checked each minute, and loaded if they are valid.
import { readFileSync } from 'node:fs';
import type { Logger } from '../../../ports/outbound/logger.js';
import type { Teardown } from '../teardown.js';

const lookMillis = 60_000;

/**
 * @param read returns the files' content; throws its error
 * @param take called after a change
 */
export function watchReplaced<Content>(what: string, files: readonly string[], read: () => Content, take: (content: Content) => void, logger: Logger, teardown: Teardown): void {
  let seen = contentsOf(files);
  const look = () => {
    const now = contentsOf(files);
    if (now === seen) return;
    try {
      take(read());
      seen = now;
      logger.log('info', 'Files were replaced and are in use', { what });
    } catch (error) {
      logger.log('error', 'Files were replaced by some that can not be used, the last good ones stay', { what, err: error instanceof Error ? error.message : String(error) });
    }
  };
  const timer = setInterval(look, lookMillis).unref();
  teardown.add(what, () => clearInterval(timer));
}

function contentsOf(files: readonly string[]): string {
  return files
    .map((file) => {
      try {
        return readFileSync(file, 'utf8');
      } catch {
        return '';
      }
    })
    .join('\0');
}
