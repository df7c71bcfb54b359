// The files in a pod's volumes for variables of a container (`fileKeyRef`): which are read before it is created, and their contents.
// Only volumes whose directory the kubelet made are read; a file of any other counts as unreadable.

import type { AgentOperations } from '../../ports/outbound/outbound-ports.js';
import type { ContainerEnvSources } from '../containers/container-config.js';
import type { ReplyFor } from '../kernel/machine.js';
import { joinPath } from '../values/slash-paths.js';
import { utf8Decode } from '../values/utf8.js';
import { usedVolumes, volumeAddress } from '../volumes/node-volumes.js';
import type { ContainerStart } from './container-start-state.js';
import { podAddress, type SyncContext } from './sync-context.js';
import type { SyncRun } from './sync-run.js';

/** Reads the files, if any. False: no request was needed, and they are known. */
export function askEnvFiles(start: ContainerStart, run: SyncRun, context: SyncContext): boolean {
  const files = filesOf(start, run, context);
  start.envFiles = new Map();
  if (files.length === 0) return false;
  const request = { files: files.map(({ address, path }) => ({ ...address, path })) };
  context.turn.ask('podVolumes.readFiles', podAddress(run.uid), 'env', request);
  return true;
}

/** Returns what went wrong, or null. */
export function takeEnvFiles(start: ContainerStart, run: SyncRun, { outcome }: ReplyFor<AgentOperations, 'podVolumes.readFiles'>, context: SyncContext): string | null {
  if (!outcome.ok) return outcome.error.message;
  const { contents } = outcome.value;
  start.envFiles = new Map(filesOf(start, run, context).map(({ wholePath }, i) => [wholePath, textOf(contents[i] ?? null)]));
  return null;
}

export function envFileSources(start: ContainerStart, run: SyncRun, context: SyncContext): Pick<ContainerEnvSources, 'volumeDirectories' | 'envFile'> {
  return { volumeDirectories: directoriesOf(run, context), envFile: (path) => start.envFiles?.get(path) ?? null };
}

function textOf(bytes: Uint8Array | null): string | null {
  return bytes === null ? null : utf8Decode(bytes);
}

function directoriesOf({ uid }: SyncRun, { volumes }: SyncContext): Readonly<Record<string, string>> {
  const mounted = volumes.mounted(uid);
  return Object.fromEntries(Object.entries(mounted).map(([name, { hostPath }]) => [name, hostPath]));
}

/** Each once, in order of need. */
function filesOf({ container }: ContainerStart, run: SyncRun, context: SyncContext) {
  const references = (container.env ?? []).flatMap(({ valueFrom }) => (valueFrom?.fileKeyRef === undefined ? [] : [valueFrom.fileKeyRef]));
  if (references.length === 0) return [];
  const directories = directoriesOf(run, context);
  const made = new Map(usedVolumes(run.pod).flatMap((volume) => (volume.hostPath === undefined ? [[volume.name, volume] as const] : [])));
  const files = references.flatMap(({ volumeName, path }) => {
    const volume = made.get(volumeName);
    const directory = directories[volumeName];
    if (volume === undefined || directory === undefined) return [];
    // `..` ends at the volume's root.
    const within = joinPath('/', path);
    return [{ address: volumeAddress(run.pod, volume), path: within.slice(1), wholePath: joinPath(directory, within) }];
  });
  return [...new Map(files.map((file) => [file.wholePath, file])).values()];
}
