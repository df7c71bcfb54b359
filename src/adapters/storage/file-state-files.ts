// The agent's state files in its root directory: `cpu_manager_state` and similar ones.
// Invariant: only plain file names; an answered write survives kill -9 and power loss whole; only the agent's user can read it.
import type { Call, PortOf } from '../../ports/operation.js';
import type { StateFileOperations } from '../../ports/outbound/state-files.js';
import { carryOut, FileRefusal } from './file-errors.js';
import { StateDirectory } from './state-directory.js';

const directoryMode = 0o755;
const fileMode = 0o600;
const plainName = /^[a-z][a-z0-9_]*$/;

export class FileStateFiles implements PortOf<StateFileOperations> {
  private constructor(private readonly directory: StateDirectory) {}

  /** Throws the kernel's error. */
  static open(rootDirectory: string): FileStateFiles {
    return new FileStateFiles(StateDirectory.open(rootDirectory, directoryMode));
  }

  read({ name }: { readonly name: string }, call: Call): Promise<string | null> {
    return carryOut('stateFiles.read', name, call, () => {
      const bytes = this.directory.read(checked(name));
      return bytes === null ? null : Buffer.from(bytes).toString('utf8');
    });
  }

  write({ name, text }: { readonly name: string; readonly text: string }, call: Call): Promise<null> {
    return carryOut('stateFiles.write', name, call, async () => {
      await this.directory.write(checked(name), text, fileMode);
      return null;
    });
  }

  close(): Promise<void> {
    return this.directory.close();
  }
}

function checked(name: string): string {
  if (!plainName.test(name)) throw new FileRefusal('invalid-argument', `${JSON.stringify(name)} is no name of a state file`);
  return name;
}
