// Area `static-pod-decode`: a manifest's text to static pods, or to the class of its rejection.
import { parseYaml } from '../../../src/adapters/yaml/index.js';
import { decodeManifest, type ManifestRejection } from '../../../src/domain/pod-sources/decode-manifest.js';
import { configHashAnnotation } from '../../../src/domain/pod-sources/static-pod-defaults.js';
import type { Pod } from '../../../src/ports/model/pod.js';
import { type Difference, differences, type Json } from '../compare.js';
import type { VectorDriver } from '../driver.js';

interface Input {
  readonly text: string;
  readonly source: 'file' | 'http';
  readonly location: string;
  readonly nodeName: string;
}

const classes: Readonly<Record<ManifestRejection['kind'], string>> = {
  unparsable: 'unparsable',
  'name-missing': 'nameMissing',
  invalid: 'invalid',
  'api-reference': 'apiReference',
};

export const driver: VectorDriver = {
  run(input: Input): unknown {
    const document = parseYaml(input.text);
    if (!document.ok) return { error: { class: 'unparsable' } };
    const origin = input.source === 'file' ? ({ kind: 'file', path: input.location } as const) : ({ kind: 'http', url: input.location } as const);
    const decoded = decodeManifest(document.value, { nodeName: input.nodeName, origin, preventApiReferences: true });
    if (decoded.ok) return { pods: decoded.pods.map((pod) => normalized(pod) as Pod) };
    return { error: errorOf(decoded.rejection) };
  },
  // `fields` is a set.
  compare(got: Json, want: Json): Difference[] {
    return differences(withSortedFields(got), withSortedFields(want));
  },
};

function withSortedFields(answer: Json): unknown {
  const { error } = answer as { error?: { fields?: unknown } };
  if (!Array.isArray(error?.fields)) return answer;
  return { error: { ...error, fields: error.fields.map((field) => JSON.stringify(field)).sort() } };
}

function errorOf(rejection: ManifestRejection): unknown {
  const name = classes[rejection.kind];
  if (rejection.kind === 'unparsable') return { class: name };
  if (rejection.kind !== 'invalid') return { class: name, message: rejection.message };
  const pairs = new Set(rejection.problems.map(({ field, type }) => JSON.stringify({ field, type })));
  return { class: name, fields: [...pairs].map((pair) => JSON.parse(pair) as unknown) };
}

const leftOutWhenEmpty: ReadonlySet<string> = new Set(['resources', 'status', 'spec', 'metadata']);

/** Generated uids read `<generated>`; the README's list of empty structures is left out. */
function normalized(value: unknown): unknown {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map(normalized);
  if (typeof value !== 'object' || value === null) return value;
  const out: Record<string, unknown> = {};
  for (const [key, member] of Object.entries(value)) {
    const plain = normalized(member);
    if (leftOutWhenEmpty.has(key) && JSON.stringify(plain) === '{}') continue;
    out[key] = (key === 'uid' || key === configHashAnnotation) && /^[0-9a-f]{32}$/.test(String(plain)) ? '<generated>' : plain;
  }
  return out;
}
