// The lives of pods as time spans, for the live page: a pod's wait, the pulls of its images, the creation of its sandbox and containers,
// its readiness, and its end. Derived from the agent's inputs and outputs; it decides nothing.
// Invariants: no cost without a viewer; a life is kept as long as the agent knows the pod, and holds at most `spansMax` spans.

import type { Micros } from '../../ports/micros.js';
import type { AgentState } from '../agent/agent-state.js';
import type { KubeletEvent, KubeletOperations } from '../agent/kubelet.js';
import type { Input, Output } from '../kernel/kernel.js';
import type { Command, Reply } from '../kernel/machine.js';
import { podMachine } from '../pod-sync/sync-context.js';
import type { StatusRecord } from '../status/status-manager.js';

export type LifeStep = 'queued' | 'pull' | 'sandbox' | 'create' | 'start' | 'ready' | 'stop';

export interface LifeSpan {
  readonly step: LifeStep;
  /** The object of the step: an image, a container, a sandbox; '' for the pod itself. */
  readonly subject: string;
  readonly from: Micros;
  /** null: in progress. For `ready` the pod is ready until then. */
  to: Micros | null;
  /** The runtime's words; null: it went well, or isn't over. */
  failure: string | null;
}

interface Life {
  readonly spans: LifeSpan[];
  /** The record from which `ready` was last derived. */
  seen: StatusRecord | null;
}

/** Enough for a pod of many containers; of an endlessly restarting one the newest are kept. */
const spansMax = 120;
const failureLengthMax = 300;

export class PodLives {
  private state: AgentState | null = null;
  private readonly lives = new Map<string, Life>();
  private readonly inFlight = new Map<number, { readonly uid: string; readonly span: LifeSpan }>();
  private readonly containerNames = new Map<string, string>();
  /** The number of the agent's pods at the last check. */
  private known = 0;

  /** Starts observing. */
  watch(state: AgentState): void {
    this.state = state;
  }

  /** Oldest first; empty: nothing happened to it since the agent started. */
  of(uid: string): readonly LifeSpan[] {
    return this.lives.get(uid)?.spans ?? [];
  }

  /** A step of the agent, after it was made. @param input null: a wake-up */
  step(now: Micros, input: Input<KubeletEvent, KubeletOperations> | null, output: Output<KubeletOperations>): void {
    if (this.state === null) return;
    if (input?.type === 'reply') this.answered(now, input);
    for (const command of output.commands) this.begun(now, command);
    this.lookAtStatuses(this.state, now);
  }

  private begun(now: Micros, command: Command<KubeletOperations>): void {
    const uid = podOf(command);
    if (uid === null) return;
    const life = this.lifeOf(uid, now);
    const subject = this.subjectOf(command);
    if (subject === null) return;
    const [first] = life.spans;
    if (first?.step === 'queued') first.to ??= now;
    const span: LifeSpan = { step: subject.step, subject: subject.name, from: now, to: null, failure: null };
    life.spans.push(span);
    if (life.spans.length > spansMax) life.spans.shift();
    this.inFlight.set(command.id, { uid, span });
  }

  private answered(now: Micros, reply: Reply<KubeletOperations>): void {
    const flight = this.inFlight.get(reply.id);
    if (flight === undefined) return;
    this.inFlight.delete(reply.id);
    const { span } = flight;
    span.to = now;
    if (!reply.outcome.ok) span.failure = reply.outcome.error.message.slice(0, failureLengthMax);
    else if (reply.op === 'containers.create') this.containerNames.set(reply.outcome.value.containerId, span.subject);
  }

  private lifeOf(uid: string, now: Micros): Life {
    let life = this.lives.get(uid);
    if (life !== undefined) return life;
    life = { spans: [], seen: null };
    const since = this.state?.workers.records.get(uid)?.syncedAt;
    if (since !== undefined) life.spans.push({ step: 'queued', subject: '', from: Math.min(since, now), to: null, failure: null });
    this.lives.set(uid, life);
    return life;
  }

  private subjectOf(command: Command<KubeletOperations>): { readonly step: LifeStep; readonly name: string } | null {
    switch (command.op) {
      case 'images.pull':
        return { step: 'pull', name: command.request.image.image };
      case 'sandboxes.run':
        return { step: 'sandbox', name: `attempt ${command.request.config.metadata.attempt}` };
      case 'sandboxes.stop':
        return { step: 'stop', name: 'sandbox' };
      case 'containers.create':
        return { step: 'create', name: command.request.config.metadata.name };
      case 'containers.start':
        return { step: 'start', name: this.nameOf(command.request.containerId) };
      case 'containers.stop':
        return { step: 'stop', name: this.nameOf(command.request.containerId) };
      default:
        return null;
    }
  }

  private nameOf(containerId: string): string {
    return this.containerNames.get(containerId) ?? containerId.slice(0, 12);
  }

  /** A status record is replaced when it changes, so that most are passed over by identity. */
  private lookAtStatuses({ statuses, workers }: AgentState, now: Micros): void {
    const grown = this.known < workers.records.size;
    this.known = workers.records.size;
    if (grown) for (const uid of workers.records.keys()) this.lifeOf(uid, now);
    for (const [uid, life] of this.lives) {
      const record = statuses.get(uid);
      if (record === undefined && !workers.records.has(uid)) {
        this.lives.delete(uid);
        continue;
      }
      if (record === undefined || record === life.seen) continue;
      life.seen = record;
      this.noteReadiness(life, record, now);
    }
    if (this.containerNames.size > namesMax) this.containerNames.clear();
  }

  private noteReadiness(life: Life, { status }: StatusRecord, now: Micros): void {
    const isReady = status.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') === true;
    const open = life.spans.find(({ step, to }) => step === 'ready' && to === null);
    if (isReady && open === undefined) life.spans.push({ step: 'ready', subject: '', from: now, to: null, failure: null });
    if (!isReady && open !== undefined) open.to = now;
    while (life.spans.length > spansMax) life.spans.shift();
  }
}

/** Names are for display only: beyond this many containers, ids are used. */
const namesMax = 20_000;

function podOf(command: Command<KubeletOperations>): string | null {
  if (command.op === 'images.pull') return command.request.sandboxConfig?.metadata.uid ?? null;
  return command.address.machine === podMachine ? command.address.key : null;
}
