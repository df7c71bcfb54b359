// The health check of a workload (grpc.health.v1.Health), in plain text on a connection of its own that is closed after the probe.
import { connect } from 'node:net';
import { addressText } from '../../domain/values/address-text.js';
import type { GrpcHealthReply, GrpcHealthRequest } from '../../ports/outbound/probing.js';
import { GrpcChannel, type GrpcFailure, grpcCodeName, statusMessage } from '../grpc/index.js';
import { connectionErrorText } from './connection-errors.js';
import { HealthCheckResponse_ServingStatus, HealthService } from './gen/grpc-health-v1.js';

/** A health answer is two bytes. */
const answerBytesMax = 4 * 1024 * 1024;
/** Between two attempts to connect. */
const pauseMillis = 100;

export async function grpcHealth(request: GrpcHealthRequest, signal: AbortSignal): Promise<GrpcHealthReply> {
  const { host, port, timeoutMicros } = request;
  const address = addressText(host, port);
  const end = performance.now() + timeoutMicros / 1_000;
  // Retries a refused connection until the timeout: the workload may be about to listen.
  for (;;) {
    const attempt = await asked(request, address, Math.max(0, end - performance.now()), signal);
    if (attempt.kind !== 'not-connected') return attempt.reply;
    if (signal.aborted || performance.now() + pauseMillis >= end) {
      await pause(Math.max(0, end - performance.now()), signal);
      return { kind: 'dial-error', address, timedOut: true, error: 'context deadline exceeded' };
    }
    await pause(pauseMillis, signal);
  }
}

type Attempt = { readonly kind: 'answered'; readonly reply: GrpcHealthReply } | { readonly kind: 'not-connected' };

async function asked({ host, port, service, userAgent }: GrpcHealthRequest, address: string, millis: number, signal: AbortSignal): Promise<Attempt> {
  let spoke = false;
  const channel = new GrpcChannel({
    dial: () => connect({ host, port }),
    dialProblem: (error) => connectionErrorText(error, address),
    spoke: () => {
      spoke = true;
    },
    authority: address,
    userAgent: `${userAgent} kubelet-ts`,
    messageBytesMax: answerBytesMax,
  });
  const { path, requestSerialize, responseDeserialize } = HealthService.check;
  let abort: () => void = () => {};
  try {
    return await new Promise<Attempt>((resolve) => {
      const call = channel.unary(path, requestSerialize({ service }), millis, (failure, answer) => {
        if (failure === null) resolve({ kind: 'answered', reply: servingOf(responseDeserialize(answer).status) });
        else resolve(spoke ? { kind: 'answered', reply: failed(failure) } : { kind: 'not-connected' });
      });
      abort = () => call.cancel();
      signal.addEventListener('abort', abort);
    });
  } finally {
    signal.removeEventListener('abort', abort);
    channel.close();
  }
}

function servingOf(status: HealthCheckResponse_ServingStatus): GrpcHealthReply {
  return { kind: 'status', servingStatus: HealthCheckResponse_ServingStatus[status] ?? String(status) };
}

function failed(failure: GrpcFailure): GrpcHealthReply {
  return { kind: 'rpc-error', code: grpcCodeName(failure.code), message: statusMessage(failure) };
}

function pause(millis: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const over = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', over);
      resolve();
    };
    const timer = setTimeout(over, millis);
    signal.addEventListener('abort', over);
  });
}
