// Sends batches of spans to a collector: OTLP over gRPC, on the agent's own client.
// Invariants: a batch is one call with a deadline; nothing is opened before the first; an outcome is an answer, never an exception.
import { GrpcChannel, type GrpcFailure, grpcCodeName, grpcStatus } from '../grpc/index.js';
import { collectorDial } from './collector-endpoint.js';
import { decodeExportAnswer, encodeExport } from './otlp-encoding.js';
import type { FinishedSpan, SpanAttributes } from './span.js';
import type { SendOutcome } from './span-batches.js';

const path = '/opentelemetry.proto.collector.trace.v1.TraceService/Export';
/** An answer is nearly empty. */
const answerBytesMax = 1024 * 1024;

/** Status codes that OTLP defines as retryable. */
const passing: ReadonlySet<number> = new Set([
  grpcStatus.CANCELLED,
  grpcStatus.DEADLINE_EXCEEDED,
  grpcStatus.ABORTED,
  grpcStatus.OUT_OF_RANGE,
  grpcStatus.UNAVAILABLE,
  grpcStatus.DATA_LOSS,
]);

export class OtlpExporter {
  private readonly channel: GrpcChannel;

  /** Errors: EndpointProblem. */
  constructor(
    endpoint: string,
    private readonly resource: SpanAttributes,
  ) {
    this.channel = new GrpcChannel({ ...collectorDial(endpoint), userAgent: 'kubelet-ts', messageBytesMax: answerBytesMax });
  }

  send(spans: readonly FinishedSpan[], timeoutMillis: number): Promise<SendOutcome> {
    return new Promise((resolve) => {
      this.channel.unary(path, encodeExport(this.resource, spans), timeoutMillis, (failure, answer) => {
        resolve(failure === null ? outcomeOf(answer, spans.length) : failed(failure));
      });
    });
  }

  close(): void {
    this.channel.close();
  }
}

function outcomeOf(answer: Uint8Array, sent: number): SendOutcome {
  try {
    const { rejected, reason } = decodeExportAnswer(answer);
    return { kind: 'sent', rejected: Math.min(sent, Math.max(0, rejected)), reason };
  } catch {
    // The collector accepted them; ignores a malformed answer.
    return { kind: 'sent', rejected: 0, reason: '' };
  }
}

function failed({ code, details }: GrpcFailure): SendOutcome {
  const reason = `rpc error: code = ${grpcCodeName(code)} desc = ${details}`;
  return passing.has(code) ? { kind: 'later', reason } : { kind: 'refused', reason };
}
