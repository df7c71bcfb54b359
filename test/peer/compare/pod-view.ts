// What a kubelet has made of one pod: as the API shows it, as its containers see it, and as it lies on the host and in the runtime.
import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { Json } from '../admin-client.js';
import type { PeerStand } from '../peer-stand.js';
import { containersOf } from './pod-case.js';
import { renamed } from './same-names.js';

const cgroupFiles = ['cpu.shares', 'cpu.cfs_quota_us', 'cpu.cfs_period_us', 'memory.limit_in_bytes', 'pids.max', 'cpuset.cpus', 'hugetlb.2MB.limit_in_bytes'];

/** @param pod as it was when it had settled @param records of the runtime, by container id */
export async function podView(stand: PeerStand, pod: Json, records: readonly Json[]): Promise<Json> {
  const { name, uid } = pod.metadata;
  const own = records.filter(({ Labels }) => Labels?.['io.kubernetes.pod.uid'] === uid);
  const names = [
    ...own.map((one): [string, string] => [one.ID, `ID-${containerName(one)}`]),
    [uid, 'UID'] as [string, string],
    [pod.status.podIP ?? '', pod.spec.hostNetwork ? '10.90.0.1' : 'POD_IP'] as [string, string],
  ];
  const view = {
    status: pod.status,
    logs: await logsOf(stand, pod),
    files: { ...tree(join(stand.root, 'pods', uid), /^(volumes\/kubernetes\.io~csi|plugins)/), ...tree(join(stand.podLogs, `default_${name}_${uid}`), /^$/) },
    mounts: mountsBelow(join(stand.root, 'pods', uid)),
    cgroups: cgroupsOf(stand.cgroupRoot, uid, own),
    runtime: Object.fromEntries(own.map((one) => [containerName(one), recordView(one)])),
  };
  return JSON.parse(renamed(JSON.stringify(view), stand, names));
}

function containerName({ Labels }: Json): string {
  return Labels['io.kubernetes.container.name'] ?? 'sandbox';
}

async function logsOf(stand: PeerStand, pod: Json): Promise<Json> {
  const logs: Record<string, Json> = {};
  for (const { name } of containersOf(pod.status)) {
    const { status, text } = await stand.client.api('GET', `/api/v1/namespaces/default/pods/${pod.metadata.name}/log?container=${name}`);
    logs[name] = { status, ...bySection(text) };
  }
  return logs;
}

/** The sections that a container prints of what it sees, each line a leaf of its own. */
function bySection(text: string): Record<string, string[]> {
  const sections: Record<string, string[]> = {};
  let current = 'said';
  for (const line of text.split('\n')) {
    const [, title] = /^== (.*)$/.exec(line) ?? [];
    if (title !== undefined) current = title;
    else if (line !== '') sections[current] = [...(sections[current] ?? []), line];
  }
  return sections;
}

/** Every file below a directory: kind, mode, owner, what a link says. */
export function tree(directory: string, skip: RegExp): Record<string, string> {
  const found: Record<string, string> = {};
  const visit = (relative: string): void => {
    const path = join(directory, relative);
    const stat = lstatSync(path, { throwIfNoEntry: false });
    if (stat === undefined || skip.test(relative)) return;
    const kind = stat.isSymbolicLink() ? `link to ${readlinkSync(path)}` : stat.isDirectory() ? 'directory' : stat.isFile() ? 'file' : 'other';
    // The last part of a termination log's path is random.
    found[relative.replace(/(containers\/[^/]+\/)[0-9a-f]{8}$/, '$1HEX')] = `${kind} ${(stat.mode & 0o7777).toString(8)} ${stat.uid}:${stat.gid}`;
    if (stat.isDirectory()) for (const name of readdirSync(path)) visit(join(relative, name));
  };
  visit('.');
  return found;
}

function mountsBelow(directory: string): Record<string, string> {
  const lines = readFileSync('/proc/self/mountinfo', 'utf8').split('\n');
  return Object.fromEntries(
    lines
      .map((line) => line.split(' - '))
      .map(([left = '', right = '']) => ({ fields: left.split(' '), right: right.split(' ') }))
      .filter(({ fields }) => fields[4]?.startsWith(`${directory}/`))
      .map(({ fields, right }) => [
        fields[4]?.slice(directory.length) ?? '',
        `${right[0]} ${fields[5]} ${right[2]} ${/shared:/.test(fields.slice(6).join(' ')) ? 'shared' : 'private'}`,
      ]),
  );
}

function cgroupsOf(cgroupRoot: string, uid: string, records: readonly Json[]): Json {
  const found: Record<string, Record<string, string>> = {};
  for (const hierarchy of readdirSync('/sys/fs/cgroup')) {
    for (const parent of ['kubepods', 'kubepods/burstable', 'kubepods/besteffort']) {
      const pod = join('/sys/fs/cgroup', hierarchy, cgroupRoot, parent, `pod${uid}`);
      if (!existsSync(pod)) continue;
      found[`${parent}/pod`] = { ...found[`${parent}/pod`], ...valuesOf(pod) };
      for (const one of records) {
        const values = valuesOf(join(pod, one.ID));
        if (Object.keys(values).length > 0) found[containerName(one)] = { ...found[containerName(one)], ...values };
      }
    }
  }
  return found;
}

export function valuesOf(cgroup: string): Record<string, string> {
  return Object.fromEntries(cgroupFiles.filter((file) => existsSync(join(cgroup, file))).map((file) => [file, readFileSync(join(cgroup, file), 'utf8').trim()]));
}

/** Of the OCI specification, what the kubelet's request decides. */
function recordView({ Spec, Image, Labels }: Json): Json {
  const { process, mounts, hostname, linux, root, annotations } = Spec;
  const { seccomp, maskedPaths, readonlyPaths, resources, devices: _, ...rest } = linux;
  return {
    image: Image,
    labels: Labels,
    annotations,
    hostname,
    readonly: root?.readonly === true,
    process: { ...process, args: process.args?.map((one: string) => one.slice(0, 60)), capabilities: process.capabilities?.bounding },
    mounts,
    linux: {
      ...rest,
      seccomp: seccomp === undefined ? 'none' : seccomp.defaultAction,
      maskedPaths: maskedPaths?.length ?? 0,
      readonlyPaths: readonlyPaths?.length ?? 0,
      resources: { ...resources, devices: resources?.devices?.length },
    },
  };
}
