// Queries of the node's logs over a journal that a script plays, and files in a directory of the test's own.
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import t from 'tap';
import { nodeLogQueryRoute } from '../../src/adapters/http-server/index.js';
import { SystemJournal } from '../../src/adapters/linux/index.js';
import { openNativeLinux } from '../../src/adapters/native-linux/index.js';
import { nodeLogFiles } from '../../src/adapters/storage/node-log-files.js';
import { nodeLogQueries } from '../../src/domain/logs/node-log-query.js';

const native = openNativeLinux({ kernelLogPath: '/dev/null', service: { notifySocket: null, watchdogMicros: null, watchdogPid: null } }, false);
const directory = mkdtempSync(join(tmpdir(), 'kubelet-ts-test-'));
t.teardown(() => rmSync(directory, { recursive: true, force: true }));
const logs = join(directory, 'log');
mkdirSync(join(logs, 'nested'), { recursive: true });
writeFileSync(join(logs, 'plain.log'), 'of plain\n');
writeFileSync(join(logs, 'nested/nested.log'), 'of nested\n');
writeFileSync(join(directory, 'secret'), 'secret\n');
symlinkSync(join(directory, 'secret'), join(logs, 'leads-out'));
symlinkSync(join(directory, 'secret'), join(logs, 'out.log'));

function journalOf(script: string): SystemJournal {
  const program = join(mkdtempSync(join(directory, 'journal-')), 'journalctl');
  writeFileSync(program, `#!/bin/sh\n${script}\n`);
  chmodSync(program, 0o755);
  return new SystemJournal(program);
}

const journal = journalOf('if [ "$1" = --field ]; then echo kubelet.service; exit; fi\nfor word; do echo "<$word>"; done; echo complaint >&2');

async function ask(text: string, headers: Readonly<Record<string, string>> = {}, of = journal, signal = new AbortController().signal) {
  const question = { method: 'GET', path: '/logs/', elements: ['logs'], query: new URLSearchParams(text), headers, body: async () => '', signal };
  const answer = await nodeLogQueryRoute({ queries: nodeLogQueries, open: nodeLogFiles(logs, native), journal: of }).answer(question);
  if (answer === null || 'target' in answer) throw new Error('no answer');
  if (!('chunks' in answer)) return { status: answer.status, body: answer.body };
  const chunks: Uint8Array[] = [];
  for await (const chunk of answer.chunks) chunks.push(chunk);
  const bytes = Buffer.concat(chunks);
  return { status: answer.status, body: (answer.headers['Content-Encoding'] === 'gzip' ? gunzipSync(bytes) : bytes).toString() };
}

t.test('services and files', async (t) => {
  const known = await ask('query=kubelet&tailLines=3&pattern=$(touch x)');
  t.match(known.body, /<--lines=3>\n<--unit=kubelet>\n<--grep=\$\(touch x\)>\n/, 'each argument is one word, and no shell sees it');
  t.match(known.body, /complaint\n/, 'errors are shown, too');
  t.match((await ask('query=kubelet', { 'accept-encoding': 'gzip' })).body, /<--unit=kubelet>/);
  const rows: readonly (readonly [query: string, status: number, body: string])[] = [
    ['query=plain', 200, 'of plain\n'],
    ['query=nested', 200, 'of nested\n'],
    ['query=none', 200, '\nlog not found for none\n'],
    ['query=..', 200, '\nlog not found for ..\n'],
    ['query=out', 200, '\nlog not found for out\n'],
    ['query=none&tailLines=1', 200, '\noptions present and query resolved to log files for [none]\ntry without specifying options\n'],
    ['query=nested/nested.log', 200, 'of nested\n'],
    ['query=/nope.log', 406, 'query: Invalid value: ["/nope.log"]: statat /nope.log: path escapes from parent\n'],
    ['query=nested/nope.log', 406, 'query: Invalid value: ["nested/nope.log"]: statat nested/nope.log: no such file or directory\n'],
    ['query=nested/../../secret', 406, 'query: Invalid value: ["nested/../../secret"]: statat nested/../../secret: path escapes from parent\n'],
    ['query=./leads-out', 406, 'query: Invalid value: ["./leads-out"]: statat ./leads-out: no such file or directory\n'],
  ];
  for (const [query, status, body] of rows) t.strictSame(await ask(query), { status, body }, query);
  t.match((await ask('')).body, /<pre>/, 'without a query the files are shown');
});

t.test('a journal that is not there, and one that hangs', async (t) => {
  t.strictSame(await ask('query=plain', {}, new SystemJournal(join(directory, 'none'))), { status: 200, body: 'of plain\n' });
  const hanging = journalOf('if [ "$1" = --field ]; then echo kubelet.service; exit; fi\necho begun; exec sleep 1000');
  const gone = new AbortController();
  const answer = ask('query=kubelet', {}, hanging, gone.signal);
  setTimeout(() => gone.abort(), 100);
  t.match((await answer).body, /^(begun\n)?$/, 'it ends with whoever asked');
});
