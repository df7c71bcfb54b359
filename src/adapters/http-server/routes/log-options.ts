// The query of /containerLogs as options of a log reading (spec/config-and-api.md, 10.5).
import { instantAfter } from '../../../domain/values/instant.js';
import type { LogReadOptions, LogStream } from '../../../domain/values/log-read-options.js';
import { formatRfc3339Micros, parseRfc3339 } from '../../../domain/values/time.js';
import type { Instant } from '../../../ports/instant.js';
import { type HttpAnswer, plainText } from '../http-answer.js';

export interface LogQuery {
  readonly options: LogReadOptions;
  readonly previous: boolean;
  /** `All`, or one that has to be switched on. */
  readonly stream: string;
}

const undecodable = plainText(400, '{"message": "Unable to decode query."}');
const invalid = plainText(422, '{"message": "Invalid request."}');
const streams: Readonly<Record<string, readonly LogStream[]>> = { All: ['stdout', 'stderr'], Stdout: ['stdout'], Stderr: ['stderr'] };

export function logQueryOf(query: URLSearchParams, wall: Instant): LogQuery | HttpAnswer {
  const legacyTail = query.get('tail');
  const tailText = legacyTail === null ? query.get('tailLines') : legacyTail === 'all' ? null : legacyTail;
  const tailLines = whole(tailText);
  const limitBytes = whole(query.get('limitBytes'));
  const sinceSeconds = whole(query.get('sinceSeconds'));
  const sinceText = query.get('sinceTime') === '' ? null : query.get('sinceTime');
  if (tailLines === 'bad' || limitBytes === 'bad' || sinceSeconds === 'bad' || (sinceText !== null && parseRfc3339(sinceText) === null)) return undecodable;
  const stream = query.get('stream') ?? 'All';
  const wanted = streams[stream];
  const contradictory = (sinceSeconds !== null && sinceText !== null) || (stream !== 'All' && tailLines !== null);
  if (contradictory || wanted === undefined || (tailLines ?? 0) < 0 || (limitBytes ?? 1) < 1 || (sinceSeconds ?? 1) < 1) return invalid;
  const since = sinceSeconds === null ? sinceText : formatRfc3339Micros(instantAfter(wall, -sinceSeconds * 1_000_000));
  const options = { tailLines, limitBytes, since, timestamps: isTrue(query, 'timestamps'), streams: wanted, follow: isTrue(query, 'follow') };
  return { options, previous: isTrue(query, 'previous'), stream };
}

/** As the API machinery reads it: a parameter without a value is true, too. */
function isTrue(query: URLSearchParams, name: string): boolean {
  const value = query.get(name);
  return value !== null && !['false', '0'].includes(value.toLowerCase());
}

function whole(text: string | null): number | null | 'bad' {
  if (text === null || text === '') return null;
  const value = /^[+-]?\d+$/.test(text) ? Number(text) : Number.NaN;
  return Number.isSafeInteger(value) ? value : 'bad';
}
