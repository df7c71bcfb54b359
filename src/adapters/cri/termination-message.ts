// The message of a terminated container: the runtime's message, then its termination file or, with FallbackToLogsOnError, the end of
// its log. Truncation is in bytes and keeps the end.
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { readLogTail, systemErrorText } from './log-tail.js';

/** Limits of the Kubernetes API: the file, and the log that replaces it. */
const maxTerminationFileBytes = 4_096;
const maxTerminationLogBytes = 2_048;
const maxTerminationLogLines = 80;

/** The inputs of a terminated container's message. */
export interface TerminatedContainer {
  readonly exitCode: number;
  readonly reason: string;
  /** The runtime's own message. */
  readonly message: string;
  readonly terminationMessagePath: string;
  readonly terminationMessagePolicy: string;
  readonly mounts: readonly { readonly containerPath: string; readonly hostPath: string }[];
  readonly logPath: string;
}

/** Never fails: what went wrong while reading becomes the message. */
export async function terminationMessageOf(container: TerminatedContainer): Promise<string> {
  const left = await whatItLeft(container);
  if (container.message === '') return left;
  return left === '' ? container.message : `${container.message}: ${left}`;
}

async function whatItLeft(container: TerminatedContainer): Promise<string> {
  const text = await terminationFileText(container);
  if (text !== '' || !mayFallBackToLog(container)) return text;
  try {
    return (await readLogTail(container.logPath, maxTerminationLogLines, maxTerminationLogBytes)).toString('utf8');
  } catch (error) {
    return `Error on reading termination message from logs: ${error instanceof Error ? error.message : String(error)}`;
  }
}

function mayFallBackToLog({ terminationMessagePolicy, exitCode, reason }: TerminatedContainer): boolean {
  return terminationMessagePolicy === 'FallbackToLogsOnError' && exitCode !== 0 && reason !== 'ContainerCannotRun';
}

async function terminationFileText({ terminationMessagePath, mounts }: TerminatedContainer): Promise<string> {
  const mount = terminationMessagePath === '' ? undefined : mounts.find(({ containerPath }) => containerPath === terminationMessagePath);
  if (mount === undefined) return '';
  try {
    return (await lastBytes(mount.hostPath, maxTerminationFileBytes)).toString('utf8');
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' ? '' : `Error on reading termination log ${mount.hostPath}: ${syscall ?? 'read'} ${mount.hostPath}: ${systemErrorText(error)}`;
  }
}

async function lastBytes(path: string, maxBytes: number): Promise<Buffer> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK); // a FIFO mounted there must not hold us up
  try {
    const { size } = await file.stat();
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(maxBytes), position: Math.max(0, size - maxBytes) });
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}
