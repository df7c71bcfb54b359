// Whether what containers mount into their volumes for others (`mountPropagation: Bidirectional`, as drivers of volumes do) is seen outside of
// them: only where the mount that holds the root directory is shared. The reference binds the directory on itself and shares that; here it is
// left to whoever sets the node up (systemd shares everything), since a bind would hide what is mounted there already.
import { readFileSync, realpathSync } from 'node:fs';
import { type MountinfoEntry, parseMountinfo } from '../../adapters/native-linux/index.js';
import type { Logger } from '../../ports/outbound/logger.js';

export function tellRootPropagation(rootDirectory: string, logger: Logger): void {
  const problem = rootPropagationProblem(withoutLinks(rootDirectory), readFileSync('/proc/self/mountinfo', 'utf8'));
  if (problem !== null) logger.log('warn', 'Mounts of containers stay in them', { why: problem });
}

/** Before the first start it isn't there. */
function withoutLinks(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/** null: it is shared. @param rootDirectory without links @param mountinfo the kernel's table */
export function rootPropagationProblem(rootDirectory: string, mountinfo: string): string | null {
  let holder: MountinfoEntry | null = null;
  for (const entry of parseMountinfo(mountinfo)) {
    const holds = entry.mountPoint === '/' || rootDirectory === entry.mountPoint || rootDirectory.startsWith(`${entry.mountPoint}/`);
    if (holds && (holder === null || entry.mountPoint.length >= holder.mountPoint.length)) holder = entry;
  }
  if (holder === null || holder.tags.some((tag) => tag.startsWith('shared:'))) return null;
  return `the mount at ${holder.mountPoint} is not shared: what containers mount with Bidirectional propagation is not seen by others; mount --make-rshared ${holder.mountPoint}`;
}
