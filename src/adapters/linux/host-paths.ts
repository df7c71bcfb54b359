// Paths of the host that hostPath volumes name. Looks run on libuv's pool: a dead network file system must not hold up the loop.
import type { Stats } from 'node:fs';
import { constants, mkdir, open, stat } from 'node:fs/promises';
import type { Call, PortOf } from '../../ports/operation.js';
import type { HostPathKind, HostPathOperations } from '../../ports/outbound/pod-volumes.js';
import { carryOut } from '../storage/index.js';

export class LinuxHostPaths implements PortOf<HostPathOperations> {
  inspect({ path }: { readonly path: string }, call: Call): Promise<HostPathKind> {
    return carryOut('hostPaths.inspect', path, call, async () => {
      const entry = await stat(path).catch(() => null);
      return entry === null ? 'absent' : kindOf(entry);
    });
  }

  make({ path, kind, mode }: HostPathOperations['make']['request'], call: Call): Promise<null> {
    return carryOut('hostPaths.make', path, call, async () => {
      if (kind === 'directory') await mkdir(path, { recursive: true, mode });
      else await (await open(path, constants.O_RDONLY | constants.O_CREAT, mode)).close();
      return null;
    });
  }
}

function kindOf(entry: Stats): HostPathKind {
  if (entry.isDirectory()) return 'directory';
  if (entry.isFile()) return 'file';
  if (entry.isSocket()) return 'socket';
  if (entry.isCharacterDevice()) return 'char-device';
  return entry.isBlockDevice() ? 'block-device' : 'other';
}
