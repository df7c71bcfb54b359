// Drives the pod workers by the steps: one clock, a status that is always available, operations that end on request.

import type { PodWorkerEffect } from '../../../src/domain/pod-workers/effects.js';
import { syncKnownPods } from '../../../src/domain/pod-workers/known-pods.js';
import { newPodWorkers, type PodUpdateType, type PodWorkers, type RunningPod } from '../../../src/domain/pod-workers/pod-worker-record.js';
import {
  couldHaveRunningContainers,
  isPodForMirrorPodTerminatingByFullName,
  isPodKnownTerminated,
  isPodTerminationRequested,
  shouldPodBeFinished,
  shouldPodContainersBeTerminating,
  shouldPodContentBeRemoved,
  shouldPodRuntimeBeRemoved,
} from '../../../src/domain/pod-workers/queries.js';
import { type RunResult, runFinished, runStatusRead } from '../../../src/domain/pod-workers/run-pod.js';
import { updatePod } from '../../../src/domain/pod-workers/update-pod.js';
import { isStaticPod } from '../../../src/domain/values/pod-kind.js';
import { podFullNameOf } from '../../../src/domain/values/pod-references.js';
import type { Pod } from '../../../src/ports/model/pod.js';

interface RuntimeStatus {
  readonly runningContainers?: unknown;
  readonly readySandbox?: boolean;
  readonly error?: string;
}
interface StepInput {
  readonly do: string;
  readonly type?: PodUpdateType;
  readonly pod?: string;
  readonly mirror?: string;
  readonly runningPod?: string;
  readonly killOptions?: { readonly evict?: boolean; readonly gracePeriodOverride?: number; readonly statusFunction?: string; readonly completionChannel?: string };
  readonly uid?: string;
  readonly result?: {
    readonly error?: string;
    readonly cancelled?: boolean;
    readonly podIsTerminal?: boolean;
    readonly postSync?: boolean;
    readonly backoffExpiresInSeconds?: readonly number[];
  };
  readonly desired?: readonly string[];
  readonly status?: RuntimeStatus;
  readonly seconds?: number;
}
interface Input {
  readonly pods?: Readonly<Record<string, Pod>>;
  readonly runningPods?: Readonly<Record<string, { readonly id: string; readonly name: string; readonly namespace: string }>>;
  readonly steps: readonly StepInput[];
}

const second = 1_000_000;
const predicates = {
  isPodKnownTerminated,
  couldHaveRunningContainers,
  shouldPodBeFinished,
  isPodTerminationRequested,
  shouldPodContainersBeTerminating,
  shouldPodRuntimeBeRemoved,
  shouldPodContentBeRemoved,
};

class Run {
  readonly workers: PodWorkers = newPodWorkers();
  readonly statuses = new Map<string, RuntimeStatus>();
  now = 0;
  constructor(private readonly input: Input) {}

  step(step: StepInput): Record<string, unknown> {
    this.now += second * (1 + (step.do === 'advance' ? (step.seconds ?? 0) : 0));
    const effects: PodWorkerEffect[] = [];
    let known: Record<string, unknown> | undefined;
    if (step.do === 'updatePod') this.update(step, effects);
    if (step.do === 'finish') this.finish(step, effects);
    if (step.do === 'setRuntimeStatus') this.statuses.set(step.uid ?? '', step.status ?? {});
    if (step.do === 'syncKnownPods') known = Object.fromEntries(syncKnownPods(this.workers, new Set(step.desired), this.now, effects));
    this.settle(effects);
    return { ...this.report(effects), ...(known === undefined ? {} : { knownPods: known }) };
  }

  private update(step: StepInput, effects: PodWorkerEffect[]): void {
    const running = step.runningPod === undefined ? undefined : this.input.runningPods?.[step.runningPod];
    const kill = step.killOptions;
    const runningPod: RunningPod | null = running === undefined ? null : { uid: running.id, name: running.name, namespace: running.namespace };
    const killOptions =
      kill === undefined
        ? null
        : {
            evict: kill.evict ?? false,
            gracePeriodOverride: kill.gracePeriodOverride ?? null,
            statusChange:
              kill.statusFunction === undefined ? null : { reason: kill.statusFunction, message: '', disruptionReason: null, disruptionMessage: null, keepsSuccess: false },
            completion: kill.completionChannel ?? null,
          };
    const update = { type: step.type as PodUpdateType, pod: this.pod(step.pod), mirrorPod: this.pod(step.mirror), runningPod, killOptions, startTime: null };
    updatePod(this.workers, update, this.now, (uid) => this.mayBeActive(uid), effects);
  }

  private finish(step: StepInput, effects: PodWorkerEffect[]): void {
    const result = step.result ?? {};
    const expiries = (result.backoffExpiresInSeconds ?? []).map((s) => this.now + s * second);
    const failed = result.error !== undefined || result.cancelled === true || expiries.length > 0;
    const message = result.error ?? '';
    const kind = result.cancelled === true ? 'cancelled' : message.includes('network is not ready') ? 'network' : 'failed';
    const error: RunResult['error'] = failed ? { kind, message, backOffExpiries: expiries } : null;
    runFinished(this.workers, step.uid ?? '', { error, podIsTerminal: result.podIsTerminal ?? false, postSync: result.postSync ?? false, rest: null }, this.now, effects);
  }

  private pod(key: string | undefined): Pod | null {
    return key === undefined ? null : (this.input.pods?.[key] ?? null);
  }

  private mayBeActive(uid: string): boolean {
    const status = this.statuses.get(uid);
    return status !== undefined && (status.error !== undefined || hasSome(status.runningContainers) || status.readySandbox === true);
  }

  /** The status is always at hand: every wait is answered at once, and what follows from it too. */
  private settle(effects: PodWorkerEffect[]): void {
    for (let i = 0; i < effects.length; i++) {
      const effect = effects[i];
      if (effect?.kind === 'awaitStatus') runStatusRead(this.workers, effect.uid, this.statuses.get(effect.uid)?.error ?? null, this.now, effects);
    }
  }

  private report(effects: readonly PodWorkerEffect[]): Record<string, unknown> {
    const lists: Record<string, unknown[]> = { started: [], cancelled: [], enqueued: [], channelsClosed: [], postSync: [], events: [] };
    for (const effect of effects) {
      if (effect.kind === 'start') lists['started']?.push(this.started(effect));
      if (effect.kind === 'cancel') lists['cancelled']?.push(effect.uid);
      if (effect.kind === 'enqueue') lists['enqueued']?.push({ uid: effect.uid, baseDelaySeconds: effect.baseDelayMicros / second });
      if (effect.kind === 'complete') lists['channelsClosed']?.push(effect.completion);
      if (effect.kind === 'postSync') lists['postSync']?.push(effect.uid);
      if (effect.kind === 'failedSync') lists['events']?.push(`Warning FailedSync ${effect.message}`);
    }
    lists['started']?.sort(byUid);
    lists['enqueued']?.sort(byUid);
    const inFlight = [...this.workers.records.values()]
      .filter((record) => record.run?.operating === true)
      .map((record) => record.uid)
      .sort();
    return { ...Object.fromEntries(Object.entries(lists).filter(([, list]) => list.length > 0)), inFlight, queries: this.answers() };
  }

  private started(effect: Extract<PodWorkerEffect, { kind: 'start' }>): Record<string, unknown> {
    const { operation, uid } = effect;
    if (operation.op === 'syncTerminatingRuntimePod') return { op: operation.op, uid };
    const newer = effect.statusNewerThan === null ? {} : { statusNewerThanSeconds: effect.statusNewerThan / second };
    const common = { op: operation.op, uid, pod: operation.pod.metadata.labels?.['rev'], ...newer };
    if (operation.op === 'syncPod') return { ...common, type: operation.type, ...(operation.mirrorPod === null ? {} : { mirror: operation.mirrorPod.metadata.labels?.['rev'] }) };
    if (operation.op === 'syncTerminatedPod') return common;
    return {
      ...common,
      ...(operation.gracePeriodSeconds === null ? {} : { gracePeriodSeconds: operation.gracePeriodSeconds }),
      ...(operation.statusChange === null ? {} : { statusFunction: operation.statusChange.reason }),
    };
  }

  private answers(): Record<string, unknown> {
    const pods = Object.values(this.input.pods ?? {});
    const uids = new Set([...pods.map((pod) => pod.metadata.uid ?? ''), ...Object.values(this.input.runningPods ?? {}).map((pod) => pod.id), 'unknown-uid']);
    const answers: Record<string, unknown> = {};
    for (const uid of uids) {
      const yes = Object.entries(predicates).flatMap(([name, holds]) => (holds(this.workers, uid) ? [name] : []));
      if (yes.length > 0) answers[uid] = yes;
    }
    const names = new Set(pods.filter(isStaticPod).map((pod) => podFullNameOf(pod)));
    const terminating = [...names].filter((name) => isPodForMirrorPodTerminatingByFullName(this.workers, name)).sort();
    return terminating.length > 0 ? { ...answers, terminatingStaticFullNames: terminating } : answers;
  }
}

function byUid(a: unknown, b: unknown): number {
  const [x, y] = [(a as { uid: string }).uid, (b as { uid: string }).uid];
  return x < y ? -1 : x > y ? 1 : 0;
}

function hasSome(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : Boolean(value);
}

export const driver = {
  run(input: Input): unknown {
    const run = new Run(input);
    return { steps: input.steps.map((step) => run.step(step)) };
  },
};
