// The command line, the tables of flags and feature gates, what is checked at the start; no input makes the loader throw.
import fc from 'fast-check';
import root from 'tap';
import { actedOn } from '../../src/domain/configuration/acted-on.js';
import { readCsvLine } from '../../src/domain/configuration/csv-line.js';
import { featureEnabled, knownFeatureGates, noFeatureGates, setFeatureGates } from '../../src/domain/configuration/feature-gates.js';
import { flagTable } from '../../src/domain/configuration/flag-table.js';
import { type LoadResult, loadConfiguration } from '../../src/domain/configuration/load-configuration.js';
import { parseFlags } from '../../src/domain/configuration/parse-flags.js';
import { settingRows } from '../../src/domain/configuration/schema.js';
import { checkStartup } from '../../src/domain/configuration/startup-checks.js';
import { cloudProviderRefusal, type HostFacts, planTunables, privilegeWarning, requiredTunables, swapRefusal } from '../../src/domain/configuration/startup-refusals.js';
import { badNameServers, clusterNameServers, shortestPeriod, shortPeriods, takenPeriod } from '../../src/domain/configuration/taken-values.js';
import { tlsOptions } from '../../src/domain/configuration/tls-options.js';
import type { ConfigurationFile } from '../../src/ports/outbound/configuration-source.js';
import { header, load, sourceOf } from './configuration-situations.js';

const invalid = 'failed to validate kubelet configuration, error: invalid configuration: ';

const words: readonly (readonly [readonly string[], Record<string, unknown> | string])[] = [
  [['--max-pods=0x10'], { 'max-pods': 16 }],
  [['--max-pods=017'], { 'max-pods': 15 }],
  [['--max-pods=1_000'], { 'max-pods': 1000 }],
  [['--max-pods=+5'], { 'max-pods': 5 }],
  [['--max-pods', '-5'], { 'max-pods': -5 }],
  [['--max-pods='], `invalid argument "" for "--max-pods" flag: strconv.ParseInt: parsing "": invalid syntax`],
  [['--max-pods=09'], `invalid argument "09" for "--max-pods" flag: strconv.ParseInt: parsing "09": invalid syntax`],
  [['--max-pods=2147483648'], `invalid argument "2147483648" for "--max-pods" flag: strconv.ParseInt: parsing "2147483648": value out of range`],
  [['--max_pods'], 'flag needs an argument: --max_pods'],
  [['--no_such'], 'unknown flag: --no_such'],
  [['--=x'], 'bad flag syntax: --=x'],
  [['---x'], 'bad flag syntax: ---x'],
  [['-v'], "flag needs an argument: 'v' in -v"],
  [['-hv', '3'], { help: true, v: 3 }],
  [['-vh'], `invalid argument "h" for "-v, --v" flag: strconv.ParseUint: parsing "h": invalid syntax`],
  [['-v=-1'], `invalid argument "-1" for "-v, --v" flag: strconv.ParseUint: parsing "-1": invalid syntax`],
  [['-é'], "unknown shorthand flag: 'Ã' in -é"],
  [['-h=false'], { help: false }],
  [['--help=no'], `invalid argument "no" for "-h, --help" flag: strconv.ParseBool: parsing "no": invalid syntax`],
  [['--version=v1.36.0-build.7+x'], { version: 'v1.36.0-build.7+x' }],
  [['--version=vx'], 'invalid argument "vx" for "--version" flag: could not parse "vx" as version'],
  [['--sync-frequency=1q'], `invalid argument "1q" for "--sync-frequency" flag: time: unknown unit "q" in duration "1q"`],
  [['--sync-frequency=5'], `invalid argument "5" for "--sync-frequency" flag: time: missing unit in duration "5"`],
  [['--application-metrics-count-limit=99999999999999999999'], 'invalid argument "99999999999999999999" for "--application-metrics-count-limit" flag: value out of range'],
  [['--address=1.2.3'], 'invalid argument "1.2.3" for "--address" flag: "1.2.3" is not a valid IP address'],
  [['--address=010.0.0.1'], { address: '010.0.0.1' }],
  [['--address=fe80::1%eth0'], 'invalid argument "fe80::1%eth0" for "--address" flag: "fe80::1%eth0" is not a valid IP address'],
  [['--address=', '--address=::1'], { address: '::1' }],
  [['--cluster-dns="a""b",c', '--cluster-dns='], { 'cluster-dns': ['a"b', 'c'] }],
  [['--cluster-dns=a"b'], `invalid argument "a\\"b" for "--cluster-dns" flag: parse error on line 1, column 2: bare " in non-quoted field`],
  [['--cluster-dns="a'], `invalid argument "\\"a" for "--cluster-dns" flag: parse error on line 1, column 3: extraneous or missing " in quoted-field`],
  [['--eviction-hard=a<1,,b<2'], { 'eviction-hard': { a: '1', b: '2' } }],
  [['--topology-manager-policy-options=a=b,c=d'], { 'topology-manager-policy-options': { a: 'b,c=d' } }],
  [['--feature-gates=A=true,B'], 'invalid argument "A=true,B" for "--feature-gates" flag: malformed pair, expect string=bool'],
  [['--manifest-url-header=a:b:c,d'], 'invalid argument "a:b:c,d" for "--manifest-url-header" flag: malformed pair, expect string:string'],
  [['--manifest-url-header=a:b:c', '--manifest-url-header=a: d'], { 'manifest-url-header': { a: ['b:c', 'd'] } }],
  [['--node-labels=a,b=c=d'], { 'node-labels': { a: '', b: 'c=d' } }],
  [['--register-with-taints=a:NoSchedule,b-'], { 'register-with-taints': [{ key: 'a', value: '', effect: 'NoSchedule', timeAdded: null }] }],
  [['--register-with-taints=a=b=c:NoSchedule'], 'invalid argument "a=b=c:NoSchedule" for "--register-with-taints" flag: invalid taint spec: a=b=c:NoSchedule'],
  [['--register-with-taints=a:b:c'], 'invalid argument "a:b:c" for "--register-with-taints" flag: invalid taint spec: a:b:c'],
  [['--register-with-taints=a'], 'invalid argument "a" for "--register-with-taints" flag: invalid taint spec: a'],
  [['--reserved-memory=0:memory=x'], 'invalid argument "0:memory=x" for "--reserved-memory" flag: failed to parse the quantity: x'],
  [['--reserved-memory=0:memory'], 'invalid argument "0:memory" for "--reserved-memory" flag: the reserved limit has incorrect value, expected type=quantity, got memory'],
  [['--vmodule=a=-1'], `invalid argument "a=-1" for "--vmodule" flag: parsing verbosity in "a=-1": strconv.ParseUint: parsing "-1": invalid syntax`],
];

root.test('words of the command line', async (t) => {
  for (const [args, wanted] of words) {
    const got = parseFlags(args);
    if (typeof wanted === 'string') t.equal(got.ok ? 'accepted' : got.error, wanted, args.join(' '));
    else t.strictSame(got.ok ? Object.fromEntries(got.values) : got.error, wanted, args.join(' '));
  }
  const uses = parseFlags(['--max_pods=1', '--v=2', '--max-pods', '3', 'x', '--', '--y']);
  t.match(uses, { ok: true, deprecatedUses: ['max-pods', 'max-pods'], positional: ['x', '--y'] });
});

root.test('the table is whole', async (t) => {
  const names = flagTable.map(({ name }) => name);
  t.strictSame(names, [...new Set(names)].sort(), 'flags are unique and sorted');
  for (const { path, setting } of settingRows) {
    t.match(setting.doc, /^[A-Z0-9].*\.$|^.+[.:].*$/, `${path.join('.')} is explained`);
    t.match(setting.since, /^1\.\d+$/, path.join('.'));
  }
  for (const name of actedOn)
    t.ok(
      settingRows.some(({ path }) => path.join('.') === name),
      `${name} is a setting`,
    );
  for (const removed of ['cloud-config', 'container-runtime', 'pod-infra-container-image', 'network-plugin', 'register-schedulable', 'logtostderr'])
    t.notOk(names.includes(removed), removed);
});

root.test('feature gates', async (t) => {
  for (const gate of knownFeatureGates.values()) {
    for (const name of gate.dependsOn) t.ok(knownFeatureGates.has(name), `${gate.name} depends on a gate that exists`);
    if (gate.enabledByDefault) for (const name of gate.dependsOn) t.ok(featureEnabled(noFeatureGates, name), `${gate.name} and its dependency ${name} are on`);
  }
  t.match(setFeatureGates(noFeatureGates, { AllAlpha: true, AllBeta: true }), { ok: true });
  const some = setFeatureGates(noFeatureGates, { AllAlpha: true, EventedPLEG: false });
  t.ok(some.ok && !featureEnabled(some.gates, 'EventedPLEG') && featureEnabled(some.gates, 'PodsAPI'), 'a name wins over its stage');
  t.match(setFeatureGates(noFeatureGates, { AllBeta: false, ExtendWebSocketsToKubelet: true }), {
    ok: false,
    error: 'ExtendWebSocketsToKubelet is enabled, but depends on features that are disabled: [NodeDeclaredFeatures]',
  });
  t.match(setFeatureGates(noFeatureGates, { NodeSwap: true, KMSv1: true }), {
    warnings: [
      'Setting deprecated feature gate KMSv1=true. It will be removed in a future release.',
      'Setting GA feature gate NodeSwap=true. It will be removed in a future release.',
    ],
  });
  t.match(setFeatureGates(noFeatureGates, { constructor: true }), { ok: false, error: 'unrecognized feature gate: constructor' });
});

const bareQuote = 'bare " in non-quoted field';
const strayQuote = 'extraneous or missing " in quoted-field';
const lists: readonly (readonly [sentence: string, line: string, wanted: readonly string[] | string])[] = [
  ['nothing is no field', '', []],
  ['one field', 'a', ['a']],
  ['empty fields count', ',a,', ['', 'a', '']],
  ['white space belongs to a field', ' a , b', [' a ', ' b']],
  ['a comma between quotes', '"a,b",c', ['a,b', 'c']],
  ['a doubled quote is one', '"a""b"', ['a"b']],
  ['quotes around nothing', '""', ['']],
  ['a line break between quotes', '"a\nb",c', ['a\nb', 'c']],
  ['only the first line', 'a,b\nc', ['a', 'b']],
  ['also after quotes', '"a"\nc', ['a']],
  ["empty lines before it don't count", '\n\r\n\na', ['a']],
  ['one between fields ends it', 'a\n\nb', ['a']],
  ['a carriage return ends with its line', 'a,b\r\nc', ['a', 'b']],
  ['or with the text', 'a\r', ['a']],
  ['elsewhere it is a character', 'a\rb', ['a\rb']],
  ['nothing but line breaks', '\n\n', 'EOF'],
  ['a quote in the middle', 'a"b', `parse error on line 1, column 2: ${bareQuote}`],
  ['a quote behind a comma and a letter', 'a,b"', `parse error on line 1, column 4: ${bareQuote}`],
  ['a letter behind quotes', '"a"b', `parse error on line 1, column 3: ${strayQuote}`],
  ['a quote that nobody closes', '"a', `parse error on line 1, column 3: ${strayQuote}`],
  ['nor this one', '"', `parse error on line 1, column 2: ${strayQuote}`],
];

root.test('lists in one flag', async (t) => {
  for (const [sentence, line, wanted] of lists) t.strictSame(readCsvLine(line), typeof wanted === 'string' ? { ok: false, error: wanted } : { ok: true, value: wanted }, sentence);
});

const startup: readonly (readonly [string, string, readonly string[], string])[] = [
  ['cpus that are no list', 'reservedSystemCPUs: 3-1\n', [], `${invalid}unable to parse reservedSystemCPUs (--reserved-cpus) 3-1, error: invalid range "3-1" (3 > 1)`],
  [
    'a share without percent',
    'qosReserved: {memory: "50"}\n',
    [],
    `failed to run Kubelet: --qos-reserved value failed to parse: failed to parse percentage "50" for "memory" resource: percentage expected, got '50'`,
  ],
  [
    'a share that is no number',
    'qosReserved: {memory: x%}\n',
    [],
    `failed to run Kubelet: --qos-reserved value failed to parse: failed to parse percentage "x%" for "memory" resource: failed to convert number in percentage string`,
  ],
  ['a threshold below zero', 'evictionHard: {memory.available: -1%}\n', [], 'failed to run Kubelet: eviction percentage threshold memory.available must be >= 0%: -1%'],
  ['thresholds that are ignored are not read', 'evictionHard: {memory.available: -1%}\n', ['--experimental-allocatable-ignore-eviction'], ''],
  ['a threshold of nothing', 'evictionHard: {memory.available: "0"}\n', [], 'failed to run Kubelet: eviction threshold memory.available must be positive: 0'],
  [
    'a threshold that is no quantity',
    'evictionHard: {memory.available: 1Gib}\n',
    [],
    "failed to run Kubelet: --eviction-hard value failed to parse: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
  ],
  ['a curve twice', 'tlsCurvePreferences: [29, 29]\n', [], 'failed to construct kubelet dependencies: duplicate curve preference 29'],
  ['a policy of the CPU manager that there is none of', 'cpuManagerPolicy: sometimes\n', [], 'failed to run Kubelet: unknown policy: "sometimes"'],
  ['one of the memory manager, in lower case', 'memoryManagerPolicy: static\n', [], 'failed to run Kubelet: unknown policy: "static"'],
  ['no curve', 'tlsCurvePreferences: [0]\n', [], 'failed to construct kubelet dependencies: curve preference 0 is out of range (must be 1-65535)'],
];

root.test('start-up checks', async (t) => {
  for (const [name, file, flags, wanted] of startup) {
    const loaded = load({ file, flags });
    if (loaded.kind !== 'loaded') {
      t.equal(loaded.kind === 'refused' ? loaded.error : loaded.kind, wanted, name);
      continue;
    }
    const checked = checkStartup(loaded.configuration, loaded.options, [0, 1, 2, 3]);
    t.equal(checked.ok ? '' : checked.error, wanted, name);
  }
  t.strictSame(tlsOptions({ tlsCipherSuites: ['TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256'], tlsMinVersion: 'VersionTLS13', tlsCurvePreferences: [4588] }), {
    ok: true,
    value: { minVersion: 'TLSv1.3', ciphers: ['ECDHE-RSA-AES128-GCM-SHA256'], groups: ['X25519MLKEM768'] },
  });
});

root.test('values that are valid and not taken as they are', async (t) => {
  const loaded = load({ file: 'clusterDNS: [10.0.0.10, 10.0.0, "FD00::0:A", localhost]\nsyncFrequency: -1s\nfileCheckFrequency: 1ns\nhttpCheckFrequency: 100ms\n', flags: [] });
  if (loaded.kind !== 'loaded') throw new Error(loaded.kind);
  const { configuration } = loaded;
  t.strictSame(clusterNameServers(configuration), ['10.0.0.10', 'fd00::a']);
  t.strictSame(badNameServers(configuration), ['10.0.0', 'localhost']);
  t.strictSame(shortPeriods(configuration), ['syncFrequency', 'fileCheckFrequency']);
  const taken = (['syncFrequency', 'fileCheckFrequency', 'httpCheckFrequency'] as const).map((period) => takenPeriod(configuration, period));
  t.strictSame(taken, [shortestPeriod, shortestPeriod, shortestPeriod]);
  const usual = load({ file: 'syncFrequency: 2s\n', flags: [] });
  t.strictSame(usual.kind === 'loaded' && [takenPeriod(usual.configuration, 'syncFrequency'), shortPeriods(usual.configuration), clusterNameServers(usual.configuration)], [
    2e9,
    [],
    [],
  ]);
});

root.test('hosts that are refused', async (t) => {
  const host: HostFacts = { swapOn: true, cgroupVersion: 1, effectiveUserId: 1000, tunables: { ...requiredTunables, 'kernel/panic': 0 } };
  t.equal(
    swapRefusal({ failSwapOn: true, memorySwap: { swapBehavior: '' } }, host),
    'running with swap on is not supported, please disable swap or set --fail-swap-on flag to false',
  );
  t.equal(swapRefusal({ failSwapOn: false, memorySwap: { swapBehavior: 'LimitedSwap' } }, host), 'swap feature is enabled and LimitedSwap but it is only supported with cgroupv2');
  t.equal(swapRefusal({ failSwapOn: false, memorySwap: { swapBehavior: 'LimitedSwap' } }, { ...host, cgroupVersion: 2 }), null);
  t.strictSame(planTunables({ protectKernelDefaults: true }, host), { kind: 'refuse', error: 'invalid kernel flag: kernel/panic, expected value: 10, actual value: 0' });
  t.strictSame(planTunables({ protectKernelDefaults: false }, host), { kind: 'set', values: { 'kernel/panic': 10 } });
  t.strictSame(planTunables({ protectKernelDefaults: true }, { ...host, tunables: requiredTunables }), { kind: 'set', values: {} });
  t.equal(privilegeWarning(host), 'Kubelet running with insufficient permissions');
  t.equal(privilegeWarning({ ...host, effectiveUserId: 0 }), null);
  t.equal(cloudProviderRefusal('external'), null);
  t.match(cloudProviderRefusal('aws'), /^failed to create kubelet: cloud provider "aws" was specified/);
});

root.test('no words and no document make it throw', async (t) => {
  const names = flagTable.map(({ name }) => `--${name}`);
  const word = fc.oneof(
    fc.string(),
    fc.constantFrom(...names),
    fc
      .tuple(
        fc.constantFrom(...names, '-v', '-h'),
        fc.constantFrom('=', ''),
        fc.oneof(fc.string(), fc.constantFrom('a=b,c', '0:memory=1Gi;', 'a:NoSchedule', '1h', 'true', '"a,b"', '__proto__=true')),
      )
      .map((parts) => parts.join('')),
  );
  const isAnswer = (result: LoadResult): boolean => ['loaded', 'refused', 'help', 'version'].includes(result.kind);
  const words = (): void =>
    fc.assert(
      fc.property(fc.array(word, { maxLength: 6 }), (args) => isAnswer(loadConfiguration(args, sourceOf(header), { cgroupVersion: 2 }))),
      { numRuns: 1500 },
    );
  t.doesNotThrow(words);
  const field = fc.constantFrom(...settingRows.map(({ path }) => path));
  const value = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constantFrom('1h', '1Gi', 'none', 1n << 70n, -1, 5.5, ['pods'], { memory: '1Gi' }, [{ key: 'a' }], { __proto__: null }));
  const documents = (): void =>
    fc.assert(
      fc.property(fc.array(fc.tuple(field, value), { maxLength: 5 }), (entries) => {
        const document: Record<string, unknown> = { apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration' };
        for (const [[first, ...rest], given] of entries) document[first as string] = rest.reduceRight<unknown>((below, key) => ({ [key]: below }), given);
        const file: ConfigurationFile = { ok: true, path: '/c', text: 'x', parsed: { ok: true, format: 'json', value: document as never, duplicateKeys: [] } };
        return isAnswer(
          loadConfiguration(['--config=/c', '--config-dir=/d'], { readFile: () => file, readDropIns: () => ({ files: [file], skipped: [], error: null }) }, { cgroupVersion: 2 }),
        );
      }),
      { numRuns: 1500 },
    );
  t.doesNotThrow(documents);
});
