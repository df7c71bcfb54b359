// pod-resources: what a pod asks for, its QoS class, the OOM score of its containers.
import { oomScoreAdjust } from '../../../src/domain/qos/oom-score.js';
import { podLimits, podRequests, resourceListOf } from '../../../src/domain/qos/pod-resources.js';
import { podQosClass } from '../../../src/domain/qos/qos-class.js';
import { mustParseQuantity, quantityValue } from '../../../src/domain/values/quantity.js';
import type { Pod } from '../../../src/ports/model/pod.js';
import type { VectorDriver } from '../driver.js';

export const driver: VectorDriver = {
  run({ pod, nodeMemory }: { readonly pod: Pod; readonly nodeMemory: string }) {
    const memory = quantityValue(mustParseQuantity(nodeMemory));
    const containers = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
    const status = pod.status;
    const excludeOverhead = { excludeOverhead: true };
    const useStatus = { useStatus: true };
    return {
      requests: resourceListOf(podRequests(pod)),
      limits: resourceListOf(podLimits(pod)),
      ...(pod.spec.overhead === undefined
        ? {}
        : { requestsWithoutOverhead: resourceListOf(podRequests(pod, excludeOverhead)), limitsWithoutOverhead: resourceListOf(podLimits(pod, excludeOverhead)) }),
      ...(status?.containerStatuses === undefined && status?.initContainerStatuses === undefined && status?.resources === undefined
        ? {}
        : { requestsWithStatus: resourceListOf(podRequests(pod, useStatus)), limitsWithStatus: resourceListOf(podLimits(pod, useStatus)) }),
      qosClass: podQosClass(pod),
      oomScoreAdj: Object.fromEntries(containers.map((container) => [container.name, oomScoreAdjust(pod, container, memory)])),
    };
  },
};
