// A pod's directory is removed only when nothing is mounted in it any more, and nothing of its volumes is left.
import type { Checker } from './checker.js';

export const directoriesOutliveMounts: Checker<null> = {
  name: 'directories-outlive-mounts',
  fresh: () => null,
  look(_memory, what, { host }, report) {
    if (what.kind !== 'command' || what.command.op !== 'podDirectories.remove') return;
    const { uid } = what.command.request;
    const pod = host.podDirectories.get(uid);
    if (pod === undefined) return;
    const bound = [...pod.subPaths].flatMap(([path, { source }]) => (source === null ? [] : [`volume-subpaths/${path}`]));
    const inMemory = [...pod.volumes].flatMap(([path, { tmpfsBytes }]) => (tmpfsBytes === null ? [] : [`volumes/${path}`]));
    for (const path of [...bound, ...inMemory, ...pod.mounts]) report(`the directory of pod ${uid} is removed, in which ${path} is mounted`);
  },
};
