// Makes the root directory a shared mount: mounts that containers make in their volumes for others (`mountPropagation: Bidirectional`, as CSI
// drivers do) are then visible outside of them, and recursive read-only mounts of it work. Like the Go kubelet, the agent bind-mounts the directory on itself
// and shares that (spec/node.md, data directories), unless the mount that holds it is shared already.
// Invariant: no mount below the directory is hidden: with such mounts the directory stays unchanged, and a warning reports it.
import { readFileSync, realpathSync } from 'node:fs';
import type { Call, PortOf } from '../../ports/operation.js';
import type { Logger } from '../../ports/outbound/logger.js';
import type { MountOperations } from '../../ports/outbound/mounts.js';
import { PortError } from '../../ports/port-error.js';
import { type MountinfoEntry, parseMountinfo } from '../native-linux/index.js';

const mountTable = '/proc/self/mountinfo';
const notShared = 'Root directory is not a shared mount, what containers mount with Bidirectional propagation stays in them';

/** Makes the existing directory a shared mount. Never fails: an obstacle is a warning. */
export async function shareRootDirectory(rootDirectory: string, mounts: Pick<PortOf<MountOperations>, 'bind' | 'propagate'>, logger: Logger, call: Call): Promise<void> {
  const root = realpathSync(rootDirectory);
  const plan = rootSharePlan(root, readFileSync(mountTable, 'utf8'));
  if (plan.kind === 'shared') return;
  if (plan.kind === 'hides') {
    logger.log('warn', notShared, { rootDirectory: root, mountedBelow: plan.below.slice(0, shownMax), advice: `mount --make-rshared ${plan.holder}` });
    return;
  }
  try {
    if (plan.kind === 'bind') await mounts.bind({ source: root, target: root, recursive: false, options: [] }, call);
    await mounts.propagate({ target: root, propagation: 'rshared' }, call);
  } catch (error) {
    if (!(error instanceof PortError)) throw error;
    logger.log('warn', notShared, { rootDirectory: root, err: error.message });
  }
}

const shownMax = 3;

export type RootSharePlan =
  | { readonly kind: 'shared' }
  /** The directory is a mount of its own already: it is to be shared. */
  | { readonly kind: 'propagate' }
  | { readonly kind: 'bind' }
  /** A bind would hide these mounts. @member holder the mount that holds the directory */
  | { readonly kind: 'hides'; readonly below: readonly string[]; readonly holder: string };

/** @param rootDirectory without links @param mountinfo the kernel's table, in which of several mounts at one place the last one is on top */
export function rootSharePlan(rootDirectory: string, mountinfo: string): RootSharePlan {
  const entries = parseMountinfo(mountinfo);
  let holder: MountinfoEntry | null = null;
  for (const entry of entries) {
    const holds = entry.mountPoint === '/' || rootDirectory === entry.mountPoint || rootDirectory.startsWith(`${entry.mountPoint}/`);
    if (holds && (holder === null || entry.mountPoint.length >= holder.mountPoint.length)) holder = entry;
  }
  if (holder === null || holder.tags.some((tag) => tag.startsWith('shared:'))) return { kind: 'shared' };
  if (holder.mountPoint === rootDirectory) return { kind: 'propagate' };
  const below = entries.map(({ mountPoint }) => mountPoint).filter((mountPoint) => mountPoint.startsWith(`${rootDirectory}/`));
  return below.length === 0 ? { kind: 'bind' } : { kind: 'hides', below, holder: holder.mountPoint };
}
