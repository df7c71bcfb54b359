// Images as volumes: the runtime mounts them itself, when it starts a container; nothing is done on the host.
import type { VolumeKind } from '../volume-kind.js';
import { viewOf } from './own-directory.js';

export const image: VolumeKind = {
  plugin: 'kubernetes.io/image',
  mountDevice: null,
  setUp: null,
  tearDown: null,
  unmountDevice: null,
  view: viewOf,
  reconstruct: () => null,
};
