// Certificates of pods in projected volumes: each source has a key and a certificate of its own, whose signer decides
// when to replace it.
//
// | state                | has                     | what ends it                                                                      |
// |----------------------|-------------------------|-----------------------------------------------------------------------------------|
// | initial              | nothing                 | the request is created: waiting                                                   |
// | waiting              | a request               | issued: fresh; denied or failed: permanent; lost for ten minutes and more: initial |
// | fresh                | a certificate           | its refresh time: refreshing                                                      |
// | refreshing           | a certificate, a request| issued: fresh; denied or failed: permanent; lost: fresh, with the old one         |
// | denied, failed       | the verdict             | only the pod's end                                                                |
//
// A request is created in steps, of which one is in flight: the service account is read, a key made, the object created. A failed step
// restarts from the first one, with growing pauses.
//
// Invariants: all state is in memory, so a restarted agent requests again; a key belongs to one request; the old certificate is used until a new
// one exists, even after its expiry.
import type { Instant } from '../../ports/instant.js';
import type { Micros } from '../../ports/micros.js';
import type { ApiObject } from '../../ports/model/api-object.js';
import type { AgentOperations } from '../../ports/outbound/outbound-ports.js';
import { doubledPause } from '../backoff/doubled-pause.js';
import { assert } from '../kernel/assert.js';
import type { ReplyTo } from '../kernel/machine.js';
import { goQuote } from '../values/go-text.js';
import { type Clocks, momentAhead, nowOutside } from '../values/instant.js';
import { microsPerSecond } from '../values/time.js';
import { type PodCertificateOrder, podCertificateRequest, podCertificateVerdict } from './pod-certificate-request.js';

export type PodCertificateAnswer = { readonly kind: 'found'; readonly privateKey: string; readonly chain: string } | { readonly kind: 'failed'; readonly message: string };

interface Bundle {
  readonly privateKey: string;
  readonly chain: string;
  /** When it came; the times below are counted from then. */
  readonly obtained: Clocks;
  readonly beginRefreshAt: Micros;
  /** `beginRefreshAt` and a part of five minutes, so that the pods of a fleet don't request together. */
  readonly refreshAt: Micros;
  readonly notAfter: Micros;
}

type Request =
  | { readonly step: 'account' }
  | { readonly step: 'key'; readonly serviceAccountUid: string }
  | { readonly step: 'create'; readonly privateKey: string }
  | { readonly step: 'wait'; readonly privateKey: string; readonly name: string; readonly lostAt: Micros };

interface CertificateRecord {
  readonly key: string;
  readonly order: PodCertificateOrder;
  bundle: Bundle | null;
  request: Request | null;
  /** null: there may still be one. */
  end: { readonly kind: 'denied' | 'failed'; readonly reason: string; readonly message: string } | null;
  failures: number;
  retryAt: Micros;
  reportedOverdue: boolean;
  reportedExpired: boolean;
}

/** By pod, volume and source. */
export type PodCertificates = Map<string, CertificateRecord>;

export interface PodCertificateContext {
  readonly now: Micros;
  readonly wall: Instant;
  readonly nodeName: string;
  /** null: the Node isn't known yet. */
  readonly nodeUid: string | null;
  /** A command with the key from an earlier pod is still in flight. */
  busy(key: string): boolean;
  /** In [0, 1), per certificate. */
  random(key: string): number;
  readAccount(key: string, namespace: string, name: string): void;
  generate(key: string, keyType: string): void;
  create(key: string, namespace: string, object: ApiObject): void;
  /** The object as the API has it; null: it isn't there; undefined: that isn't known. */
  request(namespace: string, name: string): ApiObject | null | undefined;
  wakeAt(key: string, at: Micros | null): void;
  log(message: string, fields: Readonly<Record<string, string>>): void;
  event(order: PodCertificateOrder, reason: string, message: string): void;
  /** The content of the pod's volume changed. */
  changed(podUid: string): void;
}

export const noPodCertificates = 'PodCertificate projection is not supported: the feature gate PodCertificateRequest is off';

/** More than any node has pods and sources for. */
const maxPodCertificates = 10_000;
const firstRetry: Micros = microsPerSecond;
const longestRetry: Micros = 60 * microsPerSecond;
const refreshJitter: Micros = 300 * microsPerSecond;
const overdueAfter: Micros = 600 * microsPerSecond;
const lostAfter: Micros = 600 * microsPerSecond;
const lostJitter: Micros = 60 * microsPerSecond;

export function lookUpPodCertificate(certificates: PodCertificates, order: PodCertificateOrder, context: PodCertificateContext): PodCertificateAnswer {
  const key = JSON.stringify([order.podUid, order.volumeName, order.sourceIndex]);
  let record = certificates.get(key);
  if (record === undefined) {
    if (certificates.size >= maxPodCertificates) return { kind: 'failed', message: `the node has ${maxPodCertificates} pod certificates already` };
    record = { key, order, bundle: null, request: null, end: null, failures: 0, retryAt: 0, reportedOverdue: false, reportedExpired: false };
    certificates.set(key, record);
    advance(record, context);
  }
  const { end, bundle } = record;
  if (end !== null) return { kind: 'failed', message: `PodCertificateRequest was permanently ${end.kind}: reason=${goQuote(end.reason)} message=${goQuote(end.message)}` };
  return bundle === null ? { kind: 'failed', message: 'credential bundle is not issued yet' } : { kind: 'found', privateKey: bundle.privateKey, chain: bundle.chain };
}

/** The pod's service account, a new key, or the object of the request. */
export type PodCertificateReply = ReplyTo<AgentOperations, 'apiReader.get' | 'podCertificateKeys.generate' | 'apiWriter.create'>;

export function podCertificateReplied(certificates: PodCertificates, key: string, answer: PodCertificateReply, context: PodCertificateContext): void {
  const { outcome } = answer;
  const record = certificates.get(key);
  if (record === undefined || record.request === null) return;
  if (outcome.ok) nextStep(record, record.request, answer, context);
  else {
    record.request = null;
    const delay = doubledPause(firstRetry, longestRetry, record.failures++);
    record.retryAt = context.now + delay;
    const { namespace, podName, volumeName } = record.order;
    context.log("Couldn't request a pod certificate", { pod: `${namespace}/${podName}`, volumeName, err: outcome.error.message });
  }
  advance(record, context);
}

/** Each step enables the next one; the last creates an object that is watched. */
function nextStep(record: CertificateRecord, request: Request, answer: PodCertificateReply, context: PodCertificateContext): void {
  const { key, order } = record;
  switch (answer.op) {
    case 'apiReader.get': {
      assert(request.step === 'account', 'a service account was read for a certificate that does not wait for it', key);
      if (!answer.outcome.ok) return;
      record.request = { step: 'key', serviceAccountUid: answer.outcome.value.metadata.uid ?? '' };
      context.generate(key, order.source.keyType);
      return;
    }
    case 'podCertificateKeys.generate': {
      assert(request.step === 'key', 'a key was generated for a certificate that does not wait for it', key);
      if (!answer.outcome.ok) return;
      const { privateKey, request: stub } = answer.outcome.value;
      record.request = { step: 'create', privateKey };
      const requester = { serviceAccountUid: request.serviceAccountUid, nodeName: context.nodeName, nodeUid: context.nodeUid ?? '' };
      context.create(key, order.namespace, podCertificateRequest(order, requester, stub));
      return;
    }
    case 'apiWriter.create': {
      assert(request.step === 'create', 'a certificate was requested that does not wait for it', key);
      if (!answer.outcome.ok) return;
      const lostAt = context.now + lostAfter + Math.floor(lostJitter * context.random(key));
      record.request = { step: 'wait', privateKey: request.privateKey, name: answer.outcome.value.metadata.name, lostAt };
      record.failures = 0;
      return;
    }
  }
}

/** Requests of the node have changed. */
export function podCertificateRequestsChanged(certificates: PodCertificates, changed: ReadonlySet<string>, context: PodCertificateContext): void {
  for (const record of certificates.values()) {
    const { request, order } = record;
    if (request?.step === 'wait' && changed.has(`${order.namespace}/${request.name}`)) advance(record, context);
  }
}

export function podCertificateWoken(certificates: PodCertificates, key: string, context: PodCertificateContext): void {
  const record = certificates.get(key);
  if (record !== undefined) advance(record, context);
}

/** The pod and its keys are removed. */
export function forgetPodCertificates(certificates: PodCertificates, podUid: string, end: (key: string) => void): void {
  for (const [key, { order }] of certificates) {
    if (order.podUid !== podUid) continue;
    certificates.delete(key);
    end(key);
  }
}

function advance(record: CertificateRecord, context: PodCertificateContext): void {
  if (record.request?.step === 'wait') look(record, record.request, context);
  const { bundle, request, end } = record;
  if (end === null && request === null && (bundle === null || nowOutside(bundle.obtained, context) >= bundle.refreshAt)) begin(record, context);
  if (end === null && record.bundle !== null) reportAge(record, record.bundle, context);
  context.wakeAt(record.key, end === null ? nextLook(record, context) : null);
}

function begin(record: CertificateRecord, context: PodCertificateContext): void {
  if (context.now < record.retryAt) return;
  if (context.nodeUid === null || context.busy(record.key)) {
    record.retryAt = context.now + firstRetry;
    return;
  }
  record.request = { step: 'account' };
  context.readAccount(record.key, record.order.namespace, record.order.serviceAccountName);
}

function look(record: CertificateRecord, request: Extract<Request, { step: 'wait' }>, context: PodCertificateContext): void {
  const { key, order } = record;
  const object = context.request(order.namespace, request.name);
  if (object === undefined) return;
  if (object === null) {
    if (context.now >= request.lostAt) record.request = null;
    return;
  }
  const verdict = podCertificateVerdict(object);
  if (verdict.kind === 'pending') return;
  record.request = null;
  if (verdict.kind === 'issued') {
    const { chain } = verdict;
    const obtained = { now: context.now, wall: context.wall };
    const beginRefreshAt = momentAhead(verdict.beginRefreshAt, obtained);
    const notAfter = momentAhead(verdict.notAfter, obtained);
    const refreshAt = beginRefreshAt + Math.floor(refreshJitter * context.random(key));
    record.bundle = { privateKey: request.privateKey, chain, obtained, beginRefreshAt, refreshAt, notAfter };
    record.reportedOverdue = false;
    record.reportedExpired = false;
  } else {
    record.end = verdict;
    record.bundle = null;
    const { reason, message } = verdict;
    const name = `${order.namespace}/${request.name}`;
    if (verdict.kind === 'denied') context.event(order, 'Denied', `PodCertificateRequest ${name} was denied, reason=${reason}, message=${message}`);
    else context.event(order, 'Failed', `PodCertificateRequest ${name} failed, reason=${reason}, message=${message}`);
  }
  context.changed(order.podUid);
}

/** Once for each certificate. */
function reportAge(record: CertificateRecord, { obtained, beginRefreshAt, notAfter }: Bundle, context: PodCertificateContext): void {
  const { order } = record;
  const now = nowOutside(obtained, context);
  const of = `the certificate of source ${order.sourceIndex} of volume ${goQuote(order.volumeName)}`;
  if (!record.reportedOverdue && now >= beginRefreshAt + overdueAfter) {
    record.reportedOverdue = true;
    context.event(order, 'CertificateOverdueForRefresh', `${of} is overdue for refresh`);
  }
  if (!record.reportedExpired && now >= notAfter) {
    record.reportedExpired = true;
    context.event(order, 'CertificateExpired', `${of} has expired`);
  }
}

/** The first time at which something follows from time alone; null: never. */
function nextLook({ bundle, request, retryAt, reportedOverdue, reportedExpired }: CertificateRecord, clocks: Clocks): Micros | null {
  const { now } = clocks;
  const times: Micros[] = [];
  // The certificate's times by the clock of wake-ups, which did not advance while the host slept.
  const slept = bundle === null ? 0 : nowOutside(bundle.obtained, clocks) - now;
  if (request === null) times.push(Math.max(bundle === null ? now : bundle.refreshAt - slept, retryAt));
  else if (request.step === 'wait' && request.lostAt > now) times.push(request.lostAt);
  if (bundle !== null && !reportedOverdue) times.push(bundle.beginRefreshAt + overdueAfter - slept);
  if (bundle !== null && !reportedExpired) times.push(bundle.notAfter - slept);
  return times.length === 0 ? null : Math.max(Math.min(...times), now + 1);
}

export type PodCertificateStateName = 'not_yet_issued' | 'fresh' | 'overdue_for_refresh' | 'expired' | 'denied' | 'failed';

/** How many certificates of each signer are in each state. */
export function podCertificateStates(
  certificates: PodCertificates,
  clocks: Clocks,
): { readonly signerName: string; readonly state: PodCertificateStateName; readonly count: number }[] {
  const counts = new Map<string, { signerName: string; state: PodCertificateStateName; count: number }>();
  for (const record of certificates.values()) {
    const { signerName } = record.order.source;
    const state = stateName(record, clocks);
    const counted = counts.get(`${state} ${signerName}`);
    if (counted === undefined) counts.set(`${state} ${signerName}`, { signerName, state, count: 1 });
    else counted.count++;
  }
  return [...counts.values()];
}

function stateName({ end, bundle }: CertificateRecord, clocks: Clocks): PodCertificateStateName {
  if (end !== null) return end.kind;
  if (bundle === null) return 'not_yet_issued';
  const now = nowOutside(bundle.obtained, clocks);
  if (now >= bundle.notAfter) return 'expired';
  return now >= bundle.beginRefreshAt + overdueAfter ? 'overdue_for_refresh' : 'fresh';
}
