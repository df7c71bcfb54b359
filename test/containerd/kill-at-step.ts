// Loaded before the agent's own program (`node --import`): the process kills itself with SIGKILL before the N-th change that it makes below a
// directory: each call of Node's that changes the file system, each mount and unmount of the addon before it and after it, each file made
// or tree given to a group. KILL_AT_STEP is N, KILL_BELOW the directory; the steps count from when the file KILL_ARMED is there.
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const { KILL_AT_STEP = '0', KILL_BELOW = '', KILL_ARMED = '' } = process.env;
const existsSync = fs.existsSync;
const readlinkSync = fs.readlinkSync;
let left = Number(KILL_AT_STEP);

/** Descriptors, and paths below one, are what they were opened as. */
function whereOf(given: unknown): string {
  const path = typeof given === 'number' ? `/proc/self/fd/${given}` : String(given);
  const [, fd, rest = ''] = /^\/proc\/(?:self|thread-self|\d+)\/fd\/(\d+)(.*)$/.exec(path) ?? [];
  if (fd === undefined) return path;
  try {
    return readlinkSync(`/proc/self/fd/${fd}`) + rest;
  } catch {
    return path;
  }
}

function step(target: unknown): void {
  if (left <= 0 || !whereOf(target).startsWith(`${KILL_BELOW}/`) || !existsSync(KILL_ARMED)) return;
  left--;
  if (left === 0) process.kill(process.pid, 'SIGKILL');
}

const changing = [
  'mkdirSync',
  'rmdirSync',
  'unlinkSync',
  'renameSync',
  'symlinkSync',
  'chmodSync',
  'fchmodSync',
  'chownSync',
  'fchownSync',
  'lchownSync',
  'writeFileSync',
  'rmSync',
] as const;
for (const name of changing) {
  const whole = fs[name] as (...given: unknown[]) => unknown;
  Object.assign(fs, {
    [name]: (...given: unknown[]) => {
      step(name === 'symlinkSync' ? given[1] : given[0]);
      return whole(...given);
    },
  });
}
const openSync = fs.openSync;
Object.assign(fs, {
  openSync: (path: string, flags: number | string, mode?: number) => {
    if (typeof flags === 'number' && (flags & fs.constants.O_CREAT) !== 0) step(path);
    return openSync(path, flags, mode);
  },
});
syncBuiltinESMExports();

type Working = (...given: unknown[]) => unknown;
/** The functions of the addon that change something, and which of their arguments is the place. */
const places: Readonly<Record<string, number>> = { mount: 1, unmount: 0, treeOwnership: 0 };
const dlopen = process.dlopen.bind(process);
process.dlopen = (module: object, ...more) => {
  dlopen(module, ...more);
  const loaded = (module as { exports: Record<string, Working> }).exports;
  for (const [name, place] of Object.entries(places)) {
    const whole = loaded[name];
    if (whole === undefined) continue;
    loaded[name] = async (...given) => {
      step(given[place]);
      const answer = await whole(...given);
      step(given[place]);
      return answer;
    };
  }
};
