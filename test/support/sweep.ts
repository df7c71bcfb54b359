// Long sweeps: a plain `npm test` runs a share of each, spread evenly; with CI in the environment, or with `--tier nightly`, all of it runs.
// Invariant: the share is the same in each run, so that a failure can be repeated.

/** Whether sweeps run as a whole. Without the runner of `npm test` they do. */
export const isWholeSweep = process.env['KUBELET_TS_TIER'] !== 'short';

/** The members of a sweep that this run tries. @param oneIn the share of a plain `npm test` */
export function sweepOf<T>(members: readonly T[], oneIn = 4): readonly T[] {
  return isWholeSweep ? members : members.filter((_member, i) => i % oneIn === 0);
}
