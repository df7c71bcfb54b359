// Probes: their results and how long they take. Their series go with their pod.

import type { Micros } from '../../ports/micros.js';
import type { ProbeLabels, ProbeResult } from '../../ports/outbound/metrics/kubelet-metrics.js';
import type { AgentState } from '../agent/agent-state.js';
import type { KubeletOperations } from '../agent/kubelet.js';
import { probeMachine } from '../agent/probe-manager/probe-workers.js';
import { type Command, isReplyTo, type Reply } from '../kernel/machine.js';
import { probeOperations, probeOutcomeOf } from '../probes/ask-probe.js';
import type { RegisteredWorker } from '../probes/probe-registry.js';
import { type Begun, type ObservedPart, secondsBetween, type Watched } from './observed-part.js';

const probeTypes = { liveness: 'Liveness', readiness: 'Readiness', startup: 'Startup' } as const;
const probeResults: Readonly<Record<string, ProbeResult>> = { success: 'successful', warning: 'successful', failure: 'failed' };

export class ObservedProbes implements ObservedPart {
  /** The start of a running probe, by its address: it may take several attempts. */
  private readonly probing = new Map<string, Micros>();
  private readonly probes = new Map<string, { readonly uid: string; readonly labels: ProbeLabels }>();

  constructor(private readonly watched: Watched) {}

  begun(now: Micros, { address }: Command<KubeletOperations>): void {
    if (address.machine === probeMachine && !this.probing.has(address.key)) this.probing.set(address.key, now);
  }

  answered(now: Micros, _begun: Begun | null, reply: Reply<KubeletOperations>): void {
    const { machine, key } = reply.address;
    if (machine !== probeMachine || !isReplyTo<KubeletOperations, (typeof probeOperations)[number]>(reply, probeOperations)) return;
    const { metrics, state } = this.watched;
    const found = workerOf(state.agent, key);
    if (found === null || found.registered.worker.state === 'probing') return;
    const at = this.probing.get(key);
    this.probing.delete(key);
    const { kind, container, pod } = found.registered.worker;
    const labels = { probe_type: probeTypes[kind], container: container.name, pod: pod.metadata.name, namespace: pod.metadata.namespace ?? '' };
    this.probes.set(key, { uid: found.uid, labels });
    const { result } = probeOutcomeOf(found.registered.worker, reply);
    metrics.probed(labels, found.uid, probeResults[result] ?? 'unknown', at === undefined ? 0 : secondsBetween(at, now));
  }

  forgetGone(): void {
    const { metrics, state } = this.watched;
    for (const [key, { uid, labels }] of this.probes) {
      if (workerOf(state.agent, key) !== null) continue;
      metrics.forgetProbe(labels, uid);
      this.probes.delete(key);
      this.probing.delete(key);
    }
  }
}

function workerOf(state: AgentState, key: string): { readonly uid: string; readonly registered: RegisteredWorker } | null {
  const [kind = '', container = '', ...rest] = key.split('/');
  const uid = rest.join('/');
  const registered = state.probes.pods.get(uid)?.workers.get(`${kind}/${container}`);
  return registered === undefined ? null : { uid, registered };
}
