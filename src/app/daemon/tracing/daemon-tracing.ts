// Tracing of one daemon: the tracer, the exporter, and the hooks of the parts. Loaded only if tracing is configured.
// Invariant: a failing collector never affects the agent.
import { apiRequestTrace, grpcCallTrace, OtlpExporter, requestTrace, type Span, SpanBatches, Tracer } from '../../../adapters/tracing/index.js';
import type { AgentState } from '../../../domain/agent/agent-state.js';
import type { KubeletOperations } from '../../../domain/agent/kubelet.js';
import type { Command } from '../../../domain/kernel/machine.js';
import { AgentSpans } from '../../../domain/tracing/agent-spans.js';
import type { Micros } from '../../../ports/micros.js';
import type { Call } from '../../../ports/operation.js';
import type { Logger } from '../../../ports/outbound/logger.js';

type Perform = (command: Command<KubeletOperations>, call: Call) => Promise<unknown>;

export interface DaemonTracingOptions {
  readonly endpoint: string;
  readonly samplingRatePerMillion: number;
  readonly hostName: string;
  readonly logger: Logger;
  now(): Micros;
}

/** The time for the last spans when the daemon stops. */
const flushMillis = 300;

export class DaemonTracing {
  private readonly exporter: OtlpExporter;
  private readonly batches: SpanBatches;
  private readonly tracer: Tracer;
  private spans: AgentSpans<Span> | null = null;
  private recorded = 0;
  readonly runtimeCall;
  readonly apiRequest;

  /** Errors: EndpointProblem. */
  constructor({ endpoint, samplingRatePerMillion, hostName, logger, now }: DaemonTracingOptions) {
    this.exporter = new OtlpExporter(endpoint, { 'service.name': 'kubelet', 'host.name': hostName });
    this.batches = new SpanBatches({
      send: (spans, timeoutMillis) => this.exporter.send(spans, timeoutMillis),
      trouble: (err) => (err === null ? logger.log('info', 'Traces are taken again', { endpoint }) : logger.log('warn', 'Traces can not be sent', { endpoint, err })),
    });
    this.tracer = new Tracer({
      samplingRatePerMillion,
      now,
      ended: (span) => {
        this.recorded++;
        this.batches.add(span);
      },
    });
    this.runtimeCall = grpcCallTrace(this.tracer);
    this.apiRequest = apiRequestTrace(this.tracer);
  }

  /** Spans that were recorded. */
  get ended(): number {
    return this.recorded;
  }

  /** Spans that never reached the collector. */
  get dropped(): number {
    return this.batches.dropped;
  }

  request(serverType: 'readwrite' | 'readonly') {
    return requestTrace(this.tracer, serverType === 'readonly');
  }

  /** Starts tracing the agent's own work. */
  watch(state: AgentState): void {
    this.spans = new AgentSpans(this.tracer, state);
  }

  stepped(): void {
    this.spans?.stepped();
  }

  /** Each command under the span that it is a part of. */
  around(perform: Perform): Perform {
    return (command, call) => this.tracer.within(this.spans?.spanOf(command) ?? null, () => perform(command, call));
  }

  /** Sends what waits; at most so long is waited for it. */
  flush(graceMillis: number): Promise<void> {
    return this.batches.flush(graceMillis);
  }

  async close(): Promise<void> {
    await this.batches.close(flushMillis);
    this.exporter.close();
    this.tracer.close();
  }
}
