// No containers of two pods with the same namespace and name run at the same time: they would conflict over ports and files.
// Static pods reach this by a change of the manifest. Of pods from the API one may be force-deleted, which frees its name at once.
import { containerLabels } from '../../domain/values/container-labels.js';
import { configSourceAnnotation } from '../../domain/values/pod-kind.js';
import type { SimContainer } from '../runtime/runtime-state.js';
import type { Checker } from './checker.js';

export const onePodOfAName: Checker<null> = {
  name: 'one-pod-of-a-name',
  fresh: () => null,
  look(_memory, what, { runtime }, report) {
    if (what.kind !== 'runtime' || what.event.kind !== 'started') return;
    const started = runtime.containers.get(what.event.containerId);
    if (started?.state !== 'running') return;
    const { podName, podNamespace } = containerLabels;
    const { labels } = started.config;
    const isFromApi = ({ sandboxId }: SimContainer): boolean => runtime.sandboxes.get(sandboxId)?.config.annotations?.[configSourceAnnotation] === 'api';
    if (isFromApi(started)) return;
    for (const other of runtime.containers.values()) {
      if (other.state !== 'running' || other.podUid === started.podUid || isFromApi(other)) continue;
      if (other.config.labels[podName] !== labels[podName] || other.config.labels[podNamespace] !== labels[podNamespace]) continue;
      report(`${labels[podNamespace]}/${labels[podName]} runs as ${other.podUid} and as ${started.podUid}`);
    }
  },
};
