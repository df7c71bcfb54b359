// The workloads of simulated containers: commands executed in them, and answers on their ports.
// Invariant: a workload answers only while its container runs and its sandbox has a network; requests change nothing.
import { addressText } from '../../domain/values/address-text.js';
import { microsPerSecond } from '../../domain/values/time.js';
import type { Micros } from '../../ports/micros.js';
import type { Flattened } from '../../ports/operation.js';
import type { ContainerOperations, ExecResult } from '../../ports/outbound/container-runtime.js';
import type { GrpcHealthReply, HttpGetAnswer, ProbingOperations, TcpAnswer } from '../../ports/outbound/probing.js';
import { type Answer, answered, refused } from './answers.js';
import type { RuntimeParts } from './container-life.js';
import type { SimContainer } from './runtime-state.js';

export type ProbingPort = Flattened<{ readonly probing: ProbingOperations }>;
export type ProbingOperationName = keyof ProbingPort;
type AnyProbe = { [Name in ProbingOperationName]: { readonly op: Name; readonly request: ProbingPort[Name]['request'] } }[ProbingOperationName];

export class Workloads {
  constructor(private readonly parts: RuntimeParts) {}

  execSync({ containerId, command, timeoutSeconds }: ContainerOperations['execSync']['request'], now: Micros): Answer<ExecResult> {
    const { state, latencies } = this.parts;
    const fail = (kind: Parameters<typeof refused>[0], message: string, after: Micros) => refused(kind, message, 'containers.execSync', containerId, after);
    const container = state.containers.get(containerId);
    if (container === undefined) return fail('not-found', `an error occurred when try to find container "${containerId}": not found`, latencies.look);
    if (container.state !== 'running') return fail('unknown', `container is in CONTAINER_${container.state.toUpperCase()} state`, latencies.look);
    const { execMicros, execExitCode } = container.script;
    const takes = latencies.exec + execMicros;
    const limit = timeoutSeconds === 0 ? null : timeoutSeconds * microsPerSecond;
    if (limit !== null && takes > limit) return fail('deadline-exceeded', `timeout ${timeoutSeconds}s exceeded: context deadline exceeded`, limit);
    const exitCode = isHealthy(container, now) ? execExitCode : 1;
    return answered({ exitCode, stdout: '', stderr: exitCode === 0 ? '' : `${command.join(' ')}: failed\n` }, takes);
  }

  probe({ op, request }: AnyProbe): Answer<HttpGetAnswer | TcpAnswer | GrpcHealthReply> {
    const { state, latencies } = this.parts;
    const now = state.lastNow;
    const { host, port } = 'url' in request ? hostAndPort(request.url) : request;
    const container = this.listener(host, port);
    const address = addressText(host, port);
    const healthy = container !== null && isHealthy(container, now);
    const refusal = `dial tcp ${address}: connect: connection refused`;
    switch (op) {
      case 'probing.http':
        return answered(container === null ? { kind: 'failed', error: `Get "${request.url}": ${refusal}`, plainHttp: false } : httpAnswer(healthy), latencies.look);
      case 'probing.tcp':
        return answered({ error: healthy ? null : refusal }, latencies.look);
      case 'probing.grpc':
        if (container !== null) return answered({ kind: 'status', servingStatus: healthy ? 'SERVING' : 'NOT_SERVING' }, latencies.look);
        return answered({ kind: 'dial-error', address, timedOut: true, error: 'context deadline exceeded' }, request.timeoutMicros);
    }
  }

  /** On the host's network sandboxes have no address of their own. A container with listed ports takes precedence over those with any. */
  private listener(host: string, port: number): SimContainer | null {
    const { state, view } = this.parts;
    const sandboxes = [...state.sandboxes.values()].filter(({ state }) => state === 'ready');
    const ofPod = sandboxes.filter(({ ip }) => ip === host);
    const reached = ofPod.length > 0 ? ofPod : sandboxes.filter(({ ip }) => ip === '');
    const running = reached.flatMap(({ id }) => view.containersOf(id)).filter((container) => container.state === 'running');
    return running.find(({ script }) => script.listens?.includes(port) === true) ?? running.find(({ script }) => script.listens === null) ?? null;
  }
}

function isHealthy({ script, startedAt }: SimContainer, now: Micros): boolean {
  const age = now - (startedAt ?? now);
  return age >= script.healthyFrom && (script.healthyTo === null || age < script.healthyTo);
}

function httpAnswer(healthy: boolean): HttpGetAnswer {
  return { kind: 'answered', statusCode: healthy ? 200 : 503, body: healthy ? 'ok' : 'unhealthy', bodyReadError: null };
}

function hostAndPort(url: string): { readonly host: string; readonly port: number } {
  const [, host = '', port = '80'] = /^https?:\/\/\[?([^\]/?#]*?)\]?(?::([0-9]+))?(?:[/?#]|$)/.exec(url) ?? [];
  return { host, port: Number(port) };
}
