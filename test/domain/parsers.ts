// Every reader of the domain that is given texts from outside, with seeds for spoiling them.
import { parseSysctlAllowlist } from '../../src/domain/admission/sysctl-gate.js';
import { parseCgroupPath } from '../../src/domain/cgroups/cgroup-name.js';
import { podUidOfCgroupPath } from '../../src/domain/cgroups/pod-cgroup-name.js';
import { decodeAllocateResponse } from '../../src/domain/checkpoints/allocate-response.js';
import { readCpuCheckpoint } from '../../src/domain/checkpoints/cpu-checkpoint.js';
import { readDeviceCheckpoint } from '../../src/domain/checkpoints/device-checkpoint.js';
import { readDraCheckpoint, readDraHealth } from '../../src/domain/checkpoints/dra-checkpoint.js';
import { readMemoryCheckpoint } from '../../src/domain/checkpoints/memory-checkpoint.js';
import { readPodResourcesCheckpoint } from '../../src/domain/checkpoints/pod-resources-checkpoint.js';
import { readUserNamespace } from '../../src/domain/checkpoints/small-state-files.js';
import { readCsvLine } from '../../src/domain/configuration/csv-line.js';
import { allowlistPatternProblem } from '../../src/domain/configuration/image-pattern.js';
import { nodeLabelsProblem } from '../../src/domain/configuration/node-labels.js';
import { parseFlags } from '../../src/domain/configuration/parse-flags.js';
import { parseQosReserved, parseReservation } from '../../src/domain/configuration/startup-checks.js';
import { expand } from '../../src/domain/containers/env-expansion.js';
import { envFileValue } from '../../src/domain/containers/env-file.js';
import { parseCpuOptions } from '../../src/domain/cpu-manager/cpu-options.js';
import { parseResolvConf } from '../../src/domain/dns/resolv-conf.js';
import { evictionSignals } from '../../src/domain/eviction/signals.js';
import { parsePercentage, parseThreshold } from '../../src/domain/eviction/threshold-text.js';
import { parseEvictionThresholds } from '../../src/domain/eviction/thresholds.js';
import { readOomLine } from '../../src/domain/oom/oom-parser.js';
import { decodeManifest } from '../../src/domain/pod-sources/decode-manifest.js';
import { base64Decode } from '../../src/domain/values/base64.js';
import { logLineParserFor, parseCriLogLine, parseDockerLogLine } from '../../src/domain/values/container-log-line.js';
import { parseCpuSet } from '../../src/domain/values/cpu-set.js';
import { labelValueProblems, portNameProblems, qualifiedNameProblems } from '../../src/domain/values/dns-names.js';
import { parseDuration, parseGoDuration } from '../../src/domain/values/go-duration.js';
import { goQuote, parseGoAtoi, parseGoBool, parseGoInt, parseGoUint } from '../../src/domain/values/go-text.js';
import { normalizeImageName } from '../../src/domain/values/image-name.js';
import { effectiveImageTag, parseImageReference } from '../../src/domain/values/image-reference.js';
import { parseIp } from '../../src/domain/values/ip-address.js';
import { parseKmsgRecord } from '../../src/domain/values/kmsg-record.js';
import { matchesLabelRequirement } from '../../src/domain/values/label-requirement.js';
import { parseContainerId, parsePodFullName } from '../../src/domain/values/pod-references.js';
import { parseQuantity, parseQuantityJson, quantityMilliValue, quantityText, quantityValue } from '../../src/domain/values/quantity.js';
import { parseFieldSelectorText, parseLabelSelectorText } from '../../src/domain/values/selector-text.js';
import { cleanPath } from '../../src/domain/values/slash-paths.js';
import { parseRfc3339 } from '../../src/domain/values/time.js';
import { toleratesTaint } from '../../src/domain/values/tolerations.js';
import { isValidUtf8, utf8Decode, utf8Encode } from '../../src/domain/values/utf8.js';
import type { Parser } from './parser-fuzz.js';

const container =
  '{"name":"c","image":"nginx:1","ports":[{"containerPort":80}],"resources":{"requests":{"cpu":"1"}},"env":[{"name":"A","value":"b"}],' +
  '"volumeMounts":[{"name":"v","mountPath":"/v"}],"livenessProbe":{"httpGet":{"port":80}}}';
const manifest =
  `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","labels":{"a":"b"},"annotations":{"x":"y"}},"spec":{"containers":[${container}],` +
  '"volumes":[{"name":"v","emptyDir":{"sizeLimit":"1Gi"}}],"tolerations":[{"key":"a","operator":"Exists"}],"hostAliases":[{"ip":"10.0.0.1","hostnames":["a"]}],' +
  '"terminationGracePeriodSeconds":30,"affinity":{"nodeAffinity":{}}}}';
const criLine = '2026-01-01T00:00:00.123456789Z stdout F hello\n';
const dockerLine = '{"log":"hello\\n","stream":"stderr","time":"2026-01-01T00:00:00Z"}\n';
const kmsgLine = '6,339,5140900,-;NET: Registered protocol family 10\n SUBSYSTEM=pci\n';
const oomLines = [
  'oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=c1,mems_allowed=0,oom_memcg=/kubepods/pod1,task_memcg=/kubepods/pod1/c1,task=stress,pid=13536,uid=0',
  'Task in /kubepods/pod1/c1 killed as a result of limit of /kubepods/pod1',
  'Killed process 13536 (stress) total-vm:1kB',
];
const context = { nodeName: 'node-1', origin: { kind: 'file', path: '/m/a.yaml' }, preventApiReferences: true } as const;
const eviction = { evictionSoft: {}, evictionMinimumReclaim: {}, enforceNodeAllocatable: [] };

/** A JSON text where it is one; else the text itself, which is a value, too. */
function plainValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function checkQuantity(text: string): void {
  const parsed = parseQuantity(text);
  if (!parsed.ok) return;
  const again = parseQuantity(quantityText(parsed.quantity));
  if (!again.ok || quantityValue(again.quantity) !== quantityValue(parsed.quantity) || quantityMilliValue(again.quantity) !== quantityMilliValue(parsed.quantity)) {
    throw new Error(`quantity ${text} is written as ${quantityText(parsed.quantity)}`);
  }
}

export const parsers: readonly Parser[] = [
  { name: 'quantity', seeds: ['1500m', '2Gi', '1e3', '-0.5Ki', '12345678901234567890', '1.000000001', '5E', '1E-3'], parse: checkQuantity },
  { name: 'quantity in JSON', seeds: ['"1500m"', '5', 'null', '" 2Gi "'], parse: parseQuantityJson },
  { name: 'cpuset', seeds: ['0-3,5', '0-255', '1,2,3', '70000-70100,5'], parse: parseCpuSet },
  { name: 'label selector', seeds: ['a=b,c!=d', 'a in (b,c),!d', 'x.io/y notin (z)', 'a,b>5'], parse: parseLabelSelectorText },
  { name: 'field selector', seeds: ['spec.nodeName=a,status.phase!=b', 'a=b\\,c'], parse: parseFieldSelectorText },
  {
    name: 'selector requirement',
    seeds: ['example.com/key\nIn\na\nb', 'key\nGt\n5', 'key\nExists', 'a\nNotIn\nb'],
    parse: (text) => {
      const [key = '', operator = '', ...values] = text.split('\n');
      return matchesLabelRequirement({ key, operator, values }, { [key]: values[0] ?? '' });
    },
  },
  { name: 'names', seeds: ['example.com/key', 'web', 'a.b-c_d'], parse: (text) => [qualifiedNameProblems(text), labelValueProblems(text), portNameProblems(text)] },
  {
    name: 'toleration and taint',
    seeds: ['a\nEqual\nb\nNoSchedule', '\nExists\n\n'],
    parse: (text) => {
      const [key = '', operator = '', value = '', effect = ''] = text.split('\n');
      return toleratesTaint({ key, operator, value, effect }, { key: effect, value: key, effect: value });
    },
  },
  { name: 'taints and other flags', seeds: flagSeeds(), parse: (text) => parseFlags(text.split('\n')) },
  {
    name: 'image reference',
    seeds: ['nginx', `registry.example.com:5000/a/b_c:v1.2@sha256:${'0123456789abcdef'.repeat(4)}`, '[::1]:5000/a', 'A/b'],
    parse: (text) => [parseImageReference(text), normalizeImageName(text), effectiveImageTag(text), allowlistPatternProblem(text)],
  },
  { name: 'manifest', seeds: [manifest], parse: (text) => decodeManifest(plainValue(text), context) },
  {
    name: 'threshold',
    seeds: ['100Mi', '15%', '-5%', '0.5e3%', '1Gi'],
    parse: (text) => [...evictionSignals.map((signal) => parseThreshold(signal, text)), parsePercentage(text)],
  },
  {
    name: 'thresholds',
    seeds: ['memory.available\n100Mi\n1m', 'nodefs.available\n15%\n1h'],
    parse: (text) => {
      const [signal = '', value = '', grace = ''] = text.split('\n');
      return parseEvictionThresholds({ ...eviction, evictionHard: { [signal]: value }, evictionSoft: { [signal]: value }, evictionSoftGracePeriod: { [signal]: grace } });
    },
  },
  { name: 'duration', seeds: ['1m30s', '-1.5h', '100ms', '9223372036854775807ns', '1µs'], parse: (text) => [parseDuration(text), parseGoDuration(text)] },
  { name: 'time', seeds: ['2026-01-01T00:00:00Z', '2024-02-29T23:59:60.123456789+01:30', '0001-01-01T00:00:00Z'], parse: parseRfc3339 },
  {
    name: 'log line',
    seeds: [criLine, dockerLine, '2026-01-01T00:00:00Z stderr P:x part\n'],
    parse: (text) => {
      const line = utf8Encode(text);
      return [parseCriLogLine(line), parseDockerLogLine(line), logLineParserFor(line)];
    },
  },
  { name: 'kernel log record', seeds: [kmsgLine, '6,1,2,-,caller=T1;x\\x0a'], parse: parseKmsgRecord },
  { name: 'OOM report', seeds: oomLines, parse: (text) => [readOomLine(null, text, 5), readOomLine({ taskCgroup: '/', limitCgroup: '/', constraint: '' }, text, 5)] },
  {
    name: 'integers and booleans',
    seeds: ['0x1F', '-5', 'true', '0b11', '1_000'],
    parse: (text) => [parseGoInt(text, 0, 64), parseGoAtoi(text), parseGoUint(text, 32), parseGoBool(text), goQuote(text)],
  },
  { name: 'address', seeds: ['10.0.0.1', '::ffff:1.2.3.4', 'fe80::1%eth0', '1:2:3:4:5:6:7:8'], parse: parseIp },
  { name: 'resolv.conf', seeds: ['nameserver 10.0.0.1\nsearch a b\noptions ndots:5\n'], parse: parseResolvConf },
  { name: 'environment file', seeds: ['A=b\n# c\nB=\'x y\'\nC="a\\nb"\n'], parse: (text) => [envFileValue(text, 'A'), envFileValue(text, 'C')] },
  { name: 'expansion', seeds: ['a $(B) $$(C) $(', '$(B)$(B)'], parse: (text) => expand(text, (name) => (name === 'B' ? text.slice(0, 50) : null)) },
  {
    name: 'cgroup path',
    seeds: ['/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1_2.slice', '/kubepods/burstable/pod1-2'],
    parse: (text) => [parseCgroupPath('systemd', text), parseCgroupPath('cgroupfs', text), podUidOfCgroupPath('systemd', '/', text)],
  },
  { name: 'comma-separated', seeds: ['a,"b,c",d', '"a""b"'], parse: readCsvLine },
  { name: 'sysctl patterns', seeds: ['net.core.*', 'kernel/shm*', 'net.ipv4.conf.eth0/1.x'], parse: (text) => parseSysctlAllowlist(text.split(',')) },
  { name: 'node labels', seeds: ['node.kubernetes.io/x', 'a/b', 'kubernetes.io/hostname'], parse: (text) => nodeLabelsProblem({ [text]: text }) },
  { name: 'reservations', seeds: ['cpu\n500m', 'memory\n10%', 'pid\n5'], parse: (text) => [parseReservation(pairOf(text)), parseQosReserved(pairOf(text))] },
  { name: 'CPU options', seeds: ['full-pcpus-only\ntrue'], parse: (text) => parseCpuOptions(pairOf(text), { alpha: true, beta: true }) },
  { name: 'container and pod names', seeds: ['containerd://abc', 'web_default'], parse: (text) => [parseContainerId(text), parsePodFullName(text), cleanPath(text)] },
  {
    name: 'state files',
    seeds: [
      '{"policyName":"static","defaultCpuSet":"0-3","entries":{"p":{"c":"1"}},"checksum":5}',
      '{"Data":{"PodDeviceEntries":[],"RegisteredDevices":{}},"Checksum":1}',
      '{"uidMappings":[{"hostId":1,"containerId":0,"length":65536}]}',
    ],
    parse: (text) => [
      ...[readCpuCheckpoint(text, new Map()), readDeviceCheckpoint(text), readMemoryCheckpoint(text), readPodResourcesCheckpoint(text)],
      ...[readDraCheckpoint(text), readDraHealth(text), readUserNamespace(text, 65_536)],
    ],
  },
  { name: 'bytes', seeds: ['aGVsbG8=', '\n\u0003A=b\u0012\u0004/dev', 'é😀'], parse: (text) => bytesOf(text) },
];

function bytesOf(text: string): unknown {
  const bytes = Uint8Array.from([...text], (character) => character.charCodeAt(0) & 0xff);
  return [base64Decode(text), decodeAllocateResponse(bytes), utf8Decode(bytes), isValidUtf8(bytes), utf8Encode(text)];
}

function pairOf(text: string): Readonly<Record<string, string>> {
  const [name = '', value = ''] = text.split('\n');
  return { [name]: value };
}

function flagSeeds(): string[] {
  return [
    '--register-with-taints=a=b:NoSchedule,c:NoExecute\n--node-labels=a=b',
    '--eviction-hard=memory.available<100Mi,nodefs.available<10%\n--eviction-soft-grace-period=memory.available=1m',
    '-v4\n--feature-gates=A=true,B=false\n--system-reserved=cpu=1',
    '--reserved-memory=0:memory=1Gi;1:memory=2Gi\n--cpu-manager-policy-options=full-pcpus-only=true\n--v\n5',
  ];
}
