// Spans of traces, as the domain begins and ends them.
export interface AgentSpan {
  /** It ends as failed, with this message. */
  fail(message: string): void;
  end(): void;
}

export interface SpanRecorder<Span extends AgentSpan> {
  /** @param parent null: a trace of its own */
  begin(name: string, options: { readonly parent: null; readonly attributes?: Readonly<Record<string, string>> }): Span;
}
