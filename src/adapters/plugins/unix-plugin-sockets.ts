// Registration sockets of plugins below a directory, found by listing it and watched by inotify. A notification says only that something
// changed: the receiver lists again, and the listing watches new directories.
// Invariants: links are not followed; a bounded number of directories and sockets is inspected.
import { lstatSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Call, PortOf } from '../../ports/operation.js';
import type { FileWatch, FileWatchEvent, FileWatchListener } from '../../ports/outbound/file-watch.js';
import type { PluginInfo, PluginSocket, PluginSocketOperations, PluginSocketsChanged } from '../../ports/outbound/plugin-sockets.js';
import { PortError } from '../../ports/port-error.js';
import { RegistrationService } from './gen/pluginregistration-v1.js';
import { callPlugin } from './plugin-calls.js';

const directoryMode = 0o750;
const infoMillis = 1_000;
const notifyMillis = 5_000;
/** Far more than a node has plugins. */
export const pluginDirectoriesMax = 256;
export const pluginSocketsMax = 1024;

export interface PluginSocketOptions {
  readonly directory: string;
  /** null: changes are found by listing alone. */
  readonly openFileWatch: ((listener: FileWatchListener) => FileWatch) | null;
  readonly deliver: (event: PluginSocketsChanged) => void;
}

export class UnixPluginSockets implements PortOf<PluginSocketOperations> {
  private watch: FileWatch | null = null;
  private isClosed = false;

  constructor(private readonly options: PluginSocketOptions) {}

  async scan(): Promise<PluginSocketOperations['scan']['reply']> {
    const { directory } = this.options;
    try {
      mkdirSync(directory, { recursive: true, mode: directoryMode });
      const sockets: PluginSocket[] = [];
      const directories = [directory];
      let watched = true;
      // A directory is watched before it is listed, so that nothing is made in between unseen.
      for (let i = 0; i < Math.min(directories.length, pluginDirectoriesMax); i++) {
        const path = directories[i] as string;
        watched = this.add(path) && watched;
        for (const name of namesIn(path)) look(join(path, name), directories, sockets);
      }
      sockets.sort((a, b) => (a.path < b.path ? -1 : 1));
      return { sockets: sockets.slice(0, pluginSocketsMax), watched: watched && directories.length <= pluginDirectoriesMax };
    } catch (error) {
      throw new PortError({
        kind: 'unavailable',
        message: error instanceof Error ? error.message : String(error),
        operation: 'pluginSockets.scan',
        subject: directory,
        cause: error,
      });
    }
  }

  async info({ socket }: { readonly socket: string }, call: Call): Promise<PluginInfo> {
    const method = RegistrationService.getInfo;
    const { type, name, endpoint, supportedVersions } = await callPlugin({ method, socket, request: {}, timeoutMillis: infoMillis, operation: 'pluginSockets.info' }, call);
    return { type, name, endpoint, supportedVersions };
  }

  async notify({ socket, registered, error }: PluginSocketOperations['notify']['request'], call: Call): Promise<null> {
    const method = RegistrationService.notifyRegistrationStatus;
    const request = { pluginRegistered: registered, error };
    await callPlugin({ method, socket, request, timeoutMillis: notifyMillis, operation: 'pluginSockets.notify' }, call);
    return null;
  }

  close(): void {
    this.isClosed = true;
    this.watch?.close();
    this.watch = null;
  }

  /** False: its changes aren't reported. */
  private add(path: string): boolean {
    const { openFileWatch } = this.options;
    if (openFileWatch === null || this.isClosed) return false;
    try {
      this.watch ??= openFileWatch((events) => this.saw(events));
      this.watch.add(path, 'changes');
      return true;
    } catch {
      return false;
    }
  }

  private saw(events: readonly FileWatchEvent[]): void {
    if (this.isClosed) return;
    // The next scan opens another one.
    if (events.some(({ kind }) => kind === 'failed')) this.watch = null;
    this.options.deliver({ type: 'plugin-sockets-changed' });
  }
}

/** A directory removed meanwhile is empty. */
function namesIn(path: string): string[] {
  try {
    return readdirSync(path).filter((name) => !name.startsWith('.'));
  } catch {
    return [];
  }
}

function look(path: string, directories: string[], sockets: PluginSocket[]): void {
  const status = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  if (status === undefined) return;
  if (status.isDirectory()) directories.push(path);
  // An inode's number is used again at once; the time it was made at is not.
  else if (status.isSocket()) sockets.push({ path, identity: `${status.ino}-${status.birthtimeNs}` });
}
