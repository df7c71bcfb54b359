// The files that containers of the mock runtime leave: logs in the CRI format, and termination messages.
// Invariant: writes only below a log directory, or into a termination file, that exists already and belongs to this user; follows no
// symlink; an unwritable file costs only its content.

import { closeSync, constants, fstatSync, lstatSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { dirname, posix } from 'node:path';
import { containerAnnotations } from '../../domain/values/container-labels.js';
import { instantOf } from '../../domain/values/instant.js';
import { formatRfc3339Micros, microsPerSecond } from '../../domain/values/time.js';
import type { Micros } from '../../ports/micros.js';
import type { SimContainer, SimRuntimeState } from '../../sim/index.js';
import { logPathOf } from './state-to-cri.js';

interface OpenLog {
  readonly container: SimContainer;
  /** -1: could not be opened; lines are counted all the same. */
  fd: number;
  /** Lines due so far. */
  lines: number;
}

/** Two blocks of zeros end a tar archive. */
const emptyArchiveBytes = 1_024;
/** The maximum of lines that one container catches up with at once, after a delay of the process. */
const maxLinesAtOnce = 10_000;

export class ContainerFiles {
  private readonly logs = new Map<string, OpenLog>();
  /** Exited containers whose message went into their termination file. */
  private readonly withMessageFile = new Set<string>();

  /** Listeners of a container's output, by its id. */
  private readonly listeners = new Map<string, Set<(text: string) => void>>();

  constructor(private readonly state: SimRuntimeState) {}

  /** Each line from now on, with its end. Returns how to hear no more. */
  listen(containerId: string, listener: (text: string) => void): () => void {
    const listeners = this.listeners.get(containerId) ?? new Set();
    this.listeners.set(containerId, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.listeners.delete(containerId);
    };
  }

  started(container: SimContainer): void {
    this.logs.set(container.id, { container, fd: this.openLog(container), lines: 0 });
  }

  stopped(container: SimContainer): void {
    const log = this.logs.get(container.id);
    if (log !== undefined) {
      this.writeDue(log, container.finishedAt ?? 0);
      if (log.fd >= 0) closeSync(log.fd);
      this.logs.delete(container.id);
    }
    const { ending } = container;
    if (ending !== null && ending.message !== '' && ending.reason !== 'StartError' && writeTerminationFile(container, ending.message)) this.withMessageFile.add(container.id);
  }

  deleted(containerId: string): void {
    this.withMessageFile.delete(containerId);
  }

  /** Reopens the log file by its path, after it was moved away. */
  reopen(containerId: string): void {
    const log = this.logs.get(containerId);
    if (log === undefined) return;
    if (log.fd >= 0) closeSync(log.fd);
    log.fd = this.openLog(log.container);
  }

  /** An empty archive: no process exists whose memory it could hold. */
  writeCheckpoint(location: string): void {
    if (!isOurDirectory(dirname(location))) return;
    attempt(() => {
      const fd = openSync(location, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, 0o600);
      try {
        writeSync(fd, Buffer.alloc(emptyArchiveBytes));
      } finally {
        closeSync(fd);
      }
    });
  }

  /** The runtime's own message of an exited container. */
  messageOf(container: SimContainer): string {
    return this.withMessageFile.has(container.id) ? '' : (container.ending?.message ?? '');
  }

  /** Whether any running container logs. */
  get logging(): boolean {
    for (const { container } of this.logs.values()) if (container.script.logLinesPerSecond > 0) return true;
    return false;
  }

  /** Writes the lines that are due. */
  write(now: Micros): void {
    for (const log of this.logs.values()) this.writeDue(log, now);
  }

  close(): void {
    for (const { fd } of this.logs.values()) if (fd >= 0) closeSync(fd);
    this.logs.clear();
  }

  private writeDue(log: OpenLog, now: Micros): void {
    const { script, startedAt, config } = log.container;
    const rate = script.logLinesPerSecond;
    if (rate === 0 || startedAt === null) return;
    const due = Math.floor(((now - startedAt) * rate) / microsPerSecond);
    const from = Math.max(log.lines, due - maxLinesAtOnce);
    let text = '';
    let said = '';
    for (let n = from + 1; n <= due; n++) {
      const line = `line ${n} of ${config.metadata.name}\n`;
      text += `${nanoTime(startedAt + Math.floor((n * microsPerSecond) / rate))} stdout F ${line}`;
      said += line;
    }
    if (said !== '') for (const listener of this.listeners.get(log.container.id) ?? []) listener(said);
    log.lines = Math.max(log.lines, due);
    if (text !== '' && log.fd >= 0) attempt(() => writeSync(log.fd, text));
  }

  private openLog(container: SimContainer): number {
    const path = logPathOf(container, this.state);
    const directory = this.state.sandboxes.get(container.sandboxId)?.config.logDirectory ?? '';
    if (path === '' || !path.startsWith(posix.join(directory, '/')) || !isOurDirectory(directory)) return -1;
    const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW } = constants;
    return attempt(() => {
      mkdirSync(dirname(path), { recursive: true });
      return openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0o640);
    }, -1);
  }
}

/** Nine digits of a second, as runtimes write it. */
function nanoTime(time: Micros): string {
  return `${formatRfc3339Micros(instantOf(time)).slice(0, -1)}000Z`;
}

function isOurDirectory(path: string): boolean {
  return attempt(() => {
    const status = lstatSync(path);
    return status.isDirectory() && status.uid === process.getuid?.();
  }, false);
}

function writeTerminationFile(container: SimContainer, message: string): boolean {
  const path = container.config.annotations[containerAnnotations.terminationMessagePath];
  const mount = path === undefined || path === '' ? undefined : container.config.mounts?.find(({ containerPath }) => containerPath === path);
  if (mount === undefined) return false;
  return attempt(() => {
    const fd = openSync(mount.hostPath, constants.O_WRONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const status = fstatSync(fd);
      if (!status.isFile() || status.uid !== process.getuid?.()) return false;
      writeSync(fd, message);
      return true;
    } finally {
      closeSync(fd);
    }
  }, false);
}

/** A disk that refuses is no reason to stop a mock runtime. */
function attempt(write: () => unknown): void;
function attempt<T>(write: () => T, otherwise: T): T;
function attempt<T>(write: () => T, otherwise?: T): T | undefined {
  try {
    return write();
  } catch {
    return otherwise;
  }
}
