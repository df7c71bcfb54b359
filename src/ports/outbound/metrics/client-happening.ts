// Observations that a client of the apiserver reports for metrics and for the connection monitor. No names of objects, no
// secrets, and few distinct values.

/** HTTP's word: `GET`. */
type Method = string;

export type ClientHappening =
  /** One try ended; code null: no answer. */
  | { readonly kind: 'tried'; readonly method: Method; readonly host: string; readonly code: number | null }
  /** It is tried again, after that answer. */
  | { readonly kind: 'retried'; readonly method: Method; readonly host: string; readonly code: number | null }
  /** A request had to wait so long for its turn; mostly 0. */
  | { readonly kind: 'limited'; readonly method: Method; readonly host: string; readonly seconds: number }
  /** A request ended, with all its tries; of a watch: it was opened. Bytes null: no body was sent, or read to its end. */
  | {
      readonly kind: 'ended';
      readonly method: Method;
      readonly host: string;
      readonly seconds: number;
      readonly requestBytes: number;
      readonly responseBytes: number | null;
    };
