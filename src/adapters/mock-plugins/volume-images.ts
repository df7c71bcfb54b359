// Volumes of the mock CSI driver that are file systems of their own, each in a file `<handle>.image`, and raw devices: mounted through a loop device of the
// kernel, and really expanded, as a disk's driver does it: first the device, then the file system on it. Needs root and loop devices.
//
// Invariants: programs are run by argument lists, never by a shell; a loop device is detached with its mount, so that a killed driver leaves none.
import { execFile } from 'node:child_process';
import { existsSync, readFileSync, statSync, truncateSync } from 'node:fs';
import { basename } from 'node:path';
import { promisify } from 'node:util';
import { parseMountinfo } from '../native-linux/index.js';

const run = promisify(execFile);
const environment = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' };
/** What runs longer has hung. */
const programTimeMs = 60_000;

/** Mounts the file system in `image`. Errors: mount(8)'s output. */
export async function mountImage(image: string, target: string, fsType: string, options: readonly string[]): Promise<void> {
  await program('mount', ['-t', fsType, '-o', ['loop', ...options].join(','), image, target]);
}

/**
 * Expands the image of a mounted file system, and the file system, to at least that size.
 * @param mountPoint one of its mounts
 * @returns bytes of the file
 * Errors: the output of the file system's program; a type that can't be expanded while it is mounted.
 */
export async function growImage(image: string, mountPoint: string, bytes: number): Promise<number> {
  const mount = parseMountinfo(readFileSync('/proc/self/mountinfo', 'utf8')).findLast((one) => one.mountPoint === mountPoint);
  if (mount === undefined) throw new Error(`${mountPoint} is not mounted`);
  const { source, fsType } = mount;
  const size = await growFile(image, source, bytes);
  if (fsType === 'xfs') await program('xfs_growfs', ['-d', mountPoint]);
  else if (fsType === 'ext4') await program('resize2fs', [source]);
  else throw new Error(`a file system of the type ${fsType} can't be grown`);
  return size;
}

/** Makes a loop device, and the file that it shows, as large as that at least. @returns bytes of the file */
export async function growDevice(device: string, bytes: number): Promise<number> {
  const backing = `/sys/class/block/${basename(device)}/loop/backing_file`;
  if (!existsSync(backing)) throw new Error(`${device} is no loop device that shows a file`);
  return await growFile(readFileSync(backing, 'utf8').trim(), device, bytes);
}

async function growFile(file: string, device: string, bytes: number): Promise<number> {
  const size = Math.max(statSync(file).size, bytes);
  truncateSync(file, size);
  await program('losetup', ['--set-capacity', device]);
  return size;
}

async function program(name: string, words: readonly string[]): Promise<void> {
  try {
    await run(name, words, { env: environment, timeout: programTimeMs });
  } catch (error) {
    const { stderr = '', message } = error as { readonly stderr?: string; readonly message: string };
    throw new Error(`${name}: ${stderr.trim() === '' ? message : stderr.trim()}`);
  }
}
