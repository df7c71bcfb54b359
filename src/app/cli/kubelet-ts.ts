#!/usr/bin/env node
// The daemon's program: takes a kubelet's flags only. Prints the version before anything else is loaded.
import { givenOptions, settleEngine } from './engine.js';
import { exitWhenWritten } from './standard-output.js';
import { quickVersion } from './version.js';

const words = process.argv.slice(2);
const version = quickVersion(words);
if (version !== null) process.stdout.write(version);
else {
  settleEngine(givenOptions());
  const { runKubelet } = await import('./run-kubelet.js');
  await exitWhenWritten(await runKubelet(words));
}
