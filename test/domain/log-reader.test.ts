// Reading container logs: where the tail begins, and limits, against plain counting.
import fc from 'fast-check';
import t from 'tap';
import { readLogLine, startLogReading, wantsLine } from '../../src/domain/logs/log-reader.js';
import { type LogTailStep, searchLogTail, startLogTailSearch } from '../../src/domain/logs/log-tail-search.js';
import type { LogReadOptions } from '../../src/domain/values/log-read-options.js';

const holds = (property: fc.IProperty<unknown>): void => fc.assert(property, { numRuns: 300 });
const everything: LogReadOptions = { tailLines: null, limitBytes: null, since: null, timestamps: false, streams: ['stdout', 'stderr'], follow: false };
const line = fc.tuple(fc.constantFrom('stdout', 'stderr'), fc.constantFrom('F', 'P', 'P:x'), fc.string({ unit: fc.constantFrom('a', 'é', ' ', '\r'), maxLength: 12 }));
const log = fc.array(fc.oneof({ weight: 5, arbitrary: line.map(([stream, tag, text]) => `2026-01-01T00:00:01.5Z ${stream} ${tag} ${text}\n`) }, fc.constant('junk\n')), {
  maxLength: 30,
});

function tailStart(file: Uint8Array, lines: number): number {
  let step: LogTailStep = startLogTailSearch(lines, file.length);
  while (step.kind === 'read') step = searchLogTail(step.search, file.subarray(step.offset, step.offset + step.length));
  return step.offset;
}

/** What is written in all; null when the file's format isn't known. */
function read(lines: readonly string[], over: Partial<LogReadOptions>): Buffer | null {
  let reading = startLogReading({ ...everything, ...over });
  const chunks: Uint8Array[] = [];
  for (const text of lines) {
    if (!wantsLine(reading)) break;
    const step = readLogLine(reading, Buffer.from(text));
    if (step.kind === 'failed') return null;
    if (step.chunk !== null) chunks.push(step.chunk.bytes);
    if (step.kind === 'done') break;
    reading = step.reading;
  }
  return Buffer.concat(chunks);
}

t.test('tail', async (t) => {
  const texts = fc.array(fc.string({ unit: fc.constantFrom('\n', 'x', 'é'), maxLength: 1200 }), { maxLength: 4 }).map((parts) => parts.join(''));
  const tail = fc.property(texts, fc.nat({ max: 50 }), (text, lines) => {
    const file = Buffer.from(text);
    const ended = text.split('\n').slice(0, -1);
    const skipped = ended.slice(0, Math.max(0, ended.length - lines)).join('\n');
    const want = ended.length <= lines ? 0 : Buffer.byteLength(skipped) + 1;
    return tailStart(file, lines) === want;
  });
  t.doesNotThrow(() => holds(tail), 'as many ended lines as asked for, whatever the blocks');
  t.equal(tailStart(Buffer.from('x\n'.repeat(5000)), 3), 2 * 4997, 'over many blocks');
});

t.test('limits', async (t) => {
  const limit = fc.property(log, fc.nat({ max: 60 }), fc.boolean(), (lines, limitBytes, timestamps) => {
    const all = read(lines, { timestamps });
    const some = read(lines, { timestamps, limitBytes });
    return all === null || some === null ? all === some : all.subarray(0, limitBytes).equals(some);
  });
  t.doesNotThrow(() => holds(limit), 'a limit cuts the end, and nothing else');
  const streams = fc.property(log, (lines) => {
    const [all, out, err] = [read(lines, {}), read(lines, { streams: ['stdout'] }), read(lines, { streams: ['stderr'] })];
    return all === null ? out === null && err === null : all.length === (out?.length ?? 0) + (err?.length ?? 0);
  });
  t.doesNotThrow(() => holds(streams), 'each byte belongs to one stream');
  const lines = ['2026-01-01T00:00:01.000000002Z stdout F a\n', '2026-01-01T01:00:01.000000001+01:00 stdout F b\n'];
  t.equal(String(read(lines, { since: '2026-01-01T00:00:01.000000002Z' })), 'a\n', 'since counts nanoseconds and zones');
  t.equal(String(read(lines, { tailLines: 1, follow: true })), 'a\nb\n', 'following goes on after the tail');
  t.equal(String(read(['2026-01-01T00:00:01+00:00 stdout F a\n'], { timestamps: true })), '2026-01-01T00:00:01.000000000Z a\n', 'no offset is UTC');
});
