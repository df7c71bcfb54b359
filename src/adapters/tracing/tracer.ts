// Makes spans, and tracks the current one across awaits.
// Invariants: an error in tracing never fails the traced work; an ended span is never the implicit parent, so that a connection opened during
// one request doesn't attach later ones to it.
import { AsyncLocalStorage } from 'node:async_hooks';
import { randomFillSync } from 'node:crypto';
import type { Micros } from '../../ports/micros.js';
import { isSampled } from './sampling.js';
import { type FinishedSpan, Span, type SpanAttributes, type SpanKind } from './span.js';
import type { SpanContext } from './span-context.js';

export interface TracerOptions {
  /** 0 to 1000000; 0: only for sampled parents. */
  readonly samplingRatePerMillion: number;
  now(): Micros;
  /** Receives recorded spans. */
  ended(span: FinishedSpan): void;
}

export interface SpanRequest {
  readonly kind?: SpanKind;
  readonly attributes?: SpanAttributes;
  /** null: it begins a trace; the current span unless given. */
  readonly parent?: SpanContext | null;
  readonly links?: readonly SpanContext[];
}

export class Tracer {
  private readonly store = new AsyncLocalStorage<Span | null>();

  constructor(private readonly options: TracerOptions) {}

  /** The current span; null: none, or it has ended. */
  get current(): Span | null {
    const span = this.store.getStore() ?? null;
    return span?.hasEnded === false ? span : null;
  }

  begin(name: string, { kind = 'internal', attributes = {}, parent = this.current?.context ?? null, links = [] }: SpanRequest = {}): Span {
    const traceId = parent?.traceId ?? randomId(16);
    const context: SpanContext = {
      traceId,
      spanId: randomId(8),
      isSampled: isSampled(parent, traceId, this.options.samplingRatePerMillion),
      isRemote: false,
      traceState: parent?.traceState ?? '',
      baggage: parent?.baggage ?? '',
    };
    const startedAt = this.options.now();
    return new Span({ name, kind, context, parent, startedAt, attributes, links }, this.options.now, this.options.ended);
  }

  /** Runs it under a span; null: under none. */
  within<T>(span: Span | null, run: () => T): T {
    return this.store.run(span, run);
  }

  /** Forgets what runs under which span. */
  close(): void {
    this.store.disable();
  }
}

const pool = Buffer.alloc(2048);
let used = pool.length;

/** Never all zero, which means none. */
function randomId(bytes: number): string {
  for (;;) {
    if (used + bytes > pool.length) {
      randomFillSync(pool);
      used = 0;
    }
    const id = pool.toString('hex', used, used + bytes);
    used += bytes;
    if (!/^0+$/.test(id)) return id;
  }
}
