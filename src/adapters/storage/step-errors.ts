// Step lists on files, with their failures as the errors of Node's own calls, and as refusals if users need more.
// Invariant: the result of `carriedOut` has only failures that its steps tolerate.
import { getSystemErrorMap } from 'node:util';
import { type FileStep, type FileStepOutcomes, type FileStepRunner, FileSteps, listedEntries, type StepIndex, type StepRoot } from '../native-linux/index.js';
import { FileRefusal } from './file-errors.js';

/** System calls as Node's errors name them. */
const calls: Readonly<Record<FileStep['kind'], string>> = {
  enter: 'open',
  makeDirectory: 'mkdir',
  look: 'lstat',
  list: 'scandir',
  read: 'read',
  create: 'open',
  replace: 'write',
  write: 'write',
  unlink: 'unlink',
  removeDirectory: 'rmdir',
  rename: 'rename',
  link: 'symlink',
  readLink: 'readlink',
  removeTree: 'rm',
  removeDirectories: 'rmdir',
  noMountBelow: 'read',
};

export async function carriedOut(runner: FileStepRunner, list: FileSteps): Promise<FileStepOutcomes> {
  const outcomes = await runner.run(list);
  const failed = outcomes.failed(list);
  if (failed !== null) throw stepError(list, outcomes, failed);
  return outcomes;
}

/** For a step with a status below 0. */
export function stepError(list: FileSteps, outcomes: FileStepOutcomes, index: StepIndex): Error {
  const step = list.steps[index]!;
  const errno = outcomes.status(index);
  const [code, words] = getSystemErrorMap().get(errno) ?? [`errno ${-errno}`, 'unknown error'];
  const path = list.pathOf(step);
  if (step.kind === 'enter' && code === 'ELOOP') return new FileRefusal('permission-denied', `${path} is a symbolic link`);
  if (step.kind === 'noMountBelow' && code === 'EBUSY') return new FileRefusal('failed-precondition', `${outcomes.text(index)} is still mounted`);
  if (step.kind === 'removeTree') {
    const where = `${path.slice(0, path.length - step.name.length)}${outcomes.text(index)}`;
    if (code === 'ENOTDIR') return new FileRefusal('failed-precondition', `${where} is not a directory: data is left`);
    if (code === 'EBUSY') return new FileRefusal('failed-precondition', `cannot delete ${where}: it is a mount point`);
    if (code === 'ENOTEMPTY') return new FileRefusal('failed-precondition', `cannot delete ${where}: it is not empty`);
  }
  return Object.assign(new Error(`${code}: ${words}, ${calls[step.kind]} '${path}'`), { errno, code, syscall: calls[step.kind], path });
}

/** Names of the directories in one, sorted. */
export async function directoryNames(runner: FileStepRunner, directory: StepRoot): Promise<string[]> {
  const list = new FileSteps([directory]);
  const listed = list.list(0, '', true);
  return listedEntries((await carriedOut(runner, list)).text(listed))
    .map(({ name }) => name)
    .sort();
}
