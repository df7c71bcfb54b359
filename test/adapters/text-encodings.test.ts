// Every text that users write for the agent: the same in each supported encoding, and refused by the encoding's name in all others.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { FileConfigurationSource } from '../../src/adapters/config-files/index.js';
import { manifestContentOf } from '../../src/adapters/linux/manifest-content.js';
import { decodeText, EncodingError, readTextFileSync } from '../../src/adapters/text/index.js';
import { parseYaml } from '../../src/adapters/yaml/index.js';
import { encodings, unreadableEncodings } from './encodings.js';

const directory = mkdtempSync(join(tmpdir(), 'kubelet-ts-test-'));
t.teardown(() => rmSync(directory, { recursive: true, force: true }));

const documents = ['apiVersion: v1\nkind: Pod\nmetadata:\n  name: "äöü€😀"\n', '{"apiVersion": "v1",\n "kind": "Pod", "metadata": {"name": "äöü€😀"}}\n'];
const value = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'äöü€😀' } };

t.test('manifests and configurations', async (t) => {
  const source = new FileConfigurationSource(directory);
  for (const text of documents) {
    for (const [name, bytes] of encodings(text)) {
      t.match(parseYaml(bytes), { ok: true, value }, name);
      t.match(manifestContentOf(bytes), { kind: 'document', value, notes: [] }, name);
      writeFileSync(join(directory, 'kubelet.yaml'), bytes);
      const file = source.readFile('kubelet.yaml');
      t.match(file, { ok: true, parsed: { ok: true, value } }, name);
      t.equal(file.ok && file.text.replace(/\r/g, ''), text, name);
    }
    for (const [name, bytes, problem] of unreadableEncodings(text)) {
      t.match(manifestContentOf(bytes), { kind: 'unreadable', message: `yaml: ${problem}` }, name);
      writeFileSync(join(directory, 'kubelet.yaml'), bytes);
      t.match(source.readFile('kubelet.yaml'), { ok: true, parsed: { ok: false, message: `yaml: ${problem}` } }, name);
    }
  }
});

t.test('marks where files were written one behind the other', async (t) => {
  const rows: readonly (readonly [string, string])[] = [
    ['behind ---', '---\n\ufeffa: 1\nb: 2\n'],
    ['before and behind', '\ufeff---\n\ufeffa: 1\nb: 2\n'],
    ['behind ---, with carriage returns', '\ufeff---\r\n\ufeffa: 1\r\nb: 2\r\n'],
    ['behind a comment', '# one\n\ufeffa: 1\nb: 2\n'],
    ['at a line within', 'a: 1\n\ufeffb: 2\n'],
  ];
  for (const [sentence, text] of rows) {
    t.match(parseYaml(Buffer.from(text)), { ok: true, value: { a: 1, b: 2 } }, sentence);
    t.match(manifestContentOf(Buffer.from(text)), { kind: 'document', value: { a: 1, b: 2 }, notes: [] }, sentence);
  }
  const content = parseYaml('a: "x\ufeffy"\n');
  t.match(content, { ok: true, value: { a: 'x\ufeffy' } }, 'a mark within a text is a character of it');
});

t.test('a text file', async (t) => {
  const path = join(directory, 'text');
  for (const [name, bytes] of encodings('one\ntwo äöü\n')) {
    writeFileSync(path, bytes);
    t.equal(readTextFileSync(path).replace(/\r/g, ''), 'one\ntwo äöü\n', name);
  }
  for (const [name, bytes, problem] of unreadableEncodings('one\ntwo\n')) {
    writeFileSync(path, bytes);
    t.throws(() => readTextFileSync(path), new EncodingError(`read ${path}: ${problem}`), name);
  }
  t.match(decodeText(new Uint8Array()), { ok: true, text: '' }, 'nothing is a text');
  t.match(decodeText(Uint8Array.of(0xef, 0xbb)), { ok: false, problem: 'invalid UTF-8 at byte 1' });
});
