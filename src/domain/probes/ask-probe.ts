// The request of one probe attempt, and the interpretation of its answer.
import type { Micros } from '../../ports/micros.js';
import type { AgentOperations } from '../../ports/outbound/outbound-ports.js';
import { kubernetesVersion } from '../configuration/version-flag.js';
import { expandProbeCommand } from '../containers/env-expansion.js';
import type { Address, ReplyTo, Turn } from '../kernel/machine.js';
import { formatGoDuration } from '../values/go-duration.js';
import { goQuote } from '../values/go-text.js';
import { podReferenceTextOf } from '../values/pod-references.js';
import { microsPerSecond } from '../values/time.js';
import { execProbeOutcome } from './exec-probe.js';
import { grpcProbeOutcome } from './grpc-probe.js';
import { httpProbeFailed, httpProbeOutcome, httpProbeRequest } from './http-probe.js';
import { type ProbeOutcome, probeError, probeResult } from './probe-outcome.js';
import { resolveProbePort } from './probe-port.js';
import type { ProbeWorker } from './probe-worker.js';

/** The client version in the user agent: `<major>.<minor>`. */
export const userAgentVersion = kubernetesVersion.replace(/^v/, '').split('.').slice(0, 2).join('.');
/** An adapter enforces the probe's timeout and reports it; after this additional time, no answer counts as an answer. */
const patience: Micros = microsPerSecond;

export interface ProbeSurroundings {
  readonly turn: Turn<AgentOperations>;
  readonly address: Address;
  readonly slot: string;
  /** '' if unknown. */
  readonly podIp: string;
  readonly runtimeRequestTimeout: Micros;
}

export const probeOperations = ['containers.execSync', 'probing.http', 'probing.tcp', 'probing.grpc'] as const;
export type ProbeAnswer = ReplyTo<AgentOperations, (typeof probeOperations)[number]>;

/** null: an answer will arrive; otherwise no request is possible, and this is the outcome. */
export function askProbe(worker: ProbeWorker, { turn, address, slot, podIp, runtimeRequestTimeout }: ProbeSurroundings): ProbeOutcome | null {
  const { probe, container } = worker;
  const timeoutMicros = timeoutOf(worker);
  const limit = timeoutMicros + patience;
  if (probe.exec !== undefined) {
    const request = { containerId: worker.containerId ?? '', command: commandOf(worker), timeoutSeconds: timeoutMicros / microsPerSecond };
    turn.ask('containers.execSync', address, slot, request, runtimeRequestTimeout + timeoutMicros);
    return null;
  }
  if (probe.httpGet !== undefined) {
    const built = httpProbeRequest(probe.httpGet, container.ports ?? [], podIp, userAgentVersion);
    if (!built.ok) return probeError('unknown', built.error);
    const { url, headers } = built.request;
    turn.ask('probing.http', address, slot, { url, headers, timeoutMicros }, limit);
    return null;
  }
  if (probe.tcpSocket !== undefined) {
    const port = resolveProbePort(probe.tcpSocket.port, container.ports ?? []);
    if (!port.ok) return probeError('unknown', port.error);
    const host = (probe.tcpSocket.host ?? '') === '' ? podIp : (probe.tcpSocket.host as string);
    turn.ask('probing.tcp', address, slot, { host, port: port.value, timeoutMicros }, limit);
    return null;
  }
  if (probe.grpc !== undefined) {
    const { port, service = '' } = probe.grpc;
    turn.ask('probing.grpc', address, slot, { host: podIp, port, service, userAgent: `kube-probe/${userAgentVersion}`, timeoutMicros }, limit);
    return null;
  }
  return probeError('unknown', `missing probe handler for ${podReferenceTextOf(worker.pod)}:${container.name}`);
}

export function probeOutcomeOf(worker: ProbeWorker, reply: ProbeAnswer): ProbeOutcome {
  if (reply.op === 'containers.execSync') return execOutcomeOf(worker, reply.outcome);
  if (!reply.outcome.ok) {
    const { kind, message } = reply.outcome.error;
    return kind === 'deadline-exceeded' ? probeResult('failure', message) : probeError('unknown', message);
  }
  switch (reply.op) {
    case 'probing.http': {
      const { value } = reply.outcome;
      return value.kind === 'failed' ? httpProbeFailed(value.error) : httpProbeOutcome(value.statusCode, value.body, value.bodyReadError);
    }
    case 'probing.tcp':
      return reply.outcome.value.error === null ? probeResult('success', '') : probeResult('failure', reply.outcome.value.error);
    case 'probing.grpc':
      return grpcProbeOutcome(reply.outcome.value, timeoutOf(worker));
  }
}

type ExecReply = ReplyTo<AgentOperations, 'containers.execSync'>['outcome'];

function execOutcomeOf(worker: ProbeWorker, outcome: ExecReply): ProbeOutcome {
  if (outcome.ok) return execProbeOutcome({ kind: 'exit', exitCode: outcome.value.exitCode }, outcome.value.stdout + outcome.value.stderr);
  const { kind, message } = outcome.error;
  if (kind !== 'deadline-exceeded') return execProbeOutcome({ kind: 'runtime-error', error: message }, '');
  const command = goQuote(commandOf(worker).join(' '));
  return execProbeOutcome({ kind: 'timeout', error: `command timed out: ${command} timed out after ${formatGoDuration(timeoutOf(worker))}` }, '');
}

function commandOf({ probe, container }: ProbeWorker): readonly string[] {
  return expandProbeCommand(probe.exec?.command ?? [], container.env ?? []);
}

function timeoutOf({ probe }: ProbeWorker): Micros {
  // The API's default, for objects that did not pass through it.
  return Math.max(1, probe.timeoutSeconds ?? 1) * microsPerSecond;
}
