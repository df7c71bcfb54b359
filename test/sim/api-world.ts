// A world with an apiserver for users and watchers: creates and deletes pods as kubectl does, and records a watch of all pods,
// one line a change.
import { isTerminalPhase } from '../../src/domain/status/phase.js';
import { isMirrorPod } from '../../src/domain/values/pod-kind.js';
import type { Pod } from '../../src/ports/model/pod.js';
import type { PodStatus } from '../../src/ports/model/pod-status.js';
import type { AuditEntry } from '../../src/sim/apiserver/audit-log.js';
import type { ApiResponse, ApiVerb, SimCluster, SimClusterNode, WatchRecord } from '../../src/sim/index.js';
import { minute, type PodShape, podOf } from './sim-pods.js';

const admin = { name: 'admin', groups: ['system:masters'] };
export const podResource = { group: '', version: 'v1', plural: 'pods' };

/** A watcher's events of a pod, oldest first. */
export interface Seen {
  readonly at: number;
  readonly type: string;
  readonly pod: Pod;
}

export class ApiWorld {
  readonly seen: Seen[] = [];
  private watch: WatchRecord | null = null;

  constructor(
    readonly cluster: SimCluster,
    readonly t: { ok(holds: boolean, what: string): unknown },
  ) {}

  create(name: string, shape: PodShape = {}, nodeName = this.cluster.node().name): Pod {
    return this.createPod(podOf(name, shape), nodeName);
  }

  createPod(pod: Pod, nodeName: string): Pod {
    const { uid: _uid, ...metadata } = pod.metadata;
    const body = { apiVersion: 'v1', kind: 'Pod', metadata, spec: { automountServiceAccountToken: false, ...pod.spec, nodeName } };
    return this.must('create', { body }) as unknown as Pod;
  }

  /** @param gracePeriodSeconds null: the pod's own; 0: by force */
  remove(name: string, gracePeriodSeconds: number | null = null): void {
    this.must('delete', { name, body: gracePeriodSeconds === null ? {} : { gracePeriodSeconds } });
  }

  patch(name: string, body: unknown, subresource: string | null = null): void {
    this.must('patch', { name, body, subresource });
  }

  get(name: string): Pod | null {
    const { code, body } = this.ask('get', { name });
    return code === 200 ? (body as unknown as Pod) : null;
  }

  status(name: string): PodStatus {
    return this.get(name)?.status ?? {};
  }

  get node(): SimClusterNode {
    return this.cluster.node();
  }

  run(micros: number): void {
    this.cluster.run(micros);
  }

  /** Fails the test if the condition never holds. */
  until(what: string, holds: () => boolean, atMost = 2 * minute): void {
    this.t.ok(this.cluster.runUntil(holds, atMost), what);
  }

  untilReady(...names: readonly string[]): void {
    for (const name of names) this.until(`${name} is ready`, () => this.isReady(name));
  }

  untilGone(name: string, atMost = 2 * minute): void {
    this.until(`${name} is gone`, () => this.get(name) === null, atMost);
  }

  running(uid: string | undefined): number {
    return this.node.containers(uid).filter(({ state }) => state === 'running').length;
  }

  /** The apiserver can't be reached by the nodes; open watches break. */
  away(): void {
    const error = (operation: string) =>
      ({ operation, trigger: {}, action: { kind: 'error', moment: 'before', error: 'unavailable', message: 'connect: connection refused' } }) as const;
    for (const name of this.cluster.nodeNames) this.cluster.node(name).setFaults([error('apiReader.*'), error('apiWriter.*')]);
    this.cutWatches();
  }

  back(): void {
    for (const name of this.cluster.nodeNames) this.cluster.node(name).setFaults([]);
  }

  cutWatches(): void {
    this.cluster.apiserver.watches.cut(({ owner }) => owner !== 'onlooker');
  }

  isReady(name: string): boolean {
    return this.status(name).conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;
  }

  get pods(): Pod[] {
    return [...this.cluster.apiserver.store.all('pods')] as unknown as Pod[];
  }

  ask(
    verb: ApiVerb,
    request: { readonly resource?: typeof podResource; readonly namespace?: string | null; readonly name?: string; readonly subresource?: string | null; readonly body?: unknown },
  ): ApiResponse {
    const { resource = podResource, namespace = 'default', name = null, subresource = null, body } = request;
    return this.cluster.apiserver.handle(
      { user: admin, verb, resource, namespace, name, subresource, patch: 'merge-patch', ...(body === undefined ? {} : { body }) },
      this.cluster.now,
    );
  }

  private must(verb: ApiVerb, request: Parameters<ApiWorld['ask']>[1]): unknown {
    const { code, body } = this.ask(verb, request);
    if (code >= 300) throw new Error(`${verb} ${request.name ?? ''}: ${code} ${String(body.message)}`);
    return body;
  }

  /** Begins to watch all pods. */
  look(): this {
    const target = { resource: podResource, namespace: null, name: null, subresource: null };
    const answer = this.cluster.apiserver.watch(
      'onlooker',
      { user: admin, target, fieldSelector: null, labelSelector: null, resourceVersion: null, bookmarks: false, sendInitialEvents: false, timeoutSeconds: null },
      this.cluster.now,
    );
    if ('refused' in answer) throw new Error('no watch');
    this.watch = answer.watch;
    this.cluster.apiserver.watches.listen('onlooker', () => this.take());
    return this;
  }

  private take(): void {
    if (this.watch === null) return;
    for (const { type, object } of this.cluster.apiserver.watches.take(this.watch)) this.seen.push({ at: this.cluster.now, type, pod: object as unknown as Pod });
  }

  seenOf(uid: string): Seen[] {
    return this.seen.filter(({ pod }) => pod.metadata.uid === uid);
  }

  /** Phases as they followed each other. */
  phases(uid: string): string[] {
    return distinct(this.seenOf(uid).map(({ pod }) => pod.status?.phase ?? ''));
  }

  /** The states of a condition as they followed each other. */
  conditions(uid: string, type: string): string[] {
    return distinct(this.seenOf(uid).map(({ pod }) => pod.status?.conditions?.find((condition) => condition.type === type)?.status ?? '-'));
  }

  /** What no watcher may ever see. */
  problems(): string[] {
    const found: string[] = [];
    for (const uid of new Set(this.seen.map(({ pod }) => pod.metadata.uid ?? ''))) {
      const changes = this.seenOf(uid).filter(({ type }) => type !== 'DELETED');
      found.push(...changes.flatMap(({ pod }, i) => stepBack(changes[i - 1]?.pod, pod)));
    }
    // The server is a strict one: what a node writes has no field that isn't known, all that must be there, and no end that is taken back.
    // It may concern a pod that another one of its name has replaced meanwhile.
    const isBadlyFormed = ({ code, message }: AuditEntry): boolean => code === 400 || (code === 422 && !/metadata\.uid: Invalid value: .* field is immutable/.test(message ?? ''));
    const refused = this.cluster.apiserver.audit.entries.filter((entry) => entry.user.startsWith('system:node:') && isBadlyFormed(entry));
    found.push(...refused.map(({ verb, resource, name, code, message }) => `${verb} ${resource} ${name} was answered with ${code}: ${message}`));
    return found;
  }
}

function distinct(texts: readonly string[]): string[] {
  return texts.filter((text, i) => text !== texts[i - 1]);
}

/** What must not follow on what was seen before. */
function stepBack(before: Pod | undefined, after: Pod): string[] {
  const name = after.metadata.name;
  const found: string[] = [];
  const [old, now] = [before?.status ?? {}, after.status ?? {}];
  if (before !== undefined && isSameButVersion(before, after)) found.push(`${name} was told twice without a difference`);
  // A static pod starts over with its agent.
  if (isMirrorPod(after)) return found;
  if (isTerminalPhase(old.phase) && now.phase !== old.phase) found.push(`${name} was ${old.phase} and is ${now.phase}`);
  // And the init containers of any pod with its sandbox.
  if (after.spec.initContainers === undefined && old.phase === 'Running' && now.phase === 'Pending') found.push(`${name} was Running and is Pending`);
  if (old.startTime !== undefined && now.startTime !== old.startTime) found.push(`${name} has another start time`);
  if ((now.observedGeneration ?? 0) < (old.observedGeneration ?? 0)) found.push(`${name} has seen generation ${now.observedGeneration} after ${old.observedGeneration}`);
  for (const status of old.containerStatuses ?? []) {
    const next = now.containerStatuses?.find((candidate) => candidate.name === status.name);
    if (next === undefined) found.push(`${name} has lost the status of ${status.name}`);
    else if (next.restartCount < status.restartCount) found.push(`${name}: ${status.name} had ${status.restartCount} restarts and has ${next.restartCount}`);
  }
  return found;
}

function isSameButVersion(a: Pod, b: Pod): boolean {
  const text = ({ metadata, ...rest }: Pod): string => JSON.stringify({ ...rest, metadata: { ...metadata, resourceVersion: '' } });
  return text(a) === text(b);
}
