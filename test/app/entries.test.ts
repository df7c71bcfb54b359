// The package's entry points as their users import them.
import { readFileSync } from 'node:fs';
import t from 'tap';

const root = new URL('../../../', import.meta.url);
const { name, exports } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as {
  readonly name: string;
  readonly exports: Record<string, { types: string; default: string }>;
};

/** One of what each entry is for. */
const promised: Readonly<Record<string, string>> = {
  './domain': 'kubeletMachine',
  './ports': 'PortError',
  './sim': 'SimContainerRuntime',
  './mock-cri': 'startMockCri',
  './mock-apiserver': 'startMockApiserver',
};

t.test('every entry point is there, with types, under its name', async (t) => {
  t.same(Object.keys(exports).sort(), Object.keys(promised).sort());
  for (const [entry, files] of Object.entries(exports)) {
    const module = (await import(`${name}/${entry.slice(2)}`)) as Record<string, unknown>;
    t.type(module[promised[entry] ?? ''], 'function', entry);
    t.ok(readFileSync(new URL(files.types, root), 'utf8').length > 0, `${entry}: types`);
  }
});
