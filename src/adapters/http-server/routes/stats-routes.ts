// The node's statistics: /stats/summary as JSON, and metrics in the text format (spec/config-and-api.md, 10.2).
import { Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import { LoopShare } from '../../time/index.js';
import { plainText } from '../http-answer.js';
import type { KubeletAnswer, KubeletQuestion, KubeletRoute } from '../kubelet-routes.js';
import { listAnswer } from '../list-answer.js';

/** A summary is long by its pods: they are written one after the other. */
export type SummaryOutcome = { readonly ok: true; readonly value: { readonly node: unknown; readonly pods?: readonly unknown[] } } | { readonly ok: false; readonly error: string };

/** @param summary the complete answer, or the reason of its failure */
export function statsSummaryRoute(summary: (onlyCpuAndMemory: boolean) => Promise<SummaryOutcome>): KubeletRoute {
  const answer = async ({ path, query }: KubeletQuestion): Promise<KubeletAnswer | null> => {
    if (path !== '/stats/summary') return null;
    const only = query.getAll('only_cpu_and_memory');
    const outcome = await summary(only.length === 1 && only[0] === 'true');
    if (!outcome.ok) return plainText(500, `Internal Error: ${outcome.error}`);
    return summaryAnswer(outcome.value);
  };
  return { pattern: '/stats/', methods: ['GET', 'POST'], produces: 'application/json', answer };
}

function summaryAnswer({ node, pods = [] }: { readonly node: unknown; readonly pods?: readonly unknown[] }): KubeletAnswer {
  const headers = { 'Content-Type': 'application/json' };
  if (pods.length === 0) return { status: 200, headers, body: goIndentedJson({ node, pods }) };
  // Each is formatted within its surroundings, for the right indentation, which are removed again.
  const textOf = (pod: unknown): string => goIndentedJson({ pods: [pod] }).slice(podsHead.length, -podsEnd.length);
  return listAnswer({ before: `${goIndentedJson({ node }).slice(0, -2)},${podsHead.slice(1)}`, items: pods, textOf, separator: ',\n', after: podsEnd }, headers);
}

const podsHead = '{\n "pods": [\n';
const podsEnd = '\n ]\n}';

/** Indented by one space, and escaped as Go's encoder does; the characters occur in strings only, where a line break is written as two others. */
function goIndentedJson(value: unknown): string {
  return JSON.stringify(value, null, 1).replace(/[<>&\u2028\u2029]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

export interface MetricsPage {
  readonly contentType: string;
  readonly headers: Readonly<Record<string, string>>;
  /** One scrape, in pieces of whole families. */
  texts(): AsyncIterable<string> | Iterable<string> | Promise<Iterable<string>>;
}

export function metricsRoute(pattern: string, page: MetricsPage): KubeletRoute {
  const answer = async ({ headers }: KubeletQuestion): Promise<KubeletAnswer> => {
    const chunks = Readable.from(bytesOf(await page.texts()));
    const answered = { 'Content-Type': page.contentType, ...page.headers };
    if (!/\bgzip\b/.test(String(headers['accept-encoding'] ?? ''))) return { kind: 'stream', status: 200, headers: answered, chunks, isBounded: true };
    const zipped = createGzip();
    chunks.once('error', (error) => zipped.destroy(error));
    return { kind: 'stream', status: 200, headers: { ...answered, 'Content-Encoding': 'gzip' }, chunks: chunks.pipe(zipped), isBounded: true };
  };
  return { pattern, methods: null, produces: null, answer };
}

/** A reader that takes all at once would have them all made in one turn of the loop. */
async function* bytesOf(texts: AsyncIterable<string> | Iterable<string>): AsyncGenerator<Uint8Array> {
  const share = new LoopShare();
  for await (const text of texts) {
    yield Buffer.from(text);
    await (share.pause() ?? undefined);
  }
}
