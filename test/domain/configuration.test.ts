// KubeletConfiguration beyond the golden vectors: precedence, decoding of documents, validation rules, startup.
import root from 'tap';
import { actedOn, unusedSettings } from '../../src/domain/configuration/acted-on.js';
import { readDraft, showConfiguration } from '../../src/domain/configuration/draft.js';
import { loadConfiguration } from '../../src/domain/configuration/load-configuration.js';
import { valueAt } from '../../src/domain/configuration/schema.js';
import { labelValueProblems, qualifiedNameProblems } from '../../src/domain/values/dns-names.js';
import { header, load, type Situation, sourceOf } from './configuration-situations.js';

type Expectation = { readonly shows: Record<string, unknown> } | { readonly fails: string };

/** The assertions that the rows below use. */
type Assertions = Pick<typeof root, 'equal' | 'strictSame'>;

function check(t: Assertions, name: string, situation: Situation, wanted: Expectation): void {
  const got = load(situation);
  if ('fails' in wanted) {
    t.equal(got.kind === 'refused' ? got.error : got.kind, wanted.fails, name);
    return;
  }
  t.equal(got.kind === 'refused' ? got.error : got.kind, 'loaded', name);
  if (got.kind !== 'loaded') return;
  const shown = showConfiguration(got.configuration);
  for (const [path, value] of Object.entries(wanted.shows)) t.strictSame(valueAt(shown, path.split('.')), value, `${name}: ${path}`);
}

const refused = 'failed to validate kubelet configuration, error: ';
const invalid = `${refused}invalid configuration: `;

function bothInvalid(first: string, second: string): string {
  return `${refused}[invalid configuration: ${first}, invalid configuration: ${second}]`;
}

const precedence: readonly (readonly [string, Situation, Expectation])[] = [
  ['no file is open to everyone', {}, { shows: { 'authentication.anonymous.enabled': true, 'authorization.mode': 'AlwaysAllow', readOnlyPort: 10255, evictionHard: null } }],
  ['a file is closed', { file: '' }, { shows: { 'authentication.anonymous.enabled': false, 'authorization.mode': 'Webhook', readOnlyPort: null } }],
  ['drop-ins without a file start from the open defaults', { dropIns: [''] }, { shows: { 'authorization.mode': 'AlwaysAllow', readOnlyPort: 10255 } }],
  ['a later drop-in wins', { file: 'maxPods: 1\n', dropIns: ['maxPods: 2\n', 'maxPods: 3\n'] }, { shows: { maxPods: 3 } }],
  ['a flag wins over a drop-in', { file: '', dropIns: ['maxPods: 2\n'], flags: ['--max-pods=9'] }, { shows: { maxPods: 9 } }],
  [
    'maps of drop-ins merge',
    { file: 'kubeReserved: {memory: 1Gi, cpu: 200m}\n', dropIns: ['kubeReserved: {memory: 2Gi}\n'] },
    { shows: { kubeReserved: { cpu: '200m', memory: '2Gi' } } },
  ],
  [
    'null takes one key out',
    { file: '', dropIns: ['evictionHard: {memory.available: null}\n'] },
    { shows: { evictionHard: { 'imagefs.available': '15%', 'imagefs.inodesFree': '5%', 'nodefs.available': '10%', 'nodefs.inodesFree': '5%' } } },
  ],
  [
    'null takes a structure back to its defaults',
    { file: 'authentication: {anonymous: {enabled: true}}\n', dropIns: ['authentication: null\n'] },
    { shows: { 'authentication.anonymous.enabled': false } },
  ],
  ['an empty list of the file stays', { file: 'enforceNodeAllocatable: []\n' }, { shows: { enforceNodeAllocatable: null } }],
  ['but not through a drop-in directory', { file: 'enforceNodeAllocatable: []\n', dropIns: [] }, { shows: { enforceNodeAllocatable: ['pods'] } }],
  ['an empty list of a drop-in stays', { file: '', dropIns: ['enforceNodeAllocatable: []\n'] }, { shows: { enforceNodeAllocatable: null } }],
  ['evictionHard {} asks for none, also through drop-ins', { file: 'evictionHard: {}\n', dropIns: [] }, { shows: { evictionHard: null } }],
  [
    'defaults are merged for the file only',
    { file: 'evictionHard: {pid.available: 5%}\n', dropIns: ['mergeDefaultEvictionSettings: true\n'] },
    { shows: { evictionHard: { 'pid.available': '5%' } } },
  ],
  [
    'map flags replace, gates merge',
    { file: 'systemReserved: {cpu: 1m}\nfeatureGates: {MemoryQoS: true}\n', flags: ['--system-reserved=memory=1Gi', '--feature-gates=QOSReserved=true'] },
    { shows: { systemReserved: { memory: '1Gi' }, featureGates: { MemoryQoS: true, QOSReserved: true } } },
  ],
  ['an empty map flag clears', { file: 'evictionHard: {memory.available: 1Gi}\n', flags: ['--eviction-hard='] }, { shows: { evictionHard: null } }],
  [
    'patterns of --vmodule are added',
    { file: 'logging: {vmodule: [{filePattern: a, verbosity: 1}]}\n', flags: ['--vmodule=b=2,,c=3'] },
    {
      shows: {
        'logging.vmodule': [
          { filePattern: 'a', verbosity: 1 },
          { filePattern: 'b', verbosity: 2 },
          { filePattern: 'c', verbosity: 3 },
        ],
      },
    },
  ],
  [
    'the number form of the flush frequency survives drop-ins',
    { file: 'logging: {flushFrequency: 7000000000}\n', dropIns: [''] },
    { shows: { 'logging.flushFrequency': 7_000_000_000 } },
  ],
  [
    'optional structures survive drop-ins',
    { file: 'userNamespaces: {}\ntracing: {}\nsingleProcessOOMKill: true\n', dropIns: [''] },
    { shows: { userNamespaces: {}, tracing: {}, singleProcessOOMKill: true } },
  ],
  ['defaults that follow other settings are set before the flags', { flags: ['--node-status-update-frequency=20s'] }, { shows: { nodeStatusReportFrequency: '5m0s' } }],
  ['serial pulls follow parallel ones', { file: 'maxParallelImagePulls: 1\n' }, { shows: { serializeImagePulls: true } }],
  ['negative pid limits are one', { file: 'podPidsLimit: -7\n' }, { shows: { podPidsLimit: -1 } }],
  [
    'quantities are canonical',
    { file: 'reservedMemory: [{numaNode: 0, limits: {memory: 1024Mi, hugepages-2Mi: 4194304}}]\n' },
    { shows: { reservedMemory: [{ numaNode: 0, limits: { 'hugepages-2Mi': '4194304', memory: '1Gi' } }] } },
  ],
  ['durations are canonical', { file: 'syncFrequency: 1.5h\nimageMinimumGCAge: 90000ms\n' }, { shows: { syncFrequency: '1h30m0s', imageMinimumGCAge: '1m30s' } }],
  [
    'relative paths of the file, not of drop-ins',
    { file: 'resolvConf: ../r\nstaticPodPath: m/\n', dropIns: ['tlsCertFile: c\n'] },
    { shows: { resolvConf: '/etc/r', staticPodPath: '/etc/k/m', tlsCertFile: 'c' } },
  ],
  ['an absolute path is left as it is', { file: 'staticPodPath: /a//b\n' }, { shows: { staticPodPath: '/a//b' } }],
  [
    'switched-off gates have no default that needs them',
    { file: 'featureGates: {AllBeta: false}\n' },
    { shows: { crashLoopBackOff: {}, imagePullCredentialsVerificationPolicy: null } },
  ],
];

root.test('what wins', async (t) => {
  for (const [name, situation, wanted] of precedence) check(t, name, situation, wanted);
});

const documents: readonly (readonly [string, string, string | null])[] = [
  ['unknown fields in lists', `${header}registerWithTaints: [{key: a, effect: NoSchedule, foo: 1}]\n`, 'strict decoding error: unknown field "registerWithTaints[0].foo"'],
  [
    'a repeated field of JSON is named once',
    '{"apiVersion":"kubelet.config.k8s.io/v1beta1","kind":"KubeletConfiguration","port":1,"port":2,"port":3}',
    'strict decoding error: duplicate field "port"',
  ],
  [
    'repeated unknown fields of JSON are unknown',
    '{"apiVersion":"kubelet.config.k8s.io/v1beta1","kind":"KubeletConfiguration","x":1,"x":2}',
    'strict decoding error: unknown field "x"',
  ],
  [
    'every repeated line of YAML',
    `${header}port: 1\nport: 2\nport: 3\n`,
    'strict decoding error: yaml: unmarshal errors:\n  line 4: key "port" already set in map\n  line 5: key "port" already set in map',
  ],
  ['kind in another case', 'apiVersion: kubelet.config.k8s.io/v1beta1\nKind: KubeletConfiguration\n', 'strict decoding error: unknown field "Kind"'],
  ['exact', header, null],
];

root.test('lenient reading has a reason', async (t) => {
  for (const [name, text, warning] of documents) {
    const got = loadConfiguration(['--config=/c'], sourceOf(text), { cgroupVersion: 2 });
    t.equal(got.kind, 'loaded', name);
    if (got.kind === 'loaded') t.equal(got.strictDecodingError, warning, name);
  }
});

const badDocuments: readonly (readonly [string, string, RegExp])[] = [
  ['a list', '- a\n', /failed to decode: couldn't get version\/kind/],
  ['a comment', '# nothing\n', /Object 'Kind' is missing in '# nothing\n'/],
  ['a kind that is no text', 'kind: 5\n', /kind: it must be a string/],
  ['a version with too many parts', 'apiVersion: a/b/c\nkind: KubeletConfiguration\n', /unexpected GroupVersion string: a\/b\/c/],
  [
    'a record of pulled images',
    'apiVersion: kubelet.config.k8s.io/v1alpha1\nkind: ImagePulledRecord\n',
    /failed to cast object to KubeletConfiguration, unexpected type: kubelet\.config\.k8s\.io\/v1alpha1, Kind=ImagePulledRecord/,
  ],
  ['text for a number', `${header}maxPods: many\n`, /KubeletConfiguration\.maxPods of type int32/],
  ['a number for a truth', `${header}authentication: {webhook: {enabled: 1}}\n`, /KubeletConfiguration\.authentication\.webhook\.enabled of type bool/],
  ['a list for a structure', `${header}logging: []\n`, /KubeletConfiguration\.logging of type object/],
  ['a number for a duration', `${header}shutdownGracePeriod: 30\n`, /KubeletConfiguration\.shutdownGracePeriod/],
  ['a bad quantity', `${header}reservedMemory: [{numaNode: 0, limits: {memory: x}}]\n`, /KubeletConfiguration\.reservedMemory\[0\]\.limits\.memory/],
  ['a bad time', `${header}registerWithTaints: [{key: a, timeAdded: soon}]\n`, /KubeletConfiguration\.registerWithTaints\[0\]\.timeAdded/],
  ['a negative verbosity', `${header}logging: {verbosity: -1}\n`, /KubeletConfiguration\.logging\.verbosity of type uint32/],
  ['a number too large', `${header}podPidsLimit: 9223372036854775808\n`, /KubeletConfiguration\.podPidsLimit of type int64/],
];

root.test('bad documents name the field', async (t) => {
  for (const [name, text, message] of badDocuments) {
    const got = loadConfiguration(['--config=/c'], sourceOf(text), { cgroupVersion: 2 });
    t.equal(got.kind, 'refused', name);
    if (got.kind === 'refused') t.match(got.error, message, name);
  }
});

const badDropIns: readonly (readonly [string, string, string])[] = [
  ['no version', 'kind: KubeletConfiguration\n', 'unknown apiVersion/kind: /, Kind=KubeletConfiguration'],
  ['another kind', 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: X\n', 'unknown apiVersion/kind: kubelet.config.k8s.io/v1beta1, Kind=X'],
  ['kind in another case', 'apiVersion: v1\nKind: X\n', "error: Object 'Kind' is missing in 'apiVersion: v1\nKind: X\n'"],
  ['a list', '- 1\n', "error: couldn't get version/kind"],
];

root.test('bad drop-ins name the file', async (t) => {
  for (const [name, text, message] of badDropIns) {
    const got = loadConfiguration(['--config-dir=/d'], sourceOf(header, [text]), { cgroupVersion: 2 });
    t.equal(got.kind, 'refused', name);
    if (got.kind === 'refused')
      t.ok(got.error.startsWith('failed to merge kubelet configs: ') && got.error.includes('/etc/k/d/0.conf') && got.error.includes(message), `${name}: ${got.error}`);
  }
});

const rules: readonly (readonly [string, Situation, Expectation])[] = [
  [
    'quota period without its gate',
    { file: 'featureGates: {CustomCPUCFSQuotaPeriod: false}\ncpuCFSQuotaPeriod: 10ms\n' },
    { fails: `${invalid}cpuCFSQuotaPeriod (--cpu-cfs-quota-period) {10ms} requires feature gate CustomCPUCFSQuotaPeriod` },
  ],
  ['the default period needs no gate', { file: 'featureGates: {CustomCPUCFSQuotaPeriod: false}\n' }, { shows: { cpuCFSQuotaPeriod: '100ms' } }],
  [
    'shutdown without its gate',
    { file: 'featureGates: {GracefulNodeShutdown: false, GracefulNodeShutdownBasedOnPodPriority: false, WindowsGracefulNodeShutdown: false}\nshutdownGracePeriod: 10s\n' },
    { fails: `${invalid}specifying shutdownGracePeriod or shutdownGracePeriodCriticalPods requires feature gate GracefulNodeShutdown` },
  ],
  [
    'a negative shutdown period breaks two rules',
    { file: 'shutdownGracePeriod: -1s\n' },
    {
      fails: bothInvalid('shutdownGracePeriodCriticalPods {0s} must be <= shutdownGracePeriod {-1s}', 'shutdownGracePeriod {-1s} must be either zero or otherwise >= 1 sec'),
    },
  ],
  [
    'fractions of a second',
    { file: 'crashLoopBackOff: {maxContainerRestartPeriod: 300.9s}\n' },
    { fails: `${invalid}CrashLoopBackOff.MaxContainerRestartPeriod (got: 300.9 seconds) must be set between 1s and 300s` },
  ],
  ['no runtime', { flags: ['--container-runtime-endpoint='] }, { fails: `${invalid}the containerRuntimeEndpoint was not specified or empty` }],
  [
    'a taint with a time',
    { file: "registerWithTaints: [{key: 'a b', effect: Never, timeAdded: '2026-01-02T03:04:05Z'}]\n" },
    { fails: 'failed to validate kubelet configuration, error: [invalid taint: {a b  Never 2026-01-02 03:04:05 +0000 UTC}, invalid configuration: taint.TimeAdded is not nil]' },
  ],
  ['enforcement of nothing needs no QoS cgroups', { file: 'enforceNodeAllocatable: []\ncgroupsPerQOS: false\n' }, { shows: { cgroupsPerQOS: false } }],
  ['none needs no QoS cgroups', { file: 'enforceNodeAllocatable: [none]\ncgroupsPerQOS: false\n' }, { shows: { cgroupsPerQOS: false } }],
  [
    'pod logs of a drop-in are not resolved',
    { file: '', dropIns: ['podLogsDir: ./logs\n'] },
    {
      fails: bothInvalid('pod logs path "./logs" must be absolute path', 'pod logs path "./logs" must be normalized'),
    },
  ],
  [
    'an image with a tag',
    { file: 'imagePullCredentialsVerificationPolicy: NeverVerifyAllowlistedImages\npreloadedImagesVerificationAllowlist: [registry.k8s.io/pause:3.10]\n' },
    { fails: `${invalid}invalid image pattern in \`preloadedImagesVerificationAllowlist\`: neither tag nor digest is accepted in an image reference: registry.k8s.io/pause:3.10` },
  ],
  [
    'a registry with a port',
    { file: 'imagePullCredentialsVerificationPolicy: NeverVerifyAllowlistedImages\npreloadedImagesVerificationAllowlist: [localhost:5000/a/b, "x/*"]\n' },
    { shows: { preloadedImagesVerificationAllowlist: ['localhost:5000/a/b', 'x/*'] } },
  ],
  [
    'everything of a registry',
    { file: 'imagePullCredentialsVerificationPolicy: NeverVerifyAllowlistedImages\npreloadedImagesVerificationAllowlist: ["/*"]\n' },
    { fails: `${invalid}invalid image pattern in \`preloadedImagesVerificationAllowlist\`: at least registry hostname is required` },
  ],
  [
    'spaces around a pattern',
    { file: 'imagePullCredentialsVerificationPolicy: NeverVerifyAllowlistedImages\npreloadedImagesVerificationAllowlist: [" a.io/b"]\n' },
    { fails: `${invalid}invalid image pattern in \`preloadedImagesVerificationAllowlist\`: leading/trailing spaces are not allowed:  a.io/b` },
  ],
  [
    'too many samples',
    { file: 'tracing: {samplingRatePerMillion: 1000001}\n' },
    {
      fails: `${refused}tracing.samplingRatePerMillion: Invalid value: 1000001: sampling rate per million must be less than or equal to one million`,
    },
  ],
  ['a collector by name', { file: 'tracing: {endpoint: collector.example:4317}\n' }, { shows: { 'tracing.endpoint': 'collector.example:4317' } }],
  [
    'patterns and JSON logs',
    { file: 'logging: {format: json, vmodule: [{filePattern: a, verbosity: 1}]}\n' },
    { fails: 'initialize logging: logging.vmodule: Forbidden: Only supported for text log format' },
  ],
  [
    'buffers are an alpha option',
    { file: 'logging: {options: {json: {infoBufferSize: 1Ki}}}\n' },
    { fails: 'initialize logging: logging.options.json.infoBufferSize: Forbidden: Feature LoggingAlphaOptions is disabled' },
  ],
  [
    'which its gate allows',
    { flags: ['--feature-gates=LoggingAlphaOptions=true', '--log-text-split-stream', '--log-text-info-buffer-size=1Ki'] },
    { shows: { 'logging.options.text': { splitStream: true, infoBufferSize: '1Ki' } } },
  ],
  [
    'cgroup v1 comes first of what depends on the host',
    { file: 'userNamespaces: {idsPerPod: 1}\n', cgroupVersion: 1 },
    {
      fails: `${refused}kubelet is configured to not run on a host using cgroup v1. cgroup v1 support is unsupported and will be removed in a future release`,
    },
  ],
  [
    'two gates',
    { flags: ['--feature-gates=Nope=true,NodeSwap=false'] },
    {
      fails: 'failed to set feature gates from initial flags-based config: [cannot set feature gate NodeSwap to false, feature is locked to true, unrecognized feature gate: Nope]',
    },
  ],
  [
    'a flag that takes away what the file needs',
    { file: 'featureGates: {ClusterTrustBundleProjection: true, ClusterTrustBundle: true}\n', flags: ['--feature-gates=ClusterTrustBundle=false'] },
    {
      fails:
        'failed to set feature gates from initial flags-based config: ClusterTrustBundleProjection is enabled, but depends on features that are disabled: [ClusterTrustBundle]',
    },
  ],
  [
    'labels and values',
    { flags: ['--node-labels=-a=-a'] },
    {
      fails: `failed to validate kubelet flags: invalid node labels: '-a' - ${[...qualifiedNameProblems('-a'), ...labelValueProblems('-a')].join(', ')}`,
    },
  ],
];

root.test('rules', async (t) => {
  for (const [name, situation, wanted] of rules) check(t, name, situation, wanted);
});

root.test('every setting survives being shown, read and filled', async (t) => {
  const loaded = load({ file: '' });
  if (loaded.kind !== 'loaded') throw new Error('the empty file must load');
  const shown = showConfiguration(loaded.configuration);
  const again = readDraft(shown);
  t.ok(again.ok && again.unknownFields.length === 0);
  t.strictSame(loadConfiguration(['--config=/c'], sourceOf(JSON.stringify(shown)), { cgroupVersion: 2 }), { ...loaded, options: { ...loaded.options, config: '/c' } });
  t.strictSame(unusedSettings(loaded.configuration, true), []);
  t.strictSame(
    unusedSettings({ ...loaded.configuration, maxPods: 7 }, true).filter((name) => !actedOn.has('maxPods') || name !== 'maxPods'),
    actedOn.has('maxPods') ? [] : ['maxPods'],
  );
});
