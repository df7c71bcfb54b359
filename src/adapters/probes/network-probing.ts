// Network requests to workloads, for probes and hooks. Each request has a connection of its own that is closed afterwards.
// Invariant: a workload's missing answer is a value; only a cancelled call gets an error.
import type { Call, PortOf } from '../../ports/operation.js';
import type { GrpcHealthReply, GrpcHealthRequest, HttpGetAnswer, HttpGetRequest, ProbingOperations, TcpAnswer, TcpRequest } from '../../ports/outbound/probing.js';
import { PortError } from '../../ports/port-error.js';
import { httpGet } from './http-get.js';
import { tcpConnect } from './tcp-connect.js';

export class NetworkProbing implements PortOf<ProbingOperations> {
  async http(request: HttpGetRequest, call: Call): Promise<HttpGetAnswer> {
    return abortable('probing.http', request.url, call, (signal) => httpGet(request, signal));
  }

  async tcp(request: TcpRequest, call: Call): Promise<TcpAnswer> {
    return abortable('probing.tcp', request.host, call, (signal) => tcpConnect(request, signal));
  }

  async grpc(request: GrpcHealthRequest, call: Call): Promise<GrpcHealthReply> {
    // Most nodes have no such probe; the client is loaded with the first one.
    const { grpcHealth } = await import('./grpc-health.js');
    return abortable('probing.grpc', request.host, call, (signal) => grpcHealth(request, signal));
  }
}

async function abortable<T>(operation: string, subject: string, call: Call, ask: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  call.signal.addEventListener('abort', abort);
  if (call.signal.aborted) abort();
  try {
    const answer = controller.signal.aborted ? null : await ask(controller.signal);
    if (answer !== null && !controller.signal.aborted) return answer;
    throw new PortError({ kind: 'cancelled', message: 'context canceled', operation, subject });
  } finally {
    call.signal.removeEventListener('abort', abort);
  }
}
