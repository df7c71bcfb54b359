// gitRepo: disabled permanently in the reference, and rejected with its text. Directories from an older kubelet are removed.
import { gitRepoDisabled } from '../../volumes/volume-plugins.js';
import { failed, procedure, type VolumeKind } from '../volume-kind.js';
import { tearDownOf, viewOf } from './own-directory.js';

const plugin = 'kubernetes.io/git-repo';

export const gitRepo: VolumeKind = {
  plugin,
  mountDevice: null,
  setUp: procedure({ begin: () => ({}), decide: () => failed(gitRepoDisabled), replies: {} }),
  tearDown: tearDownOf(plugin),
  unmountDevice: null,
  view: viewOf,
  reconstruct: ({ name }) => ({ kind: 'inline', volume: { name, gitRepo: {} } }),
};
