// Create validation of a container's volume mounts and block devices.
import type { Container } from '../../../ports/model/container.js';
import type { Volume, VolumeMount } from '../../../ports/model/volume.js';
import { forbidden, invalid, notFound, notSupported, type Problems, required } from './field-problem.js';

export type VolumesByName = ReadonlyMap<string, Volume>;

/** Problems of a path that must stay below another one. */
export function descendingPathProblems(path: string): string[] {
  if (path.startsWith('/')) return ['must be a relative path'];
  return backstepProblems(path);
}

export function backstepProblems(path: string): string[] {
  return path.split('/').includes('..') ? ["must not contain '..'"] : [];
}

export function validateMounts(problems: Problems, field: string, container: Container, volumes: VolumesByName): void {
  const paths = new Set<string>();
  for (const [i, mount] of (container.volumeMounts ?? []).entries()) {
    const at = `${field}.volumeMounts[${i}]`;
    validateMount(problems, at, mount, container, volumes);
    const path = mount.mountPath ?? '';
    if (path === '') required(problems, `${at}.mountPath`);
    if (paths.has(path)) invalid(problems, `${at}.mountPath`, path, 'must be unique');
    paths.add(path);
  }
  validateDevices(problems, field, container, volumes, paths);
}

function validateMount(problems: Problems, field: string, mount: VolumeMount, container: Container, volumes: VolumesByName): void {
  const name = mount.name ?? '';
  if (name === '') required(problems, `${field}.name`);
  if (!volumes.has(name)) notFound(problems, `${field}.name`, name);
  const { subPath, subPathExpr, mountPropagation } = mount;
  for (const problem of descendingPathProblems(subPath ?? '')) invalid(problems, `${field}.subPath`, subPath, problem);
  for (const problem of descendingPathProblems(subPathExpr ?? '')) invalid(problems, `${field}.subPathExpr`, subPathExpr, problem);
  if (subPath !== undefined && subPathExpr !== undefined) invalid(problems, `${field}.subPathExpr`, subPathExpr, 'subPathExpr and subPath are mutually exclusive');
  const supported = ['Bidirectional', 'HostToContainer', 'None'];
  if (mountPropagation !== undefined && !supported.includes(mountPropagation)) notSupported(problems, `${field}.mountPropagation`, mountPropagation, supported);
  if (mountPropagation === 'Bidirectional' && container.securityContext?.privileged !== true) {
    forbidden(problems, `${field}.mountPropagation`, 'Bidirectional mount propagation is available only to privileged containers');
  }
  validateRecursiveReadOnly(problems, field, mount);
}

function validateRecursiveReadOnly(problems: Problems, field: string, mount: VolumeMount): void {
  const mode = mount.recursiveReadOnly;
  const at = `${field}.recursiveReadOnly`;
  const supported = ['Disabled', 'Enabled', 'IfPossible'];
  if (mode === undefined || mode === 'Disabled') return;
  if (!supported.includes(mode)) {
    notSupported(problems, at, mode, supported);
    return;
  }
  if (mount.readOnly !== true) forbidden(problems, at, 'may only be specified when readOnly is true');
  if (mount.mountPropagation !== undefined && mount.mountPropagation !== 'None') forbidden(problems, at, 'may only be specified when mountPropagation is None or not specified');
}

function validateDevices(problems: Problems, field: string, container: Container, volumes: VolumesByName, mountPaths: ReadonlySet<string>): void {
  const names = new Set<string>();
  const paths = new Set<string>();
  const mounted = new Set((container.volumeMounts ?? []).map((mount) => mount.name));
  for (const [i, device] of (container.volumeDevices ?? []).entries()) {
    const at = `${field}.volumeDevices[${i}]`;
    const [name, path] = [device.name ?? '', device.devicePath ?? ''];
    const volume = volumes.get(name);
    if (name === '') required(problems, `${at}.name`);
    else if (names.has(name) || mounted.has(name)) invalid(problems, `${at}.name`, name, 'must be unique, also among volumeMounts');
    if (volume === undefined || (volume.persistentVolumeClaim === undefined && volume.ephemeral === undefined)) {
      if (name !== '') notFound(problems, `${at}.name`, name);
    }
    if (path === '') required(problems, `${at}.devicePath`);
    else if (paths.has(path) || mountPaths.has(path)) invalid(problems, `${at}.devicePath`, path, 'must be unique, also among mount paths');
    for (const problem of backstepProblems(path)) invalid(problems, `${at}.devicePath`, path, problem);
    names.add(name);
    paths.add(path);
  }
}
