// Answers node log queries: from the journal for services that it has, otherwise from files below the log directory.
import { Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import type { NodeLogQueries, NodeLogQuery } from '../../../ports/inbound/node-log-queries.js';
import { strictText } from '../http-answer.js';
import type { KubeletAnswer, KubeletQuestion, KubeletRoute } from '../kubelet-routes.js';
import { fileBytes, nodeLogRoute, type OpenLogEntry } from './node-log-routes.js';

export interface Journal {
  /** null: no journal. */
  units(signal: AbortSignal): Promise<ReadonlySet<string> | null>;
  run(words: readonly string[], signal: AbortSignal): AsyncIterable<Uint8Array>;
}

export interface NodeLogSources {
  readonly queries: NodeLogQueries;
  readonly open: OpenLogEntry;
  readonly journal: Journal;
}

/** `nodeLogRoute` with queries. */
export function nodeLogQueryRoute(sources: NodeLogSources): KubeletRoute {
  const { open, queries } = sources;
  const files = nodeLogRoute(open);
  return {
    ...files,
    answer: async (question) => {
      const parsed = question.path === '/logs/' ? queries.parse((name) => question.query.getAll(name)) : ({ kind: 'none' } as const);
      if (parsed.kind === 'none') return files.answer(question);
      if (parsed.kind === 'refused') return strictText(parsed.status, `${parsed.message}\n`);
      return answered(parsed.query, sources, question);
    },
  };
}

async function answered(query: NodeLogQuery, sources: NodeLogSources, question: KubeletQuestion): Promise<KubeletAnswer> {
  const [file] = query.files;
  if (file !== undefined) {
    const found = await fileBelow(file, sources.open);
    if (typeof found === 'string') return strictText(406, `query: Invalid value: ${JSON.stringify(query.files)}: ${found}\n`);
    return streamed(found, question);
  }
  return streamed(servicesText(query, sources, question.signal), question);
}

/** The file's content, or the refusal. */
async function fileBelow(file: string, open: OpenLogEntry): Promise<AsyncIterable<Uint8Array> | string> {
  const elements = file.split('/').filter((element) => element !== '' && element !== '.');
  if (file.startsWith('/') || elements.includes('..') || file.includes('\0')) return `statat ${file}: path escapes from parent`;
  const entry = await open(elements);
  if (entry.kind === 'none') return `statat ${file}: no such file or directory`;
  if (entry.kind === 'directory') return `${file} is a directory`;
  return fileBytes(entry.file, 0, entry.size);
}

async function* servicesText(query: NodeLogQuery, { queries, open, journal }: NodeLogSources, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const units = (await journal.units(signal)) ?? new Set<string>();
  const known = query.services.filter((service) => units.has(`${service}.service`) || units.has(service));
  if (known.length > 0) yield* journal.run(queries.journalArguments(query, known), signal);
  const others = query.services.filter((service) => !known.includes(service));
  if (others.length === 0) return;
  if (queries.hasOptions(query)) {
    yield Buffer.from(`\noptions present and query resolved to log files for [${others.join(' ')}]\ntry without specifying options\n`);
    return;
  }
  for (const service of others) yield* filesText(service, queries.serviceFiles(service), open);
}

async function* filesText(service: string, files: readonly string[], open: OpenLogEntry): AsyncGenerator<Uint8Array> {
  for (const path of files) {
    const elements = path.split('/');
    if (elements.includes('..') || elements.includes('.')) continue;
    const entry = await open(elements);
    if (entry.kind !== 'file') continue;
    yield* fileBytes(entry.file, 0, entry.size);
    return;
  }
  yield Buffer.from(`\nlog not found for ${service}\n`);
}

function streamed(chunks: AsyncIterable<Uint8Array>, { headers }: KubeletQuestion): KubeletAnswer {
  const answer = { 'Content-Type': 'text/plain;charset=UTF-8' };
  if (headers['accept-encoding'] !== 'gzip') return { kind: 'stream', status: 200, headers: answer, chunks };
  const source = Readable.from(chunks);
  const zipped = createGzip();
  source.once('error', (error) => zipped.destroy(error));
  zipped.once('close', () => source.destroy());
  return { kind: 'stream', status: 200, headers: { ...answer, 'Content-Encoding': 'gzip' }, chunks: source.pipe(zipped) };
}
