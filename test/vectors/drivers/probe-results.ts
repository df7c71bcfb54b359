// Probes: the worker that turns outcomes into results, and what each handler's outcome is.

import { type ExecEnd, execProbeOutcome } from '../../../src/domain/probes/exec-probe.js';
import { grpcProbeOutcome } from '../../../src/domain/probes/grpc-probe.js';
import { httpProbeFailed, httpProbeOutcome, httpProbeRequest } from '../../../src/domain/probes/http-probe.js';
import { type ProbeKind, type ProbeOutcome, type ProbeOutcomeResult, probeError, probeResult } from '../../../src/domain/probes/probe-outcome.js';
import { resolveProbePort } from '../../../src/domain/probes/probe-port.js';
import { newProbeWorker, type ProbeChange, probeAnswered, probeDue, startByStamp } from '../../../src/domain/probes/probe-worker.js';
import { redirectDecision } from '../../../src/domain/values/http-redirect.js';
import { instantOf } from '../../../src/domain/values/instant.js';
import { formatRfc3339 } from '../../../src/domain/values/time.js';
import { utf8Length } from '../../../src/domain/values/utf8.js';
import type { ContainerPort, HTTPGetAction, IntOrString } from '../../../src/ports/model/container.js';
import type { Pod } from '../../../src/ports/model/pod.js';
import type { ContainerStatus, PodPhase, PodStatus } from '../../../src/ports/model/pod-status.js';
import type { GrpcHealthReply } from '../../../src/ports/outbound/probing.js';
import type { VectorDriver } from '../driver.js';

interface Step {
  readonly atSeconds: number;
  readonly noPodStatus?: boolean;
  readonly phase?: PodPhase;
  readonly container?: { readonly containerId?: string; readonly state: string; readonly startedAtSeconds?: number; readonly exitCode?: number; readonly started?: boolean };
  readonly outcomes?: readonly { readonly result?: ProbeOutcomeResult; readonly output?: string; readonly error?: string }[];
}
interface Worker {
  readonly kind: 'worker';
  readonly probeType: ProbeKind;
  readonly pod: Pod;
  readonly container: string;
  readonly steps: readonly Step[];
}
interface Handler {
  readonly kind: 'httpResponse' | 'httpRequest' | 'httpRedirect' | 'execOutcome' | 'grpcOutcome' | 'portReference';
  readonly statusCode: number;
  readonly body?: string;
  readonly bodyRepeat?: number;
  readonly bodyReadError?: string;
  readonly transportError?: string;
  readonly httpGet: HTTPGetAction;
  readonly containerPorts: readonly ContainerPort[];
  readonly podIP: string;
  readonly firstUrl: string;
  readonly redirectUrl: string;
  readonly requestsSoFar: number;
  readonly output?: string;
  readonly outputRepeat?: number;
  readonly outcome: string;
  readonly exitCode?: number;
  readonly errorText?: string;
  readonly timeoutSeconds: number;
  readonly servingStatus?: string;
  readonly rpcError?: { readonly code: string; readonly message: string };
  readonly rpcTakesLongerThanTimeout?: boolean;
  readonly port: IntOrString;
}

const second = 1_000_000;
/** The kubelet's start; far from 0, since containers start before it. */
const start = 1_800_000_000 * second;

function podStatus(step: Step, name: string, isInit: boolean): PodStatus | null {
  if (step.noPodStatus === true) return null;
  const { container } = step;
  const phase = step.phase === undefined ? {} : { phase: step.phase };
  if (container === undefined || container.state === 'absent') return phase;
  const running = { running: { startedAt: formatRfc3339(instantOf(start + (container.startedAtSeconds ?? 0) * second)) } };
  const ended = { terminated: { exitCode: container.exitCode ?? 0 } };
  const status: ContainerStatus = {
    ...{ name, ready: false, restartCount: 0, image: '', imageID: '' },
    state: container.state === 'running' ? running : container.state === 'terminated' ? ended : { waiting: {} },
    ...(container.containerId === undefined || container.containerId === '' ? {} : { containerID: `containerd://${container.containerId}` }),
    ...(container.started === undefined ? {} : { started: container.started }),
  };
  return isInit ? { ...phase, initContainerStatuses: [status] } : { ...phase, containerStatuses: [status] };
}

function outcomeOf(step: Step, attempt: number): ProbeOutcome {
  const outcomes = step.outcomes ?? [];
  const outcome = outcomes[Math.min(attempt, outcomes.length) - 1];
  if (outcome === undefined) throw new Error('a probe without outcomes');
  return outcome.error === undefined ? probeResult(outcome.result ?? 'unknown', outcome.output ?? '') : probeError(outcome.result ?? 'unknown', outcome.error);
}

function runWorker({ probeType, pod, container: name, steps }: Worker): unknown {
  const init = pod.spec.initContainers?.find((candidate) => candidate.name === name);
  const container = init ?? pod.spec.containers.find((candidate) => candidate.name === name);
  if (container === undefined) throw new Error(`no container ${name}`);
  const worker = newProbeWorker(pod, container, probeType, start, 0, start);
  const results: unknown[] = [];
  for (const step of steps) {
    const published: ProbeChange[] = [];
    let handlerCalls = 0;
    let turn = probeDue(worker, podStatus(step, name, init !== undefined), start + step.atSeconds * second, startByStamp);
    published.push(...turn.published);
    while (turn.next === 'probe') {
      turn = probeAnswered(worker, outcomeOf(step, ++handlerCalls));
      published.push(...turn.published);
    }
    const cached = worker.result === null ? {} : { cached: { containerId: worker.containerId, result: worker.result } };
    results.push({ published, ...cached, handlerCalls, onHold: worker.onHold, workerContinues: turn.next !== 'end' });
    if (turn.next === 'end') break;
  }
  return { steps: results };
}

function shown(outcome: ProbeOutcome): unknown {
  if (outcome.kind === 'error') return { result: outcome.result, error: outcome.error };
  const length = utf8Length(outcome.output);
  return { result: outcome.result, ...(length > longOutput ? { outputLength: length } : { output: outcome.output }) };
}
/** Longer outputs are given by their length. */
const longOutput = 1000;

function runHandler(input: Handler): unknown {
  switch (input.kind) {
    case 'httpResponse': {
      if (input.transportError !== undefined) return shown(httpProbeFailed(input.transportError));
      return shown(httpProbeOutcome(input.statusCode, (input.body ?? '').repeat(input.bodyRepeat ?? 1), input.bodyReadError ?? null));
    }
    case 'httpRequest': {
      const made = httpProbeRequest(input.httpGet, input.containerPorts, input.podIP, '<major>.<minor>');
      return made.ok ? made.request : { error: made.error };
    }
    case 'httpRedirect':
      return redirectDecision(input.firstUrl, input.redirectUrl, input.requestsSoFar);
    case 'execOutcome':
      return shown(execProbeOutcome(execEnd(input), (input.output ?? '').repeat(input.outputRepeat ?? 1)));
    case 'grpcOutcome':
      return shown(grpcProbeOutcome(grpcAnswer(input), input.timeoutSeconds * second));
    case 'portReference': {
      const resolved = resolveProbePort(input.port, input.containerPorts);
      return resolved.ok ? { port: resolved.value } : { error: resolved.error };
    }
  }
}

function execEnd(input: Handler): ExecEnd {
  const error = input.errorText ?? '';
  if (input.outcome === 'exit') return { kind: 'exit', exitCode: input.exitCode ?? 0 };
  return input.outcome === 'timeout' ? { kind: 'timeout', error } : { kind: 'runtime-error', error };
}

function grpcAnswer(input: Handler): GrpcHealthReply {
  if (input.rpcTakesLongerThanTimeout === true) return { kind: 'rpc-error', code: 'DeadlineExceeded', message: 'context deadline exceeded' };
  if (input.rpcError !== undefined) return { kind: 'rpc-error', ...input.rpcError };
  return { kind: 'status', servingStatus: input.servingStatus ?? '' };
}

export const driver: VectorDriver = {
  run(input: Worker | Handler) {
    return input.kind === 'worker' ? runWorker(input) : runHandler(input);
  },
};
