// The controllers that a cluster needs. Each one runs a little after a change that concerns it, and reconciles
// the objects.
//
// Invariant: nothing runs while nothing changes, except timers (silent nodes, expired events).
import type { Micros } from '../../../ports/micros.js';
import type { Node } from '../../../ports/model/node.js';
import type { PodRelations } from '../access/pod-relations.js';
import { objectKey, type StoredChange, type StoredObject } from '../object-store.js';
import { sameJson } from '../same-json.js';
import { fillNamespace } from './automatic-objects.js';
import { settleCertificates } from './certificate-controller.js';
import type { ControlContext } from './control-context.js';
import type { ControllerName } from './controller-names.js';
import { collectGarbage, OwnerIndex } from './garbage-collector.js';
import { finishNamespaces } from './namespace-controller.js';
import { reconcileTaints, reviewHeartbeats } from './node-controllers.js';
import { annotateTtl, hasTtl } from './node-ttl.js';
import { settlePodCertificates } from './pod-certificate-signer.js';
import { schedulePods, waitsForNode } from './scheduler.js';

const leases = 'leases.coordination.k8s.io';

export class Controllers {
  private readonly waiting = new Set<string>();
  private readonly terminatingNamespaces = new Set<string>();
  private readonly owners: OwnerIndex;

  constructor(
    private readonly context: () => ControlContext,
    private readonly relations: PodRelations,
  ) {
    const { store } = context();
    this.owners = new OwnerIndex(store);
    for (const { metadata } of store.all('namespaces')) if (metadata.deletionTimestamp !== undefined) this.terminatingNamespaces.add(metadata.name);
    for (const pod of store.all('pods')) if (waitsForNode(pod)) this.waiting.add(objectKey(pod.metadata.namespace, pod.metadata.name));
  }

  changed(change: StoredChange): void {
    const { resource, key, before, after } = change;
    const { settings } = this.context();
    const { suspects } = this.context().state;
    for (const suspect of this.owners.changed(change)) {
      if (!settings.controllers.includes('garbage')) break;
      suspects.add(suspect);
      this.plan('garbage');
    }
    if (resource === 'namespaces') this.namespaceChanged(before, after);
    else if (resource === 'pods') this.podChanged(key, before, after);
    else if (resource === 'nodes') this.nodeChanged(before, after);
    else if (resource === 'certificatesigningrequests.certificates.k8s.io' || resource === 'podcertificaterequests.certificates.k8s.io') this.plan('certificates');
    else if (resource === leases && after?.metadata.namespace === 'kube-node-lease') this.heard(after.metadata.name);
    else if (resource === 'events') this.eventChanged(key, after, settings.eventTtlMicros);
    if (after === null && this.terminatingNamespaces.has(before?.metadata.namespace ?? '')) this.plan('namespaces');
  }

  nextAt(): Micros | null {
    const { due } = this.context().state;
    return due.size === 0 ? null : Math.min(...due.values());
  }

  advance(): void {
    const { state, now } = this.context();
    for (const [name, at] of [...state.due]) {
      if (at > now) continue;
      state.due.delete(name);
      this.run(name);
    }
  }

  private run(name: ControllerName): void {
    const context = this.context();
    switch (name) {
      case 'namespaces':
        finishNamespaces(context);
        return;
      case 'garbage':
        collectGarbage(context);
        return;
      case 'certificates':
        settleCertificates(context);
        settlePodCertificates(context);
        return;
      case 'taints':
        reconcileTaints(context);
        return;
      case 'ttl':
        annotateTtl(context);
        return;
      case 'scheduler':
        schedulePods(context, this.relations, this.waitingPods());
        return;
      case 'heartbeats':
        this.planAt('heartbeats', reviewHeartbeats(context));
        return;
      case 'events':
        this.planAt('events', this.forgetEvents(context));
        return;
    }
  }

  private namespaceChanged(before: StoredObject | null, after: StoredObject | null): void {
    if (after === null) this.terminatingNamespaces.delete(before?.metadata.name ?? '');
    else if (after.metadata.deletionTimestamp !== undefined) {
      this.terminatingNamespaces.add(after.metadata.name);
      this.plan('namespaces');
    } else if (before === null) fillNamespace(after.metadata.name, this.context());
  }

  private podChanged(key: string, before: StoredObject | null, after: StoredObject | null): void {
    const waits = after !== null && waitsForNode(after);
    if (waits) this.waiting.add(key);
    else this.waiting.delete(key);
    const isOver = (object: StoredObject | null): boolean =>
      object === null || ['Succeeded', 'Failed'].includes(String((object.status as { readonly phase?: string } | undefined)?.phase));
    const madeRoom = before !== null && isOver(after) && !isOver(before);
    const isNew = waits && (before === null || !waitsForNode(before));
    if (isNew || (madeRoom && this.waiting.size > 0)) this.plan('scheduler');
  }

  private nodeChanged(before: StoredObject | null, after: StoredObject | null): void {
    const { state, settings, store } = this.context();
    if (after === null) {
      state.heartbeats.delete(before?.metadata.name ?? '');
      return;
    }
    state.changedNodes.add(after.metadata.name);
    this.plan('taints');
    if (settings.controllers.includes('ttl') && !hasTtl(after, store)) {
      state.nodesWithoutTtl.add(after.metadata.name);
      this.plan('ttl');
    }
    if (before === null || heartbeatOf(before) !== heartbeatOf(after)) this.heard(after.metadata.name);
    if (this.waiting.size > 0 && (before === null || !sameJson(roomOf(before), roomOf(after)))) this.plan('scheduler');
  }

  private heard(node: string): void {
    const { state, settings, now, store } = this.context();
    if (settings.nodeMonitorGraceMicros === null || store.get('nodes', objectKey(null, node)) === null) return;
    state.heartbeats.delete(node);
    state.heartbeats.set(node, now);
    if (!state.due.has('heartbeats')) state.due.set('heartbeats', now + settings.nodeMonitorGraceMicros);
  }

  private eventChanged(key: string, after: StoredObject | null, ttl: Micros): void {
    const { state, now } = this.context();
    state.eventTimes.delete(key);
    if (after === null) return;
    state.eventTimes.set(key, now);
    if (!state.due.has('events')) state.due.set('events', now + ttl);
  }

  private forgetEvents({ store, state, settings, now }: ControlContext): Micros | null {
    for (const [key, at] of state.eventTimes) {
      if (at + settings.eventTtlMicros > now) return at + settings.eventTtlMicros;
      const event = store.get('events', key);
      if (event !== null) store.remove('events', key, event);
      state.eventTimes.delete(key);
    }
    return null;
  }

  private *waitingPods(): Iterable<StoredObject> {
    const { store } = this.context();
    for (const key of this.waiting) {
      const pod = store.get('pods', key);
      if (pod !== null) yield pod;
    }
  }

  private plan(name: ControllerName): void {
    const { state, now, settings } = this.context();
    if (settings.controllers.includes(name) && !state.due.has(name)) state.due.set(name, now + settings.controllerMicros);
  }

  private planAt(name: ControllerName, at: Micros | null): void {
    if (at !== null) this.context().state.due.set(name, at);
  }
}

function heartbeatOf(object: StoredObject): string {
  const { conditions = [] } = (object as unknown as Node).status ?? {};
  return conditions.map(({ lastHeartbeatTime }) => lastHeartbeatTime ?? '').join();
}

/** The fields of a node that scheduling depends on. */
function roomOf(object: StoredObject): readonly unknown[] {
  const node = object as unknown as Node;
  return [node.spec, node.metadata.labels, node.status?.allocatable];
}
