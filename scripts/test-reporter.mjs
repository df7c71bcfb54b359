// Reporter for `node --test`: a line for each file, failures in full, skips by name; totals go to a file, so that several runs can be summed up.
// Invariant: what was skipped or failed is always printed; the totals are the runner's own.
import { writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { inspect, stripVTControlCharacters } from 'node:util';

const root = process.cwd();

export default async function* report(source) {
  const totals = { counts: {}, files: [], failed: [], empty: [] };
  for await (const { type, data } of source) {
    if (type === 'test:stderr' || type === 'test:stdout') yield data.message;
    else if (type === 'test:diagnostic') count(totals.counts, data.message);
    else if (type === 'test:fail' && failedItself(data)) yield failure(data);
    else if (type === 'test:pass' && data.skip !== undefined)
      yield `skipped: ${place(data)}: ${data.name} (${data.skip === true || data.skip === '' ? 'no reason given' : data.skip})\n`;
    else if (type === 'test:pass' && data.nesting === 0 && data.name === data.file) totals.empty.push(data.file);
    else if (type === 'test:complete' && data.nesting === 0 && data.name === data.file) {
      totals.files.push(data.file);
      if (!data.details.passed) totals.failed.push(data.file);
      yield `${data.details.passed ? 'ok    ' : 'FAILED'} ${relative(root, data.file)} (${Math.round(data.details.duration_ms)} ms)\n`;
    }
  }
  const file = process.env.KUBELET_TS_TEST_TOTALS;
  if (file !== undefined) writeFileSync(file, JSON.stringify(totals));
}

/** The runner's closing figures, such as `pass 12`. */
function count(counts, message) {
  const [, name, value] = /^(\w+) ([\d.]+)$/.exec(message) ?? [];
  if (name !== undefined) counts[name] = Number(value);
}

/** A parent fails because of its children; they have been printed already. */
function failedItself(data) {
  return data.details.error?.failureType !== 'subtestsFailed' || (data.name === data.file && data.details.error.exitCode !== 1);
}

function failure(data) {
  const error = data.details.error;
  const text = inspect(error?.cause ?? error, { depth: 6, breakLength: 160 });
  return `not ok: ${place(data)}: ${data.name}\n${(process.stdout.isTTY ? text : stripVTControlCharacters(text)).replace(/^/gm, '    ')}\n`;
}

function place(data) {
  return `${relative(root, String(data.file ?? '?').replace(/^file:\/\//, ''))}:${data.line ?? '?'}`;
}
