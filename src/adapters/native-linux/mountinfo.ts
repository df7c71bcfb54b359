// /proc/self/mountinfo, as far as the mount adapters need it: where is something mounted, and with which options. See proc_pid_mountinfo(5).

export interface MountinfoEntry {
  readonly mountId: number;
  readonly majorMinor: string;
  /** The directory of the file system that is mounted; others than `/` are binds. */
  readonly root: string;
  readonly mountPoint: string;
  /** Of the mount. */
  readonly options: readonly string[];
  /** `shared:N`, `master:N`, ... */
  readonly tags: readonly string[];
  readonly fsType: string;
  readonly source: string;
  /** Of the file system. */
  readonly superOptions: readonly string[];
}

/** In the kernel's order: of two at one mount point the later one is on top. Skips malformed lines. */
export function parseMountinfo(text: string): MountinfoEntry[] {
  const entries: MountinfoEntry[] = [];
  for (const line of text.split('\n')) {
    const fields = line.split(' ');
    const dash = fields.indexOf('-', 6);
    if (dash < 0 || fields.length < dash + 4) continue;
    entries.push({
      mountId: Number(fields[0]),
      majorMinor: fields[2]!,
      root: decoded(fields[3]!),
      mountPoint: decoded(fields[4]!).replace(/\/\/deleted$/, ''),
      options: fields[5]!.split(','),
      tags: fields.slice(6, dash),
      fsType: fields[dash + 1]!,
      source: decoded(fields[dash + 2]!),
      superOptions: fields[dash + 3]!.split(','),
    });
  }
  return entries;
}

/** Space, tab, newline and backslash are written as three octal digits. */
function decoded(field: string): string {
  return field.includes('\\') ? field.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8))) : field;
}
