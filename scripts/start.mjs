// `npm start [-- ARGS]`: `kubelet-ctl dev ARGS` from a clone, prepared as far as needed.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { bootstrapRun, orExit } from './bootstrap.mjs';

const program = await orExit('start', async () => {
  const file = join(await bootstrapRun(), 'kubelet-ctl.mjs');
  if (!existsSync(file)) throw new Error(`${file} was not made: this tree has no src/app/cli/kubelet-ctl.ts`);
  return file;
});
// In this process: a second one would double startup and come between the terminal's signals and the program.
process.argv = [process.execPath, program, 'dev', ...process.argv.slice(2)];
await import(pathToFileURL(program).href);
