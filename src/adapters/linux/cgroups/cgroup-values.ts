// Values of a cgroup as steps on its files, for the step list that creates its directories.
// Invariants: every value is tried, even after a failure; null causes no step; a controller that the host lacks has no values.
import { constants } from 'node:os';
import type { CgroupValues } from '../../../ports/model/cgroup-values.js';
import { byPath, type FileStepOutcomes, type FileStepRunner, FileSteps, type StepIndex, tolerated } from '../../native-linux/index.js';
import { errnoName, goFileText, stepError } from '../../storage/index.js';
import type { CgroupLayout } from './cgroup-layout.js';

/** How values become files: the domain's rules. */
export type CgroupFilesOf = (values: CgroupValues, version: 1 | 2) => readonly CgroupValueFile[];

export interface CgroupValueFile {
  /** Name in the cgroup's directory; on v1 its first part is the controller, and so the tree. */
  readonly name: string;
  readonly text: string;
}

export interface CgroupWrite extends CgroupValueFile {
  readonly directory: string;
}

/** The steps of one list that write values. */
export interface ValueSteps {
  readonly steps: readonly { readonly step: StepIndex; readonly write: CgroupWrite }[];
}

const { EBUSY, EINVAL, ENOENT } = constants.errno;
const numberBytesMax = 64;
const periodFile = 'cpu.cfs_period_us';
const quotaFile = 'cpu.cfs_quota_us';
const memoryFile = 'memory.limit_in_bytes';
/** Pages reserved ahead of use: kernels before 5.7 don't count them. */
const reservedPages = /^hugetlb\..+\.rsvd\./;
/** Not every kernel has huge pages under control, nor processes. */
const optionalControllers: ReadonlySet<string> = new Set(['hugetlb', 'pids']);

/** The file of each value. @param directoryOf the cgroup's directory below a mount point */
export function valueWrites(files: readonly CgroupValueFile[], layout: CgroupLayout, directoryOf: (mountPoint: string) => string): CgroupWrite[] {
  return files.flatMap(({ name, text }) => {
    const hierarchy = layout.version === 2 ? layout.hierarchies[0] : layout.hierarchies.find(({ controllers }) => controllers.includes(controllerOf(name)));
    return hierarchy === undefined ? [] : [{ name, text, directory: directoryOf(hierarchy.mountPoint) }];
  });
}

export function addValueSteps(list: FileSteps, writes: readonly CgroupWrite[]): ValueSteps {
  return { steps: writes.map((write) => ({ write, step: list.write(byPath, `${write.directory}/${write.name}`, write.text, tolerated.anything) })) };
}

/** What kept values from being written, after a second try of those that depend on each other; null: nothing. */
export async function valueProblem(runner: FileStepRunner, list: FileSteps, outcomes: FileStepOutcomes, { steps }: ValueSteps): Promise<Error | null> {
  const failed = steps.filter(({ step, write }) => outcomes.status(step) < 0 && !isBeyondHost(write.name, outcomes.status(step)));
  const [first] = failed;
  if (first === undefined) return null;
  const failure = withValue(stepError(list, outcomes, first.step), first.write);
  if (failed.some(({ step, write }) => write.name === periodFile && outcomes.status(step) === -EINVAL)) return againByQuota(runner, steps, failed);
  if (first.write.name === memoryFile && outcomes.status(first.step) === -EBUSY) return memoryInUse(runner, first.write);
  return failure;
}

/** A period that the quota before is too large or too small for is taken once the quota is another one. */
async function againByQuota(runner: FileStepRunner, steps: ValueSteps['steps'], failed: ValueSteps['steps']): Promise<Error | null> {
  const other = failed.filter(({ write }) => write.name !== periodFile && write.name !== quotaFile).map(({ write }) => write);
  const ordered = [quotaFile, periodFile, quotaFile].flatMap((name) => steps.filter(({ write }) => write.name === name).map(({ write }) => write));
  const list = new FileSteps([]);
  const again = addValueSteps(list, [...ordered, ...other]);
  const outcomes = await runner.run(list);
  // Only the last write to each file counts.
  const last = new Map(again.steps.map((one) => [one.write.name, one]));
  const bad = [...last.values()].find(({ step }) => outcomes.status(step) < 0);
  return bad === undefined ? null : withValue(stepError(list, outcomes, bad.step), bad.write);
}

/** cgroup v1 accepts no limit below the unreclaimable usage. */
async function memoryInUse(runner: FileStepRunner, { directory, text }: CgroupWrite): Promise<Error> {
  const list = new FileSteps([]);
  const [usage, peak] = ['memory.usage_in_bytes', 'memory.max_usage_in_bytes'].map((file) => list.read(byPath, `${directory}/${file}`, numberBytesMax, tolerated.anything));
  const outcomes = await runner.run(list);
  const numberAt = (step: StepIndex): string => outcomes.text(step).trim() || '0';
  const message = `unable to set memory limit to ${text} (current usage: ${numberAt(usage!)}, peak usage: ${numberAt(peak!)})`;
  return Object.assign(new Error(message), { code: 'EBUSY' });
}

/** The rejected text helps troubleshooting; the runtimes report it, too. */
function withValue(error: Error, { text }: CgroupWrite): Error {
  return Object.assign(new Error(`failed to write ${JSON.stringify(text)}: ${goFileText(error) ?? error.message}`), { code: errnoName(error), cause: error });
}

function isBeyondHost(name: string, status: number): boolean {
  return status === -ENOENT && (reservedPages.test(name) || optionalControllers.has(controllerOf(name)));
}

function controllerOf(name: string): string {
  return name.slice(0, name.indexOf('.'));
}
