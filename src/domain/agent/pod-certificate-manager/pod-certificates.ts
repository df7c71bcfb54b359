// Certificates of pods as a part of the agent: requests of the node are watched from the first pod on that has one, and a pod whose certificate
// was replaced is synced.
import type { ApiObject } from '../../../ports/model/api-object.js';
import type { ObjectChange, ReflectorState } from '../../api-cache/reflector.js';
import { objectKey } from '../../api-cache/reflector.js';
import { assert } from '../../kernel/assert.js';
import type { View } from '../../kernel/view.js';
import { type PodCertificateOrder, podCertificateRequests } from '../../pod-certificates/pod-certificate-request.js';
import {
  forgetPodCertificates,
  lookUpPodCertificate,
  noPodCertificates,
  type PodCertificateAnswer,
  type PodCertificateContext,
  type PodCertificateReply,
  podCertificateReplied,
  podCertificateRequestsChanged,
  podCertificateWoken,
} from '../../pod-certificates/pod-certificates.js';
import { microsPerSecond } from '../../values/time.js';
import type { AgentContext } from '../agent-context.js';
import { notifyPods } from '../object-manager/outdated-pods.js';
import { watchObjects } from '../reflectors/api-objects.js';
import { type ApiState, ownNode } from '../reflectors/api-state.js';
import { asPodCertificateManager, type PodCertificateManagerContext } from './slice.js';

export const podCertificateMachine = 'pod-certificate';
export const podCertificateReflector = 'podcertificaterequests';
const requestTimeout = 30 * microsPerSecond;

export function podCertificateOf(caller: AgentContext, order: PodCertificateOrder): PodCertificateAnswer {
  const context = asPodCertificateManager(caller);
  const { api } = context.state;
  assert(api !== null, 'a certificate is requested without an apiserver');
  if (!context.state.settings.podCertificateProjection) return { kind: 'failed', message: noPodCertificates };
  const fieldSelector = `spec.nodeName=${api.nodeName}`;
  if (!api.reflectors.has(podCertificateReflector)) {
    watchObjects(context, podCertificateReflector, { resource: podCertificateRequests, namespace: null, fieldSelector, labelSelector: null });
  }
  return lookUpPodCertificate(api.podCertificates, order, contextOf(context, api));
}

export function releasePodCertificates(caller: AgentContext, uid: string): void {
  const context = asPodCertificateManager(caller);
  const { api } = context.state;
  if (api === null) return;
  forgetPodCertificates(api.podCertificates, uid, (key) => context.turn.end({ machine: podCertificateMachine, key }));
}

export function certificateStepReplied(context: PodCertificateManagerContext, key: string, answer: PodCertificateReply): void {
  const { api } = context.state;
  if (api !== null) podCertificateReplied(api.podCertificates, key, answer, contextOf(context, api));
}

export function certificateWoken(context: PodCertificateManagerContext, key: string): void {
  const { api } = context.state;
  if (api !== null) podCertificateWoken(api.podCertificates, key, contextOf(context, api));
}

/** Requests of the node have changed. */
export function podCertificatesChanged(caller: AgentContext, _reflector: ReflectorState, changes: readonly ObjectChange[]): void {
  const context = asPodCertificateManager(caller);
  const { api } = context.state;
  if (api === null) return;
  const changed = new Set(changes.map(({ object }) => objectKey(object.metadata.namespace ?? '', object.metadata.name)));
  podCertificateRequestsChanged(api.podCertificates, changed, contextOf(context, api));
}

function contextOf(context: PodCertificateManagerContext, api: View<ApiState>): PodCertificateContext {
  const { turn } = context;
  const address = (key: string) => ({ machine: podCertificateMachine, key });
  return {
    now: turn.now,
    wall: turn.wall,
    nodeName: api.nodeName,
    busy: (key) => ['get', 'generate', 'create'].some((slot) => turn.inFlight(address(key), slot)),
    nodeUid: ownNode(api)?.metadata.uid ?? null,
    random: (key) => turn.random('pod-certificate', key),
    readAccount: (key, namespace, name) => {
      const resource = { group: '', version: 'v1', plural: 'serviceaccounts' };
      turn.ask('apiReader.get', address(key), 'get', { client: 'main', resource, namespace, name, resourceVersion: null }, requestTimeout);
    },
    generate: (key, keyType) => turn.ask('podCertificateKeys.generate', address(key), 'generate', { keyType }, requestTimeout),
    create: (key, namespace, object) => {
      const place = { client: 'main', resource: podCertificateRequests, namespace, name: null, subresource: null } as const;
      turn.ask('apiWriter.create', address(key), 'create', { ...place, object }, requestTimeout);
    },
    request: (namespace, name) => {
      const reflector = api.reflectors.get(podCertificateReflector);
      return reflector?.synced === true ? ((reflector.objects.get(objectKey(namespace, name)) as ApiObject | undefined) ?? null) : undefined;
    },
    wakeAt: (key, at) => turn.wakeAt(address(key), at),
    log: (message, fields) => turn.log('error', message, fields),
    event: ({ podUid }, reason, message) => {
      const pod = context.state.volumes.pods.get(podUid)?.pod;
      if (pod !== undefined) context.event(pod, null, 'Warning', reason, message);
    },
    changed: (uid) => notifyPods(context, [uid], true),
  };
}
