// A volume is unstaged, and its place on the node unmounted, only when no pod has it mounted any more.
import type { SimHostState } from '../host/host-state.js';
import type { Checker } from './checker.js';

export const devicesOutliveMounts: Checker<null> = {
  name: 'devices-outlive-mounts',
  fresh: () => null,
  look(_memory, what, { host, agent }, report) {
    if (what.kind !== 'command') return;
    const { command } = what;
    const root = agent.nodeFacts.rootDirectory;
    let path = '';
    if (command.op === 'csiNode.unstage') path = command.request.stagingTargetPath;
    else if (command.op === 'volumeMounts.unmount' && command.request.place.kind === 'node') path = [root, 'plugins', ...command.request.place.elements].join('/');
    if (path === '') return;
    for (const pod of podsWith(host, path, [`${root}/pods/`, `${root}/plugins/kubernetes.io/csi/volumeDevices/publish/`]))
      report(`${command.op} of ${path}, which is mounted at ${pod}`);
  },
};

/** Mount points of pods, and of raw devices for pods, that show the mount at the path. */
function podsWith({ volumeMounts }: SimHostState, path: string, published: readonly string[]): string[] {
  const staged = volumeMounts.get(path);
  if (staged === undefined) return [];
  return [...volumeMounts].flatMap(([place, { shown }]) => (published.some((start) => place.startsWith(start)) && shown === staged.shown ? [place] : []));
}
