// Pods of tests. A test that needs pods of one shape builds its own constructor on these, under a name that says which shape.
import type { ApiObject } from '../../src/ports/model/api-object.js';
import type { ObjectMeta } from '../../src/ports/model/object-meta.js';
import type { Pod } from '../../src/ports/model/pod.js';

/** A pod whose UID is its name, with one container unless the spec has others. */
export function pod(name: string, spec: Partial<Pod['spec']> = {}, metadata: Partial<ObjectMeta> = {}): Pod {
  return { metadata: { name, uid: name, ...metadata }, spec: { containers: [{ name: 'c' }], ...spec } };
}

/** As a client creates it: bound to node `n1`, with a container of the mock runtime that runs until it is stopped. */
export function clusterPod(name: string, spec: object = {}, namespace = 'default'): ApiObject {
  const containers = [{ name: 'c', image: 'busybox', imagePullPolicy: 'IfNotPresent' }];
  const bound = { nodeName: 'n1', automountServiceAccountToken: false, terminationGracePeriodSeconds: 1, containers, ...spec };
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace, annotations: { 'sim.kubelet-ts/c': 'run=forever' } }, spec: bound } as ApiObject;
}
