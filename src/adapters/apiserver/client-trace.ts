// The tracing hook of a request to the apiserver: the headers to send, and its end. The client itself doesn't depend on spans.

export interface ClientRequest {
  readonly method: string;
  /** `https://host:port/path`, without its query. */
  readonly url: string;
}

export interface ClientTrace {
  readonly headers: Readonly<Record<string, string>>;
  /** Called once, when the answer's head has arrived or the try has failed; must not throw. code null: no answer. */
  ended(code: number | null): void;
}

/** Called at the beginning of each try. */
export type TraceRequest = (request: ClientRequest) => ClientTrace;
