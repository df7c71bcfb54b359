// File systems with a mount helper: `mount.<type> source target -o options`, as mount(8) calls it.
// Invariants: no shell, a defined environment; the program is killed at the call's deadline; its output is in the error, with
// the text after `password=` and similar keys masked.
import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import type { Call } from '../../ports/operation.js';
import { FileRefusal } from './file-errors.js';
import { mountArguments, withoutSecrets } from './mount-words.js';

/** A server that doesn't answer lets mount.nfs try for minutes; the agent tries again anyway. */
const helperTimeoutMs = 120_000;
const outputBytesMax = 64 * 1024;
const programEnvironment = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' };

export interface MountHelperRequest {
  readonly fsType: string;
  readonly source: string;
  readonly target: string;
  readonly options: readonly string[];
  readonly directories: readonly string[];
}

export function runMountHelper({ fsType, source, target, options, directories }: MountHelperRequest, call: Call): Promise<void> {
  if (!/^[a-z0-9.]+$/.test(fsType)) throw new FileRefusal('invalid-argument', `${JSON.stringify(fsType)} is no type of a file system`);
  // A source that begins with a dash would be taken for an option.
  if (source.startsWith('-')) throw new FileRefusal('invalid-argument', `${JSON.stringify(source)} is no source of a mount`);
  const program = `mount.${fsType}`;
  const path = directories.map((directory) => `${directory}/${program}`).find(isProgram);
  if (path === undefined) {
    throw new FileRefusal('failed-precondition', `${mountArguments({ fsType, source, target, options })}\nOutput: the node has no ${program} in ${directories.join(', ')}`);
  }
  const given = [source, target, ...(options.length === 0 ? [] : ['-o', options.join(',')])];
  return new Promise((resolve, reject) => {
    // execFile has no `detached`, so a helper's own children end with it at the latest when their server answers.
    const child = execFile(path, given, { env: programEnvironment, timeout: timeoutOf(call), killSignal: 'SIGKILL', maxBuffer: outputBytesMax }, (error, stdout, stderr) => {
      if (error === null) return resolve();
      const output = withoutSecrets(`${stdout}${stderr}`.trim());
      const status = error.killed === true ? 'deadline exceeded' : `exit status ${error.code ?? 'unknown'}`;
      reject(
        new FileRefusal(
          error.killed === true ? 'deadline-exceeded' : 'unavailable',
          `mount failed: ${status}\n${mountArguments({ fsType, source, target, options })}\nOutput: ${output}`,
        ),
      );
    });
    child.stdin?.end();
  });
}

export interface ProgramRequest {
  readonly program: string;
  /** Its arguments. */
  readonly given: readonly string[];
  readonly directories: readonly string[];
}

/** Runs a program of the system with an argument list. `failed-precondition` if the node lacks it. */
export function runProgram({ program, given, directories }: ProgramRequest, call: Call): Promise<void> {
  const path = directories.map((directory) => `${directory}/${program}`).find(isProgram);
  if (path === undefined) throw new FileRefusal('failed-precondition', `the node has no ${program} in ${directories.join(', ')}`);
  return new Promise((resolve, reject) => {
    const child = execFile(path, given, { env: programEnvironment, timeout: timeoutOf(call), killSignal: 'SIGKILL', maxBuffer: outputBytesMax }, (error, stdout, stderr) => {
      if (error === null) return resolve();
      const status = error.killed === true ? 'deadline exceeded' : `exit status ${error.code ?? 'unknown'}`;
      reject(new FileRefusal(error.killed === true ? 'deadline-exceeded' : 'unavailable', `${program} ${given.join(' ')}: ${status}: ${`${stdout}${stderr}`.trim()}`));
    });
    child.stdin?.end();
  });
}

function timeoutOf({ timeoutMicros }: Call): number {
  return timeoutMicros === null ? helperTimeoutMs : Math.min(helperTimeoutMs, Math.ceil(timeoutMicros / 1000));
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
