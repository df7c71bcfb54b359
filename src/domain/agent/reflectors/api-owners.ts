// Routes changes in the copies of API objects to their owners, and copies to the other parts: the one module that depends on both.
import type { ObjectChange, ReflectorState } from '../../api-cache/reflector.js';
import type { ApiParts } from '../agent-context.js';
import { reconcileAllMirrors } from '../mirror-client/mirror-pods.js';
import { nodeStatusNodeChanged } from '../node-status/node-status.js';
import { apiDataOf, objectChanged, registerObjects, trustBundleReflector, trustBundlesChanged, unregisterObjects, volumesWorkedOn } from '../object-manager/api-data.js';
import { csiDriverObjectsChanged, csiViewOf, pluginsNodeChanged } from '../plugin-manager/plugins.js';
import { podCertificateReflector, podCertificatesChanged } from '../pod-certificate-manager/pod-certificates.js';
import { apiPodsChanged } from '../pod-config/api-pods.js';
import { runtimeClassesChanged } from '../runtime-state/runtime-facts.js';
import { volumesNodeChanged, volumesOfPods } from '../volume-manager/volumes.js';
import { watchObjects } from './api-objects.js';
import { servicesChanged } from './services.js';
import type { ReflectorsContext } from './slice.js';

type Owner = ApiParts['changed'];

/** The owner of a reflector's changes, by the first part of its name. */
const owners: Readonly<Record<string, Owner>> = {
  node: nodeChanged,
  pods: apiPodsChanged,
  services: servicesChanged,
  secrets: objectChanged,
  configmaps: objectChanged,
  runtimeclasses: runtimeClassesChanged,
  [trustBundleReflector]: trustBundlesChanged,
  [podCertificateReflector]: podCertificatesChanged,
  csidrivers: csiDriverObjectsChanged,
};

export const apiParts: ApiParts = {
  apiData: apiDataOf,
  podWanted: registerObjects,
  podReleased: unregisterObjects,
  volumesWorkedOn,
  volumes: volumesOfPods,
  csi: csiViewOf,
  changed: (context, reflector, changes, replaced) => owners[reflector.name.split(':', 1)[0] as string]?.(context, reflector, changes, replaced),
};

/**
 * Pods are watched once the Node is known, so that those of another node of the same name are not mistaken for its own. Their first list is the most
 * recent one: after a restart, a list from a stale cache would lack pods that run here, and they would be ended although they were not deleted.
 */
function nodeChanged(context: ReflectorsContext, _reflector: ReflectorState, _changes: readonly ObjectChange[], replaced: boolean): void {
  const { nodeName } = context.state.settings;
  const pods = { group: '', version: 'v1', plural: 'pods' };
  if (replaced) watchObjects(context, 'pods', { resource: pods, namespace: null, fieldSelector: `spec.nodeName=${nodeName}`, labelSelector: null }, true);
  reconcileAllMirrors(context);
  nodeStatusNodeChanged(context);
  volumesNodeChanged(context);
  pluginsNodeChanged(context);
}
