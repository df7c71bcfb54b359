// Spans of the agent's own work: pod workers' operations and rounds of garbage collection, derived from its state after each step.
// The domain doesn't depend on them.
// Invariant: only runs in progress are kept; it decides nothing.

import type { AgentSpan, SpanRecorder } from '../../ports/outbound/tracing.js';
import type { AgentState } from '../agent/agent-state.js';
import { collectionAddress } from '../agent/container-gc/collection.js';
import { imageCollectionAddress } from '../agent/image-gc/image-collection.js';
import type { KubeletOperations } from '../agent/kubelet.js';
import { imageMachine } from '../images/image-context.js';
import type { Command } from '../kernel/machine.js';
import { resultOfRun } from '../pod-sync/advance-run.js';
import { hookMachine } from '../pod-sync/lifecycle-hook.js';
import { podMachine } from '../pod-sync/sync-context.js';
import type { SyncRun } from '../pod-sync/sync-run.js';

interface RunSpan<Span> {
  readonly run: SyncRun;
  readonly span: Span;
}

type Round = 'collection' | 'imageCollection';
const roundNames: Readonly<Record<Round, string>> = { collection: 'Containers/GarbageCollect', imageCollection: 'Images/GarbageCollect' };

export class AgentSpans<Span extends AgentSpan> {
  private readonly runs = new Map<string, RunSpan<Span>>();
  private readonly rounds = new Map<Round, Span>();

  constructor(
    private readonly tracer: SpanRecorder<Span>,
    private readonly state: AgentState,
  ) {}

  /** After a step, before its commands are performed. */
  stepped(): void {
    for (const [uid, { run, span }] of this.runs) if (this.state.runs.get(uid) !== run) this.endRun(uid, run, span);
    for (const [uid, run] of this.state.runs) if (!this.runs.has(uid)) this.beginRun(uid, run);
    this.look('collection');
    this.look('imageCollection');
  }

  /** That which a command is a part of; null: it is on its own. */
  spanOf({ address: { machine, key } }: Command<KubeletOperations>): Span | null {
    switch (machine) {
      case podMachine:
      case hookMachine:
        return this.runs.get(key)?.span ?? null;
      case imageMachine:
        return this.runs.get(this.state.images.runs.get(Number(key))?.request.pod.metadata.uid ?? '')?.span ?? null;
      case collectionAddress.machine:
        return this.rounds.get('collection') ?? null;
      case imageCollectionAddress.machine:
        return this.rounds.get('imageCollection') ?? null;
      default:
        return null;
    }
  }

  private beginRun(uid: string, run: SyncRun): void {
    const { operation, pod } = run;
    // A pod that only the runtime knows has no span.
    if (operation.op === 'syncTerminatingRuntimePod') return;
    const { name, namespace = '' } = pod.metadata;
    const attributes = {
      'k8s.pod.uid': uid,
      'k8s.pod': `${namespace}/${name}`,
      'k8s.pod.name': name,
      'k8s.namespace.name': namespace,
      ...(operation.op === 'syncPod' ? { 'k8s.pod.update_type': operation.type } : {}),
    };
    this.runs.set(uid, { run, span: this.tracer.begin(operation.op, { parent: null, attributes }) });
  }

  private endRun(uid: string, run: SyncRun, span: Span): void {
    this.runs.delete(uid);
    const { error } = resultOfRun(run);
    if (error !== null) span.fail(error.message);
    span.end();
  }

  private look(round: Round): void {
    const span = this.rounds.get(round);
    const isOn = this.state[round].phase !== 'idle';
    if (isOn && span === undefined) this.rounds.set(round, this.tracer.begin(roundNames[round], { parent: null }));
    if (isOn || span === undefined) return;
    this.rounds.delete(round);
    span.end();
  }
}
