// Looks now and then whether the host's hosts file, resolver file or addresses have changed, since new pods inherit them.
import { hostAddresses } from '../../adapters/linux/index.js';
import { type PassingFacts, readPassingFacts } from './host-node-facts.js';

/** Two small files: tens of microseconds. A pod that starts right after a change may get the old text, as it may with any kubelet. */
const lookEveryMillis = 10_000;

/** Returns how to end it. */
export function watchPassingFacts(resolvConfPath: string, changed: (facts: PassingFacts) => void): () => void {
  const look = (): PassingFacts => readPassingFacts(resolvConfPath, hostAddresses());
  let last = JSON.stringify(look());
  const timer = setInterval(() => {
    const facts = look();
    const text = JSON.stringify(facts);
    if (text === last) return;
    last = text;
    changed(facts);
  }, lookEveryMillis);
  timer.unref();
  return () => clearInterval(timer);
}
