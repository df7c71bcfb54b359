// Node log queries. The domain defines the rules; an adapter answers the queries.
import type { Instant } from '../instant.js';

export interface NodeLogQuery {
  readonly files: readonly string[];
  readonly services: readonly string[];
  readonly sinceTime: Instant | null;
  readonly untilTime: Instant | null;
  readonly tailLines: number | null;
  readonly pattern: string;
  readonly boot: number | null;
}

export type NodeLogQueryResult =
  /** No service or file was named: the files themselves are requested. */
  { readonly kind: 'none' } | { readonly kind: 'refused'; readonly status: 400 | 406; readonly message: string } | { readonly kind: 'query'; readonly query: NodeLogQuery };

export interface NodeLogQueries {
  /** @param values of a parameter of the request, in order */
  parse(values: (name: string) => readonly string[]): NodeLogQueryResult;
  /** Whether it has options besides names; the log files of services don't support any. */
  hasOptions(query: NodeLogQuery): boolean;
  /** Arguments of journalctl(1), one word each. */
  journalArguments(query: NodeLogQuery, services: readonly string[]): readonly string[];
  /** The files that may hold a service's log, below the directory of logs, the likeliest first. */
  serviceFiles(service: string): readonly string[];
}
