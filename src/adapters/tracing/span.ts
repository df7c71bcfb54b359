// One span in progress, and its record after the end.
// Invariants: it ends once; an unrecorded trace keeps only its identity; attributes and texts are bounded.
import type { Micros } from '../../ports/micros.js';
import type { SpanContext } from './span-context.js';

export type SpanKind = 'internal' | 'server' | 'client';
/** Integers are sent as such. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

export interface FinishedSpan {
  readonly name: string;
  readonly kind: SpanKind;
  readonly context: SpanContext;
  /** null: the first of its trace. */
  readonly parent: SpanContext | null;
  readonly startedAt: Micros;
  readonly endedAt: Micros;
  readonly attributes: SpanAttributes;
  readonly links: readonly SpanContext[];
  /** null: it did not fail; '' : it failed without words. */
  readonly failure: string | null;
  /** Attributes that were too many. */
  readonly droppedAttributes: number;
}

export interface SpanStart {
  readonly name: string;
  readonly kind: SpanKind;
  readonly context: SpanContext;
  readonly parent: SpanContext | null;
  readonly startedAt: Micros;
  readonly attributes: SpanAttributes;
  readonly links: readonly SpanContext[];
}

/** As in Go's library. */
export const attributesMax = 128;
/** A failure of a runtime may quote a whole log. */
export const textLengthMax = 4096;

export class Span {
  private attributes: SpanAttributes;
  private failure: string | null = null;
  private isOver = false;

  constructor(
    private readonly start: SpanStart,
    private readonly now: () => Micros,
    private readonly ended: (span: FinishedSpan) => void,
  ) {
    this.attributes = start.attributes;
  }

  get context(): SpanContext {
    return this.start.context;
  }

  get hasEnded(): boolean {
    return this.isOver;
  }

  set(attributes: SpanAttributes): void {
    if (this.context.isSampled && !this.isOver) this.attributes = { ...this.attributes, ...attributes };
  }

  /** Truncates the message to a span's limit. */
  fail(message: string): void {
    if (this.context.isSampled && !this.isOver) this.failure = cut(message);
  }

  /** Ends it now; further calls do nothing. */
  end(): void {
    if (this.isOver) return;
    this.isOver = true;
    if (!this.context.isSampled) return;
    const all = Object.entries(this.attributes);
    const attributes = Object.fromEntries(all.slice(0, attributesMax).map(([key, value]) => [key, typeof value === 'string' ? cut(value) : value]));
    // The host's clock may be set back meanwhile.
    const endedAt = Math.max(this.start.startedAt, this.now());
    this.ended({ ...this.start, attributes, failure: this.failure, endedAt, droppedAttributes: Math.max(0, all.length - attributesMax) });
  }
}

function cut(text: string): string {
  return text.length <= textLengthMax ? text : text.slice(0, textLengthMax);
}
