// Looks now and then whether the host's hosts file, resolver file or addresses have changed, since new pods inherit them.
import { readFileSync } from 'node:fs';
import { hostAddresses } from './host-reading.js';

/** Facts that may change meanwhile. */
export interface PassingFacts {
  readonly hostsFile: string;
  readonly resolvConf: string | null;
  /** Most preferred first. */
  readonly addresses: readonly string[];
}

const hostsPath = '/etc/hosts';

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

/** Reads the files that may have changed. A missing hosts file counts as empty; the resolver's file is refused by its reader, pod by pod. */
export function readPassingFacts(resolvConfPath: string, addresses: readonly string[]): PassingFacts {
  return { hostsFile: textOf(hostsPath), resolvConf: resolvConfPath === '' ? null : textOf(resolvConfPath), addresses };
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
