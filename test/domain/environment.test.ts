// A container's environment: expansion, env files, values that aren't text, and traps that the golden vectors leave out.
import fc from 'fast-check';
import t from 'tap';
import { containerEnv, type EnvSources } from '../../src/domain/containers/container-env.js';
import { expand, expandProbeCommand, expandSubPath } from '../../src/domain/containers/env-expansion.js';
import { envFileValue } from '../../src/domain/containers/env-file.js';
import { envValueBytes, envValueOf, envValueOfText, runtimeEnvValue } from '../../src/domain/containers/env-value.js';
import type { Container, EnvVar } from '../../src/ports/model/container.js';
import type { Pod } from '../../src/ports/model/pod.js';

const holds = (property: fc.IProperty<unknown>): void => fc.assert(property, { numRuns: 500 });
/** Texts in which every second character means something to the expansion. */
const nearlyReferences = fc.string({ unit: fc.constantFrom('$', '(', ')', 'A', 'B', 'é', '\ud83d\ude00'), maxLength: 30 });
const variables = new Map([
  ['A', '$(B)'],
  ['B', 'b'],
  ['', 'empty'],
]);
const lookup = (name: string): string | null => variables.get(name) ?? null;

t.test('expansion', async (t) => {
  t.doesNotThrow(() => holds(fc.property(fc.oneof(nearlyReferences, fc.string({ unit: 'binary' })), (text) => typeof expand(text, lookup) === 'string')), 'never throws');
  const withoutDollar = fc.string({ unit: 'binary' }).map((text) => text.replaceAll('$', ''));
  t.doesNotThrow(() => holds(fc.property(withoutDollar, (text) => expand(text, lookup) === text)), 'text without $ stays as it is');
  const stays = fc.property(nearlyReferences, (text) => expand(text.replaceAll('$', '$$$$'), lookup) === text);
  t.doesNotThrow(() => holds(stays), 'a text with its $ doubled comes out as it was');
  const started = 200_000;
  t.equal(expand('$('.repeat(started), lookup).length, 2 * started, 'many unfinished references cost no more than their length');

  const rows: readonly (readonly [sentence: string, text: string, want: string])[] = [
    ['one pass', '$(A)', '$(B)'],
    ['a doubled $ keeps what follows', '$$(A) $$$(B)', '$(A) $b'],
    ['an unknown name stays', '$(C)$(B)', '$(C)b'],
    ['a name ends at the first )', '$($(B))', '$($(B))'],
    ['an empty name is a name', '$()', 'empty'],
    ['unfinished', '$(B $(A', '$(B $(A'],
    ['a lone $ at the end', 'a$', 'a$'],
  ];
  for (const [sentence, text, want] of rows) t.equal(expand(text, lookup), want, sentence);
});

t.test('probe commands and subPathExpr', async (t) => {
  const env: readonly EnvVar[] = [
    { name: 'A', value: '1' },
    { name: 'B', value: '$(A)' },
    { name: 'C', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
    { name: 'A', value: '2' },
  ];
  t.strictSame(expandProbeCommand(['$(A)', '$(B)', '-$(C)-', '$(D)'], env), ['2', '$(A)', '--', '$(D)'], 'values as written, sources empty, the last of a name');
  t.strictSame(expandSubPath('$(Z)/$(Y)/$(Z)/$(E)', [{ name: 'E', value: '' }]), { ok: false, message: 'missing value for E, Y, Z' }, 'each name once, in order');
  t.strictSame(expandSubPath('$$(E)/x', []), { ok: true, subPath: '$(E)/x' }, 'an escaped reference needs no variable');
});

t.test('env files', async (t) => {
  const found = (value: string): unknown => ({ kind: 'found', value });
  const malformed = { kind: 'malformed' };
  const rows: readonly (readonly [sentence: string, text: string, want: unknown])[] = [
    ['a value over several lines', "J='x'\nK='a\nb'\n", found('a\nb')],
    ['line ends of other systems', "J='x'\r\nK='a\r\nb'\r\n", found('a\nb')],
    ['a key inside a value is none', "J='\nK='\nK='v'", found('v')],
    ['comments', "# K='no'\n \t# K='no'\nK='v'#", found('v')],
    ['no value', 'K=\n', malformed],
    ['a blank after =', "K= 'v'\n", malformed],
    ['a blank before =', "K\t='v'\n", malformed],
    ['no name', "='v'\nK='v'", malformed],
    ['no closing quote', "K='v\n", malformed],
    ['text after the quote', "J='x'y\nK='v'", malformed],
    ['double quotes', 'K="v"', malformed],
    ['= further down belongs to another line', "J\nK='v'", malformed],
    ['nothing', '', { kind: 'missing' }],
    ['another key', "K1='v'\n1K='v'\nk='v'", { kind: 'missing' }],
  ];
  for (const [sentence, text, want] of rows) t.strictSame(envFileValue(text, 'K'), want, sentence);
  t.doesNotThrow(() => {
    const unit = fc.constantFrom('K', '=', "'", '\n', '\r', ' ', '#');
    holds(fc.property(fc.string({ unit, maxLength: 40 }), (text) => ['found', 'missing', 'malformed'].includes(envFileValue(text, 'K').kind)));
    holds(
      fc.property(
        fc.string({ unit: 'binary' }),
        (value) => JSON.stringify(envFileValue(`K='${value.replace(/['\r]/g, '')}'`, 'K')) === JSON.stringify({ kind: 'found', value: value.replace(/['\r]/g, '') }),
      ),
    );
  }, 'total, and a value is what stands between the quotes');
});

t.test('values that are not text', async (t) => {
  const nearlyText = fc.array(fc.constantFrom(0x41, 0x80, 0xbf, 0xc2, 0xe2, 0x98, 0x83, 0xf0, 0xff, 0xed, 0xb2), { maxLength: 20 }).map((bytes) => Uint8Array.from(bytes));
  const roundTrip = fc.property(fc.oneof(fc.uint8Array(), nearlyText), (bytes) => Buffer.from(envValueBytes(envValueOf(bytes))).equals(bytes));
  t.doesNotThrow(() => holds(roundTrip), 'any bytes come out as they went in');
  t.doesNotThrow(() => holds(fc.property(fc.string({ unit: 'grapheme' }), (text) => runtimeEnvValue(envValueOfText(text)) === text)), 'text stays text');
  t.equal(envValueOfText('a\udc80b'), 'a\ufffdb', 'half a surrogate pair from JSON is no byte');
});

const pod: Pod = { metadata: { name: 'p', namespace: 'n', uid: 'u' }, spec: { containers: [], enableServiceLinks: true } };
const sources: EnvSources = {
  services: null,
  servicesSynced: false,
  objects: {
    configMap: (name) => (name === 'broken' ? { kind: 'failed', message: 'configmaps "broken" is forbidden' } : { kind: 'notFound' }),
    secret: (name) =>
      name === 's' ? { kind: 'found', value: { metadata: { name: 's' }, data: { raw: Buffer.from([0xff, 0x00, 0x41]).toString('base64'), bad: '%%' } } } : { kind: 'notFound' },
  },
  podIps: [],
  nodeIps: [],
  nodeAddresses: [],
  allocatable: {},
  volumeDirectories: {},
  envFile: () => null,
};

t.test('the whole environment', async (t) => {
  const env = (container: Partial<Container>, over: Partial<EnvSources> = {}, of: Pod = pod): unknown => {
    const made = containerEnv(of, { name: 'c', ...container }, { ...sources, ...over });
    return made.ok ? Object.fromEntries(made.value.map(({ name, value }) => [name, runtimeEnvValue(value)])) : made.message;
  };
  const raw: readonly EnvVar[] = [
    { name: 'RAW', valueFrom: { secretKeyRef: { name: 's', key: 'raw' } } },
    { name: 'LONGER', value: '<$(RAW)>' },
  ];
  t.strictSame(env({ env: raw }), { RAW: Uint8Array.of(0xff, 0, 0x41), LONGER: Uint8Array.of(0x3c, 0xff, 0, 0x41, 0x3e) }, 'a secret keeps its bytes, within another value too');
  t.equal(env({ envFrom: [{ configMapRef: { name: 'broken', optional: true } }] }), 'configmaps "broken" is forbidden', 'optional forgives absence, not failure');
  t.equal(env({ env: [{ name: 'X', valueFrom: { secretKeyRef: { name: 's', key: 'constructor' } } }] }), "couldn't find key constructor in Secret n/s", 'keys of objects are data');
  t.strictSame(
    env({}, { services: [] }, { ...pod, metadata: { ...pod.metadata, annotations: { 'kubernetes.io/config.source': 'file' } } }),
    {},
    'a static pod waits for no services',
  );
  const services = [{ metadata: { name: 'a', namespace: 'n' }, spec: { clusterIP: '10.0.0.1', ports: [] } }];
  t.strictSame(env({}, { services, servicesSynced: true }), { A_SERVICE_HOST: '10.0.0.1' }, 'a service without ports has an address');
  const order = containerEnv(
    pod,
    {
      name: 'c',
      env: [
        { name: 'A_SERVICE_HOST', value: 'mine' },
        { name: 'Z', value: '$(A_SERVICE_HOST)' },
      ],
    },
    { ...sources, services, servicesSynced: true },
  );
  t.strictSame(
    order,
    {
      ok: true,
      value: [
        { name: 'A_SERVICE_HOST', value: 'mine' },
        { name: 'Z', value: 'mine' },
      ],
    },
    'a declared variable wins over a service',
  );
});
