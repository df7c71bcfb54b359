// The kernel's file errors in the words of the Go kubelet: `write /var/lib/kubelet/...: no space left on device`. Users search for them.
// Also maps open descriptors to directories, since entries are accessed by `/proc/self/fd/<number>/<name>`, which means nothing to a reader.
// Invariant: one name per descriptor number, the newest; never more than the process may open at once.
import { getSystemErrorMap } from 'node:util';

const namesOfDescriptors = new Map<number, string>();

/** The descriptor was opened on this directory. */
export function descriptorOpened(fd: number, path: string): void {
  namesOfDescriptors.set(fd, path);
}

/** Names of calls that are others in Go. */
const calls: Readonly<Record<string, string>> = {
  scandir: 'open',
  opendir: 'open',
  fstat: 'stat',
  fchmod: 'chmod',
  fchown: 'chown',
  unlink: 'remove',
  rmdir: 'remove',
  fsync: 'sync',
};

/** libuv's texts that differ from the C library's. */
const words: Readonly<Record<string, string>> = {
  EEXIST: 'file exists',
  EBUSY: 'device or resource busy',
  EISDIR: 'is a directory',
  EIO: 'input/output error',
  ELOOP: 'too many levels of symbolic links',
  ENAMETOOLONG: 'file name too long',
  EXDEV: 'invalid cross-device link',
  ENFILE: 'too many open files in system',
  ENOMEM: 'cannot allocate memory',
  ESTALE: 'stale NFS file handle',
  EDQUOT: 'disk quota exceeded',
  ENXIO: 'no such device or address',
};

/** null: it isn't the kernel's word on a file. */
export function goFileText(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  const { code, syscall, path, dest } = error as NodeJS.ErrnoException & { readonly dest?: string };
  if (code === undefined || syscall === undefined) return null;
  // `ENOSPC: no space left on device, write '/a'`
  const own = /^[A-Z0-9]+: ([^,]*)/.exec(error.message)?.[1];
  const text = words[code] ?? own ?? code;
  const named = [calls[syscall] ?? syscall, ...(path === undefined ? [] : [realName(path)]), ...(dest === undefined ? [] : [realName(dest)])];
  return `${named.join(' ')}: ${text}`;
}

/** `ENOSPC` in words, as C's strerror has them in small letters. */
export function goErrnoText(code: string): string {
  const [, text = code] = [...getSystemErrorMap().values()].find(([name]) => name === code) ?? [];
  return words[code] ?? text;
}

/** Errors of calls on a descriptor lack the file's name. */
export function named<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof Error && 'syscall' in error && !('path' in error)) Object.assign(error, { path });
    throw error;
  }
}

/** Replaces descriptors of directories by their paths. */
function realName(path: string): string {
  return path.replace(/^\/proc\/self\/fd\/(\d+)/, (whole, fd: string) => namesOfDescriptors.get(Number(fd)) ?? whole);
}
