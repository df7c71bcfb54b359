// The kinds of volumes that this kubelet has. A new kind is a file in `kinds` and a line here.
import { apiDataKinds } from './kinds/api-data-kinds.js';
import { csi } from './kinds/csi.js';
import { emptyDir } from './kinds/empty-dir.js';
import { gitRepo } from './kinds/git-repo.js';
import { hostPath } from './kinds/host-path.js';
import { image } from './kinds/image.js';
import { localVolume } from './kinds/local-volume.js';
import { nfs } from './kinds/nfs.js';
import type { VolumeKind } from './volume-kind.js';

const kinds: ReadonlyMap<string, VolumeKind> = new Map([csi, emptyDir, gitRepo, hostPath, image, localVolume, nfs, ...apiDataKinds].map((kind) => [kind.plugin, kind]));

/** By the plugin's name; null: not supported by this kubelet. */
export function kindOf(plugin: string): VolumeKind | null {
  return kinds.get(plugin) ?? null;
}
