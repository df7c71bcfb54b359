// The node's pods in the API as a source of pods: passes changes to the pod config, at the cost of the changes; compares written
// pods with the API's.
import type { Pod } from '../../../ports/model/pod.js';
import type { ObjectChange, ReflectorState } from '../../api-cache/reflector.js';
import { mergeChanges } from '../../pod-sources/pod-config.js';
import type { AgentContext } from '../agent-context.js';
import { requestCleanUp } from '../housekeeping/requests.js';
import { mirrorShown, mirrorsListed, reconcileAllMirrors } from '../mirror-client/mirror-pods.js';
import { takeReported } from '../probe-manager/reported-readiness.js';
import { apiPodShown } from '../status-manager/status-writes.js';
import { deliver, podUidOf } from '../sync-loop/sync-loop.js';
import { asPodConfig } from './slice.js';

export function apiPodsChanged(caller: AgentContext, _reflector: ReflectorState, changes: readonly ObjectChange[], replaced: boolean): void {
  const context = asPodConfig(caller);
  const { state, turn } = context;
  // Withdrawn: every pod must end, even if the API still has it.
  if (state.api?.withdrawn !== true) {
    const pods = changes.map(({ type, object }) => ({ type, pod: object as Pod }));
    deliver(context, mergeChanges(state.config, 'api', pods, turn.wall).deliveries);
  }
  // An unreadable object may be gone, and its running pod then has no source.
  if (replaced || changes.length === 0) requestCleanUp(state);
  if (replaced) mirrorsListed(context);
  for (const { type, object } of changes) {
    context.forPod(podUidOf(context, object as Pod), () => {
      if (type === 'upsert') {
        takeReported(context, object as Pod);
        apiPodShown(context, object as Pod);
      }
      mirrorShown(context, object as Pod, type === 'delete');
    });
  }
  if (replaced) reconcileAllMirrors(context);
}
