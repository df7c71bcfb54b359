// Intents and records of image pulls as files: `<root>/image_manager/{pulling,pulled}/sha256-<hex>`.
// Invariant: an answered write survives kill -9 and power loss whole; only the agent's user can read it.
import { join } from 'node:path';
import type { Call, PortOf } from '../../ports/operation.js';
import type { PullRecordFile, PullRecordKind, PullRecordOperations } from '../../ports/outbound/pull-records.js';
import { carryOut } from './file-errors.js';
import { StateDirectory } from './state-directory.js';

const directoryMode = 0o700;
const fileMode = 0o600;
const namePrefix = 'sha256-';
/** What another kubelet left half-written. */
const temporarySuffix = '.tmp';

export class FilePullRecords implements PortOf<PullRecordOperations> {
  private constructor(private readonly directories: Readonly<Record<PullRecordKind, StateDirectory>>) {}

  /** Throws the kernel's error. */
  static open({ rootDirectory }: { readonly rootDirectory: string }): FilePullRecords {
    const open = (kind: PullRecordKind) => StateDirectory.open(join(rootDirectory, 'image_manager', kind), directoryMode);
    return new FilePullRecords({ pulling: open('pulling'), pulled: open('pulled') });
  }

  list({ kind }: { readonly kind: PullRecordKind }, call: Call): Promise<readonly PullRecordFile[]> {
    return carryOut('pullRecords.list', kind, call, () => {
      const directory = this.directories[kind];
      const names = directory.names().filter((name) => name.startsWith(namePrefix) && !name.endsWith(temporarySuffix));
      return names.flatMap((name) => {
        const text = textOf(directory.read(name));
        return text === null ? [] : [{ name, text }];
      });
    });
  }

  read({ kind, name }: { readonly kind: PullRecordKind; readonly name: string }, call: Call): Promise<string | null> {
    return carryOut('pullRecords.read', name, call, () => textOf(this.directories[kind].read(name)));
  }

  write({ kind, name, text }: { readonly kind: PullRecordKind } & PullRecordFile, call: Call): Promise<null> {
    return carryOut('pullRecords.write', name, call, async () => {
      await this.directories[kind].write(name, text, fileMode);
      return null;
    });
  }

  remove({ kind, name }: { readonly kind: PullRecordKind; readonly name: string }, call: Call): Promise<null> {
    return carryOut('pullRecords.remove', name, call, async () => {
      await this.directories[kind].remove(name);
      return null;
    });
  }

  async close(): Promise<void> {
    await Promise.all([this.directories.pulling.close(), this.directories.pulled.close()]);
  }
}

function textOf(bytes: Uint8Array | null): string | null {
  return bytes === null ? null : Buffer.from(bytes).toString('utf8');
}
