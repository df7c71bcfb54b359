// JavaScript engine settings for a daemon that mostly sleeps: measured on starts of pods, not on loops.
//
// Compiling optimised code for functions that run thirty times costs more than it gains, so functions must be nine times as hot before they are compiled
// (3 to 4 ms of CPU less for each of thirty pod starts); and the nursery of young objects stays at its first MiB rather than growing to 16,
// which at the daemon's rates only keeps dead objects resident (some 20 MiB less, no CPU more). Settings of the command line stay unchanged.
import { setFlagsFromString } from 'node:v8';

const flags: ReadonlyMap<string, string> = new Map([
  ['--interrupt-budget', '600000'],
  // A growth of one is none. The size itself can't be set any more once the engine runs.
  ['--semi-space-growth-factor', '1'],
]);
/** Options of Node's own that mean the same as one of the flags. */
const sameAs: ReadonlyMap<string, string> = new Map([['--semi-space-growth-factor', '--max-semi-space-size']]);

/** @param given the options that Node was started with, those of NODE_OPTIONS among them @param set sets one flag of the engine */
export function settleEngine(given: readonly string[], set: (flag: string) => void = setFlagsFromString): void {
  const names = new Set(given.map((option) => option.replace(/=.*$/s, '').replaceAll('_', '-')));
  for (const [name, value] of flags) {
    if (!names.has(name) && !names.has(sameAs.get(name) ?? name)) set(`${name}=${value}`);
  }
}

/** The options that this process was started with. */
export function givenOptions(): string[] {
  return [...process.execArgv, ...(process.env['NODE_OPTIONS'] ?? '').split(/\s+/).filter((word) => word !== '')];
}
