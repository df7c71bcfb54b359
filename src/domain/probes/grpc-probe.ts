// gRPC probes: the result of the health service's answer (grpc.health.v1.Health).
// Invariant: only SERVING is a success; everything else is a failure that says why.
import type { Micros } from '../../ports/micros.js';
import type { GrpcHealthReply } from '../../ports/outbound/probing.js';
import { formatGoDuration } from '../values/go-duration.js';
import { goQuote } from '../values/go-text.js';
import { type ProbeOutcome, probeResult } from './probe-outcome.js';

/** @param timeout for connecting and asking together */
export function grpcProbeOutcome(answer: GrpcHealthReply, timeout: Micros): ProbeOutcome {
  if (answer.kind === 'status') {
    return answer.servingStatus === 'SERVING'
      ? probeResult('success', 'service healthy')
      : probeResult('failure', `service unhealthy (responded with ${goQuote(answer.servingStatus)})`);
  }
  if (answer.kind === 'dial-error') {
    const place = goQuote(answer.address);
    if (answer.timedOut) return probeResult('failure', `timeout: failed to connect service ${place} within ${formatGoDuration(timeout)}: ${answer.error}`);
    return probeResult('failure', `error: failed to connect service at ${place}: ${answer.error}`);
  }
  const { code, message } = answer;
  if (code === 'Unimplemented') return probeResult('failure', `error: this server does not implement the grpc health protocol (grpc.health.v1.Health): ${message}`);
  if (code === 'DeadlineExceeded') return probeResult('failure', `timeout: health rpc did not complete within ${formatGoDuration(timeout)}`);
  return probeResult('failure', `error: health rpc probe failed: rpc error: code = ${code} desc = ${message}`);
}
