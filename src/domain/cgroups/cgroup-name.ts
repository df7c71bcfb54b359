// Names of cgroups. Inside the kubelet a cgroup is a list of components; on disk, and in the runtime's configuration, it is a path
// whose form depends on the cgroup driver (cgroupfs or systemd slices).
// Invariant: a component that the kubelet adds holds neither `/` nor `_`, so that both drivers' paths can be parsed.
import { goQuote } from '../values/go-text.js';

export type CgroupDriver = 'cgroupfs' | 'systemd';
export type CgroupName = readonly string[];

const sliceSuffix = '.slice';

/** The name below `base`, or why a component is invalid. `base` isn't checked: it may come from the configuration. */
export function composeCgroupName(
  base: CgroupName,
  ...components: readonly string[]
): { readonly ok: true; readonly name: CgroupName } | { readonly ok: false; readonly message: string } {
  const bad = components.find((component) => /[/_]/.test(component));
  if (bad !== undefined) return { ok: false, message: `invalid character in component [${goQuote(bad)}] of CgroupName` };
  return { ok: true, name: [...base, ...components] };
}

export function cgroupPath(driver: CgroupDriver, name: CgroupName): string {
  return driver === 'systemd' ? systemdPath(name) : `/${name.join('/')}`;
}

/** systemd's unit and its parent slice; null for the root, which systemd owns. */
export function systemdUnits(name: CgroupName): { readonly unit: string; readonly parent: string } | null {
  const slices = sliceNames(name);
  const unit = slices[slices.length - 1];
  // `-.slice` is systemd's name of the root slice.
  return unit === undefined ? null : { unit, parent: slices[slices.length - 2] ?? `-${sliceSuffix}` };
}

/** The name of a path in a driver's form. A systemd path is known by its last element alone. */
export function parseCgroupPath(driver: CgroupDriver, path: string): CgroupName {
  if (driver === 'systemd') {
    return lastElement(path)
      .replace(/\.slice$/, '')
      .split('-')
      .map((part) => part.replaceAll('_', '-'));
  }
  const inner = path.replace(/^\//, '');
  return inner === '' ? [] : inner.split('/');
}

/** The systemd driver's names, for the adapter. */
export const sliceNaming = {
  directories: (name: CgroupName): CgroupName => sliceNames(name),
  units: systemdUnits,
  parse: (unit: string): CgroupName => parseCgroupPath('systemd', unit),
} as const;

function systemdPath(name: CgroupName): string {
  return `/${sliceNames(name).join('/')}`;
}

/** Every prefix of the name as a slice: `a.slice`, `a-b.slice`, ... `-` joins levels, so one inside a component is written `_`. */
function sliceNames(name: CgroupName): string[] {
  const escaped = name.map((component) => component.replaceAll('-', '_'));
  return escaped.map((_, i) => escaped.slice(0, i + 1).join('-') + sliceSuffix);
}

/** As a shell's `basename`: trailing slashes don't count, `/` stays, an empty path is `.`. */
function lastElement(path: string): string {
  if (path === '') return '.';
  const trimmed = path.replace(/\/+$/, '');
  return trimmed === '' ? '/' : trimmed.slice(trimmed.lastIndexOf('/') + 1);
}
