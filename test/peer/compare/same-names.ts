// Names for what is different in every run: ids, addresses, times, generated names. Whatever is not named here is compared as it is.

const timePattern = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)/g;

export interface RunNames {
  /** The directory of the stand, and its cgroup root. */
  readonly directory: string;
  readonly cgroupRoot: string;
}

/** One text for all runs. @param names what this pod has for its own: a uid or an address, and what it is called instead */
export function renamed(text: string, run: RunNames, names: readonly (readonly [found: string, name: string])[]): string {
  let result = text;
  for (const [found, name] of names) if (found !== '') result = result.replaceAll(found, name);
  return result
    .replaceAll(run.directory, 'STAND')
    .replaceAll(run.cgroupRoot, '/CGROUP')
    .replace(timePattern, 'TIME')
    .replace(/\.\.\d{4}_\d\d_\d\d_\d\d_\d\d_\d\d\.\d+/g, '..TIME')
    .replace(/\b[0-9a-f]{64}\b/g, 'ID')
    .replace(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, 'UUID')
    .replace(/kube-api-access-[a-z0-9]{5}\b/g, 'kube-api-access-XXXXX')
    .replace(/10\.89\.\d+\.\d+/g, 'POD_IP')
    .replace(/cni-UUID/g, 'NETNS');
}
