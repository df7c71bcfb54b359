// Whether a CSI driver may register, by its supported versions.
import { goQuote } from '../values/go-text.js';

const supportedMajor = 1;

type Version = readonly [major: number, minor: number, patch: number];

/** The highest version that this kubelet knows, or why the driver can't be taken. @param registered the version of the driver that has the name already; null: none */
export function csiVersionOf(
  name: string,
  versions: readonly string[],
  registered: string | null,
): { readonly ok: true; readonly version: string } | { readonly ok: false; readonly message: string } {
  const refuse = (what: string) => ({ ok: false as const, message: `kubernetes.io/csi: RegisterPlugin for CSI driver ${goQuote(name)} failed. ${what}` });
  if (versions.length === 0) return refuse('Plugin returned an empty list for supported versions');
  let highest: { readonly text: string; readonly version: Version } | null = null;
  let problem = '';
  for (const text of versions) {
    const version = versionOf(text);
    if (version === null) problem = `failed to parse version ${goQuote(text)}`;
    else if (version[0] <= supportedMajor && (highest === null || compare(version, highest.version) > 0)) highest = { text: text.replace(/^v/, ''), version };
  }
  if (highest === null || highest.version[0] < supportedMajor) {
    const list = `[${versions.map(goQuote).join(' ')}]`;
    const why = problem === '' ? 'None of the versions are supported' : problem;
    const cause = `could not find a highest supported version from versions ([${versions.join(' ')}]) reported by this driver: ${why}`;
    return refuse(`None of the versions specified ${list} are supported. err=${cause}`);
  }
  const before = registered === null ? null : versionOf(registered);
  if (registered !== null && before !== null && compare(before, highest.version) >= 0) {
    return refuse(`Another driver with the same name is already registered with a higher supported version: ${goQuote(registered)}`);
  }
  return { ok: true, version: highest.text };
}

/** `1.2.0`, also with a `v` before and missing parts. */
function versionOf(text: string): Version | null {
  const parts = /^v?(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?(?:[-+].*)?$/.exec(text);
  return parts === null ? null : [Number(parts[1]), Number(parts[2] ?? 0), Number(parts[3] ?? 0)];
}

function compare(a: Version, b: Version): number {
  return a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
}
