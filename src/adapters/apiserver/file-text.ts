// The kernel's file errors, in the words of Go's library.

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or directory',
  EACCES: 'permission denied',
  EISDIR: 'is a directory',
  ENOTDIR: 'not a directory',
  ELOOP: 'too many levels of symbolic links',
};

/** `open P: no such file or directory` */
export function openErrorText(path: string, error: unknown): string {
  const { code = '', message = String(error) } = error as NodeJS.ErrnoException;
  return reasons[code] === undefined ? message : `${code === 'EISDIR' ? 'read' : 'open'} ${path}: ${reasons[code]}`;
}
