// The health service of a workload (grpc.health.v1.Health), asked in plain text on a channel of its own.
import { type ChannelOptions, credentials, Metadata, status } from '@grpc/grpc-js';
import { addressText } from '../../domain/values/address-text.js';
import type { GrpcHealthReply, GrpcHealthRequest } from '../../ports/outbound/probing.js';
import { HealthCheckResponse_ServingStatus, HealthClient } from './gen/grpc-health-v1.js';

export async function grpcHealth(request: GrpcHealthRequest, signal: AbortSignal): Promise<GrpcHealthReply> {
  const { host, port, service, userAgent, timeoutMicros } = request;
  const address = addressText(host, port);
  const options: ChannelOptions = {
    'grpc.primary_user_agent': userAgent,
    'grpc.use_local_subchannel_pool': 1,
    'grpc.enable_http_proxy': 0,
    'grpc.enable_channelz': 0,
    'grpc.enable_retries': 0,
    'grpc.service_config_disable_resolution': 1,
    'grpc.initial_reconnect_backoff_ms': 100,
  };
  const client = new HealthClient(address, credentials.createInsecure(), options);
  const deadline = Date.now() + Math.ceil(timeoutMicros / 1_000);
  const close = (): void => client.close();
  signal.addEventListener('abort', close);
  try {
    const problem = await new Promise<Error | null>((resolve) => client.waitForReady(deadline, (error) => resolve(error ?? null)));
    // A connection that is refused is tried again until the time is over: the workload may be about to listen.
    if (problem !== null) return { kind: 'dial-error', address, timedOut: true, error: 'context deadline exceeded' };
    return await new Promise<GrpcHealthReply>((resolve) => {
      client.check({ service }, new Metadata(), { deadline }, (error, response) => {
        if (error !== null) resolve({ kind: 'rpc-error', code: goCodeName(error.code), message: error.details });
        else resolve({ kind: 'status', servingStatus: HealthCheckResponse_ServingStatus[response.status] ?? String(response.status) });
      });
    });
  } finally {
    signal.removeEventListener('abort', close);
    client.close();
  }
}

/** `DEADLINE_EXCEEDED` is `DeadlineExceeded` in Go's packages. */
function goCodeName(code: status): string {
  if (code === status.CANCELLED) return 'Canceled';
  const words = (status[code] ?? 'UNKNOWN').toLowerCase().split('_');
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
}
