// One test file of the tier: the suite inside its namespaces, or its name and the reason why it is skipped.
import t from 'tap';
import { runInside, skipWithoutPeer } from './namespaces.js';

/** Where the suite runs, its tests are reported by its own process, which has this one's output. */
export function reportSuite(name: string, suite: URL): void {
  const reason = skipWithoutPeer();
  if (reason === null) process.exit(runInside(suite));
  t.test(name, { skip: reason }, () => {});
}
