// Host paths that hostPath volumes name. Each check has a thread of its own, so that a dead network file system blocks no other check.
import { constants, mkdir, open } from 'node:fs/promises';
import type { Call, PortOf } from '../../ports/operation.js';
import type { HostPathKind, HostPathOperations } from '../../ports/outbound/pod-volumes.js';
import type { Trees } from '../native-linux/index.js';
import { carryOut } from '../storage/index.js';

const formatBits = 0o170000;
const kinds: ReadonlyMap<number, HostPathKind> = new Map([
  [0o040000, 'directory'],
  [0o100000, 'file'],
  [0o140000, 'socket'],
  [0o020000, 'char-device'],
  [0o060000, 'block-device'],
]);

export class LinuxHostPaths implements PortOf<HostPathOperations> {
  constructor(private readonly trees: Trees) {}

  inspect({ path }: { readonly path: string }, call: Call): Promise<HostPathKind> {
    return carryOut('hostPaths.inspect', path, call, async () => {
      const entry = await this.trees.status(path, true).catch(() => null);
      return entry === null ? 'absent' : (kinds.get(entry.mode & formatBits) ?? 'other');
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
