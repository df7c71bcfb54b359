// The public exports of tracing: spans, the hooks of calls and requests that make them, and the exporter. Loaded only if tracing is configured.
export { apiRequestTrace, grpcCallTrace } from './client-spans.js';
export { collectorDial, defaultEndpoint, EndpointProblem } from './collector-endpoint.js';
export { decodeExportAnswer, encodeExport, scopeName } from './otlp-encoding.js';
export { OtlpExporter } from './otlp-exporter.js';
export { isSampled } from './sampling.js';
export { requestTrace } from './server-spans.js';
export { attributesMax, type FinishedSpan, Span, type SpanAttributes, type SpanKind, textLengthMax } from './span.js';
export { defaultBatchLimits, type SendOutcome, SpanBatches, type SpanBatchesOptions } from './span-batches.js';
export { headersOf, remoteContext, type SpanContext } from './span-context.js';
export { type SpanRequest, Tracer, type TracerOptions } from './tracer.js';
