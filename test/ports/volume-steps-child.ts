// A process that works on volumes, and is killed with SIGKILL by itself before the N-th change it makes: each call of Node's that changes the
// file system, each mount and each unmount, before it and after it. Started by volume-crashes.test.ts: arguments are the directory to work in,
// the scenario, and N.
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import type { PortOf } from '../../src/ports/operation.js';
import type { MountOperations } from '../../src/ports/outbound/mounts.js';

const [, , base = '', scenario = '', cut = ''] = process.argv;
let left = Number(cut);

function step(): void {
  if (--left === 0) process.kill(process.pid, 'SIGKILL');
}

// Before the adapters take their own references.
const changing = ['mkdirSync', 'rmdirSync', 'unlinkSync', 'renameSync', 'symlinkSync', 'chmodSync', 'fchmodSync', 'chownSync', 'lchownSync', 'writeFileSync'] as const;
for (const name of changing) {
  const whole = fs[name] as (...given: unknown[]) => unknown;
  Object.assign(fs, {
    [name]: (...given: unknown[]) => {
      step();
      return whole(...given);
    },
  });
}
syncBuiltinESMExports();

const { openNativeLinux, serviceEnvironmentOf } = await import('../../src/adapters/native-linux/index.js');
const { play } = await import('./volume-scenarios.js');

const native = openNativeLinux({ kernelLogPath: '/dev/null', service: serviceEnvironmentOf({}) }, false);
const mounts: PortOf<MountOperations> = new Proxy(native.mounts, {
  get(target, name: keyof MountOperations) {
    return async (request: never, call: never) => {
      step();
      const answer = await target[name](request, call);
      step();
      return answer;
    };
  },
});
await play(base, scenario, { ...native, mounts });
// Not cut: there were no more steps than that.
process.exit(42);
