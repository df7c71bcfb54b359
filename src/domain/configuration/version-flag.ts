// --version: prints the version, or makes the agent report another build of the same release.
// Invariant: major, minor and patch stay those of the Kubernetes release that this agent implements.
import { type GoParse, goQuote, parseGoBool } from '../values/go-text.js';
import type { FlagType } from './flag-values.js';

/** The Kubernetes release whose kubelet this agent behaves as. */
export const kubernetesVersion = 'v1.36.0';

/** The value is `true` or `raw` to print the version, `false` or a version to continue. */
export const versionFlag: FlagType = { name: 'version', bare: 'true', parse, show: String };

const semantic = /^\s*v?([0-9]+)\.([0-9]+)\.([0-9]+)(?:-[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?\s*$/;

function parse(word: string): GoParse<string> {
  if (word === 'raw') return { ok: true, value: word };
  if (!word.startsWith('v')) {
    const wanted = parseGoBool(word);
    return wanted.ok ? { ok: true, value: String(wanted.value) } : wanted;
  }
  const given = semantic.exec(word);
  if (given === null) return { ok: false, error: `could not parse ${goQuote(word)} as version` };
  const own = semantic.exec(kubernetesVersion) as RegExpExecArray;
  const same = [1, 2, 3].every((part) => BigInt(given[part] as string) === BigInt(own[part] as string));
  if (!same) return { ok: false, error: `version ${goQuote(word)} must match major/minor/patch of default version ${goQuote(kubernetesVersion)}` };
  return { ok: true, value: word };
}
