// Spans of this agent's calls: to the runtime over gRPC, to the apiserver over HTTP. Named and described by OpenTelemetry's conventions
// for RPC and HTTP; the call's headers carry the context.
import type { ClientTrace, TraceRequest } from '../apiserver/index.js';
import { type CallTrace, grpcCodeName } from '../grpc/index.js';
import { headersOf } from './span-context.js';
import type { Tracer } from './tracer.js';

/** For a `GrpcChannel`. */
export function grpcCallTrace(tracer: Tracer): (path: string) => CallTrace {
  return (path) => {
    const name = path.slice(1);
    const slash = name.lastIndexOf('/');
    const attributes = { 'rpc.system': 'grpc', 'rpc.service': name.slice(0, slash), 'rpc.method': name.slice(slash + 1) };
    const span = tracer.begin(name, { kind: 'client', attributes });
    return {
      headers: headersOf(span.context),
      ended(failure) {
        span.set({ 'rpc.grpc.status_code': failure?.code ?? 0 });
        if (failure !== null) span.fail(failure.details === '' ? grpcCodeName(failure.code) : failure.details);
        span.end();
      },
    };
  };
}

/** For the clients of an apiserver. */
export function apiRequestTrace(tracer: Tracer): TraceRequest {
  return ({ method, url }): ClientTrace => {
    const { hostname, port, protocol } = new URL(url);
    const attributes = { 'http.request.method': method, 'url.full': url, 'server.address': hostname, 'server.port': Number(port === '' ? defaultPorts[protocol] : port) };
    const span = tracer.begin(`HTTP ${method}`, { kind: 'client', attributes });
    return {
      headers: headersOf(span.context),
      ended(code) {
        if (code !== null) span.set({ 'http.response.status_code': code });
        if (code === null || code >= 400) span.fail('');
        span.end();
      },
    };
  };
}

const defaultPorts: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };
