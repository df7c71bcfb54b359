import { terminationOrder } from '../../../src/domain/pod-sync/termination-order.js';
import type { Pod } from '../../../src/ports/model/pod.js';
import type { VectorDriver } from '../driver.js';

export const driver: VectorDriver = {
  run({ pod, runningContainers }: { readonly pod: Pod; readonly runningContainers: readonly string[] }) {
    return { waitsFor: Object.fromEntries(terminationOrder(pod, runningContainers)) };
  },
};
