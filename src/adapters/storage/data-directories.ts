// The kubelet's data directories, made at the start with the Go kubelet's modes.
// Invariant: a failure ends the start with the path and the reason, before any pod is handled.
import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { nodePluginsDirectory, pluginRegistrationDirectory } from '../../domain/values/pod-directories.js';
import { SetupFailure } from '../../ports/start-refusal.js';

export interface LabelledDirectory {
  readonly path: string;
  /** `plugins dir`, as the log names it. */
  readonly what: string;
}

const directoryMode = 0o750;
/** Checkpoints hold the memory of containers. */
const checkpointsMode = 0o700;
/** Log collectors without root permission follow its links. */
const linksMode = 0o755;

const goTexts: Readonly<Record<string, string>> = {
  EEXIST: 'not a directory',
  ENOTDIR: 'not a directory',
  EACCES: 'permission denied',
  EPERM: 'operation not permitted',
  EROFS: 'read-only file system',
  ENOSPC: 'no space left on device',
  EDQUOT: 'disk quota exceeded',
  ELOOP: 'too many levels of symbolic links',
  EIO: 'input/output error',
};

export interface DataDirectories {
  readonly rootDirectory: string;
  readonly podLogsDirectory: string;
  readonly containerLogLinks: string;
}

/** Errors: SetupFailure. */
export function makeDataDirectories({ rootDirectory, podLogsDirectory, containerLogLinks }: DataDirectories): void {
  make(rootDirectory, directoryMode);
  make(podLogsDirectory, directoryMode);
  for (const name of ['pods', 'plugins', 'plugins_registry', 'pod-resources']) make(join(rootDirectory, name), directoryMode);
  const checkpoints = join(rootDirectory, 'checkpoints');
  make(checkpoints, checkpointsMode);
  chmodSync(checkpoints, checkpointsMode);
  make(containerLogLinks, linksMode);
}

/** Those into which plugins put sockets. */
export function pluginDirectories(rootDirectory: string): readonly LabelledDirectory[] {
  return [
    { path: pluginRegistrationDirectory(rootDirectory), what: 'plugin registration dir' },
    { path: nodePluginsDirectory(rootDirectory), what: 'plugins dir' },
  ];
}

function make(path: string, mode: number): void {
  try {
    mkdirSync(path, { recursive: true, mode });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new SetupFailure(`mkdir ${path}: ${goTexts[code ?? ''] ?? message}`);
  }
}
