// Admission beyond the vectors: nothing is overcommitted, preemption frees enough, and the traps of selectors, tolerations and kernel parameters.
import fc from 'fast-check';
import t from 'tap';
import { rejected, rejectionMetricLabel, rejectionStatusMessage } from '../../src/domain/admission/admission-result.js';
import { featuresNeeded, featuresNeededByUpdate } from '../../src/domain/admission/needed-features.js';
import { shortages } from '../../src/domain/admission/node-resources.js';
import { admitAppArmor, admitDeclaredFeatures, admitPodLevelResources, missingFeatures } from '../../src/domain/admission/node-support.js';
import { admitByPredicates } from '../../src/domain/admission/predicates.js';
import { admitUnderPressure } from '../../src/domain/admission/pressure-gate.js';
import { parseSysctlAllowlist, safeSysctlNames } from '../../src/domain/admission/sysctl-gate.js';
import { isPreemptable, podsToPreempt } from '../../src/domain/preemption/preemption.js';
import { podQosClass } from '../../src/domain/qos/qos-class.js';
import { matchesLabelRequirements } from '../../src/domain/values/label-requirement.js';
import { matchesLabelSelector } from '../../src/domain/values/label-selector.js';
import { matchesNodeAffinity, matchesNodeSelectorTerm } from '../../src/domain/values/node-affinity.js';
import { matchesFieldRequirements, parseFieldSelectorText, parseLabelSelectorText } from '../../src/domain/values/selector-text.js';
import { toleratesTaint, untoleratedTaint } from '../../src/domain/values/tolerations.js';
import type { Node } from '../../src/ports/model/node.js';
import type { NodeSelectorTerm, Pod, PodSpec } from '../../src/ports/model/pod.js';

let uid = 0;
function podRequesting(spec: Partial<PodSpec> & { requests?: Record<string, string>; limits?: Record<string, string> } = {}): Pod {
  const { requests = {}, limits, ...rest } = spec;
  uid++;
  return { metadata: { name: `p${uid}`, uid: `u${uid}` }, spec: { containers: [{ name: 'c', resources: { requests, ...(limits === undefined ? {} : { limits }) } }], ...rest } };
}

function node(allocatable: Record<string, string> = {}, over: Partial<Node> = {}): Node {
  return { metadata: { name: 'n1', labels: { zone: 'a' } }, status: { allocatable: { pods: '10', cpu: '4', memory: '1000', ...allocatable } }, ...over };
}

const amount = fc.nat(1500);
const requests = fc.record({ cpu: amount.map((milli) => `${milli}m`), memory: amount.map(String), 'vendor.io/gpu': fc.nat(3).map(String) }, { requiredKeys: [] });
const populations = fc.record({
  candidates: fc.array(fc.record({ requests, priority: fc.constantFrom(0, 5, 2_000_000_000) }), { maxLength: 14 }),
  pods: fc.integer({ min: 1, max: 8 }),
});

function total(pods: readonly Pod[], name: string): number {
  const texts = pods.map((item) => item.spec.containers[0]?.resources?.requests?.[name] ?? '0');
  return texts.reduce((sum, text) => sum + (text.endsWith('m') ? Number(text.slice(0, -1)) / 1000 : Number(text)), 0);
}

t.test('admitting pod after pod never overcommits the node, preempted pods counted out', async (t) => {
  const holds = fc.property(populations, ({ candidates, pods: podLimit }) => {
    const own = node({ pods: String(podLimit), 'vendor.io/gpu': '4' });
    let running: Pod[] = [];
    for (const { requests, priority } of candidates) {
      const candidate = podRequesting({ requests, priority });
      const result = admitByPredicates({ pod: candidate, otherPods: running, node: own });
      if (result.kind === 'read-node') return false;
      if (result.kind === 'rejected') continue;
      if (result.preempted.length > 0 && priority < 2_000_000_000) return false;
      if (result.preempted.some((victim) => (victim.spec.priority ?? 0) >= 2_000_000_000)) return false;
      running = [...running.filter((item) => !result.preempted.includes(item)), candidate];
      if (running.length > podLimit || total(running, 'cpu') > 4 || total(running, 'memory') > 1000 || total(running, 'vendor.io/gpu') > 4) return false;
    }
    return true;
  });
  t.doesNotThrow(() => fc.assert(holds, { numRuns: 500 }));
});

t.test('preemption frees enough or says what is missing, and takes no class while a lower one would do', async (t) => {
  const classes = fc.array(fc.record({ memory: fc.nat(300), kind: fc.constantFrom('BestEffort', 'Burstable', 'Guaranteed') }), { maxLength: 10 });
  const critical = podRequesting({ priority: 2_000_000_000 });
  const holds = fc.property(classes, fc.integer({ min: 1, max: 600 }), fc.nat(3), (items, memory, slots) => {
    const pods = items.map((item) => {
      if (item.kind === 'BestEffort') return podRequesting();
      const resources = { memory: String(item.memory + 1), cpu: '1' };
      return podRequesting(item.kind === 'Guaranteed' ? { requests: resources, limits: resources } : { requests: resources });
    });
    const result = podsToPreempt(critical, pods, [
      { resource: 'memory', amount: BigInt(memory) },
      { resource: 'pods', amount: BigInt(slots) },
    ]);
    const possible = total(pods, 'memory') >= memory && pods.length >= slots;
    if (!result.ok) return !possible && result.error.startsWith('preemption: error finding a set of pods to preempt: no set of running pods found to reclaim resources: [(res: ');
    if (!possible || new Set(result.victims).size !== result.victims.length) return false;
    if (total(result.victims, 'memory') < memory || result.victims.length < slots) return false;
    // Guaranteed pods go only for what all others together can't give.
    const others = pods.filter((item) => podQosClass(item) !== 'Guaranteed');
    const sparesGuaranteed = total(others, 'memory') >= memory && others.length >= slots;
    return !sparesGuaranteed || result.victims.every((item) => podQosClass(item) !== 'Guaranteed');
  });
  t.doesNotThrow(() => fc.assert(holds, { numRuns: 500 }));
});

t.test('what pods are killed for is the first resource that was short', async (t) => {
  const critical = (requests: Record<string, string>): Pod => podRequesting({ requests, priority: 2_000_000_000 });
  const running = podRequesting({ requests: { cpu: '3', memory: '900' } });
  const rows: readonly (readonly [sentence: string, Pod, string | null])[] = [
    ['there is room', critical({ cpu: '1' }), null],
    ['cpu', critical({ cpu: '3' }), 'cpu'],
    ['memory', critical({ memory: '200' }), 'memory'],
    ['cpu before memory', critical({ memory: '200', cpu: '3' }), 'cpu'],
  ];
  for (const [sentence, one, lacking] of rows) {
    const result = admitByPredicates({ pod: one, otherPods: [running], node: node() });
    t.match(result, { kind: 'admitted', lacking, preempted: lacking === null ? [] : [running] }, sentence);
  }
});

t.test('who may be killed for whom', async (t) => {
  const file = (item: Pod): Pod => ({ ...item, metadata: { ...item.metadata, annotations: { 'kubernetes.io/config.source': 'file' } } });
  const rows: readonly (readonly [string, Pod, Pod, boolean])[] = [
    ['critical for one without priority', podRequesting({ priority: 2_000_000_000 }), podRequesting(), true],
    ['a static pod for any', file(podRequesting()), podRequesting({ priority: 1_999_999_999 }), true],
    ['not a static pod for one of lower priority', podRequesting({ priority: 1 }), file(podRequesting({ priority: 0 })), true],
    ['equal priorities', podRequesting({ priority: 5 }), podRequesting({ priority: 5 }), false],
    ['no priority at all', podRequesting(), podRequesting({ priority: -5 }), false],
    ['critical for critical, lower', podRequesting({ priority: 2_000_001_000 }), podRequesting({ priority: 2_000_000_000 }), true],
    ['critical for critical, equal', podRequesting({ priority: 2_000_000_000 }), podRequesting({ priority: 2_000_000_000 }), false],
  ];
  for (const [sentence, preemptor, victim, expected] of rows) t.equal(isPreemptable(preemptor, victim), expected, sentence);
});

t.test('predicates', async (t) => {
  const elsewhere = podRequesting({ nodeSelector: { zone: 'b' } });
  t.match(admitByPredicates({ pod: elsewhere, otherPods: [], node: node() }), { kind: 'read-node' }, 'labels may be old');
  t.match(admitByPredicates({ pod: elsewhere, otherPods: [], node: node(), freshNode: null }), { reason: 'NodeAffinity' }, 'nobody could be asked');
  t.match(admitByPredicates({ pod: elsewhere, otherPods: [], node: node(), freshNode: node({}, { metadata: { name: 'n1', labels: { zone: 'b' } } }) }), { kind: 'admitted' });
  t.match(admitByPredicates({ pod: podRequesting(), otherPods: [], node: null }), { reason: 'InvalidNodeInfo', message: 'Kubelet cannot get node info.' });
  t.match(admitByPredicates({ pod: podRequesting({ requests: { 'vendor.io/gpu': '1' } }), otherPods: [], node: node() }), { kind: 'admitted' }, "not the node's resource");
  t.match(admitByPredicates({ pod: podRequesting({ requests: { 'vendor.io/gpu': '1' } }), otherPods: [], node: node({ 'vendor.io/gpu': '0' }) }), { reason: 'OutOfvendor.io/gpu' });
  const gone = {
    pod: podRequesting({ requests: { 'vendor.io/gpu': '1' } }),
    otherPods: [],
    node: node({ 'vendor.io/gpu': '0' }),
    allocatedDevices: new Map([['vendor.io/gpu', 1]]),
  };
  t.match(admitByPredicates(gone), { kind: 'admitted' }, 'a pod keeps the devices that it has');
  const ported = (hostIP: string, initRestart?: string): Pod => {
    const container = { name: 'x', ports: [{ containerPort: 80, hostPort: 80, ...(hostIP === '' ? {} : { hostIP }) }] };
    return initRestart === undefined
      ? podRequesting({ containers: [container] })
      : podRequesting({ initContainers: [{ ...container, ...(initRestart === '' ? {} : { restartPolicy: initRestart }) }] });
  };
  const ports: readonly (readonly [string, Pod, Pod, free: boolean])[] = [
    ['wildcard against an address', ported('127.0.0.1'), ported(''), false],
    ['an address against the wildcard', ported('0.0.0.0'), ported('127.0.0.1'), false],
    ['two addresses', ported('127.0.0.1'), ported('10.0.0.1'), true],
    ['the IPv6 wildcard is an address', ported('::'), ported('10.0.0.1'), true],
    ['a plain init container', ported('', ''), ported(''), true],
    ['a sidecar', ported('', 'Always'), ported(''), false],
  ];
  for (const [sentence, candidate, other, free] of ports) {
    t.match(admitByPredicates({ pod: candidate, otherPods: [other], node: node() }), free ? { kind: 'admitted' } : { reason: 'NodePorts' }, sentence);
  }
  const others = [ported('127.0.0.1'), ported('10.0.0.1')];
  t.match(admitByPredicates({ pod: ported('127.0.0.1'), otherPods: others, node: node() }), { reason: 'NodePorts' }, 'of two pods with one port, the first');
  t.match(admitByPredicates({ pod: ported('10.0.0.2'), otherPods: others, node: node() }), { kind: 'admitted' }, 'and neither');
  const wants = { 'vendor.io/b': '1', 'vendor.io/a': '1', 'no-such': '1', memory: '999Ti' };
  t.strictSame(
    shortages(podRequesting({ requests: wants }), new Map(), new Map()).map(({ resource }) => resource),
    ['pods', 'memory', 'vendor.io/a', 'vendor.io/b'],
    'in order, and no name that nodes do not count',
  );
  const both = podRequesting({ priority: 2_000_000_000, requests: { cpu: '5' }, nodeName: 'other' });
  t.match(
    admitByPredicates({ pod: both, otherPods: [podRequesting({ requests: { cpu: '4' } })], node: node() }),
    { reason: 'NodeName' },
    'nobody is killed for a pod that is refused anyway',
  );
});

t.test('node affinity: expressions that are not well formed match nothing, and neither do their negations', async (t) => {
  const labels = { zone: 'a', cores: '8', empty: '' };
  const expression = (key: string, operator: string, values?: string[]): NodeSelectorTerm => ({
    matchExpressions: [{ key, operator, ...(values === undefined ? {} : { values }) }],
  });
  const rows: readonly (readonly [NodeSelectorTerm, boolean])[] = [
    [{}, false],
    [{ matchExpressions: [], matchFields: [] }, false],
    [expression('zone', 'In', ['b', 'a']), true],
    [expression('zone', 'In', []), false],
    [expression('zone', 'NotIn', []), false],
    [expression('gone', 'NotIn', ['a']), true],
    [expression('zone', 'Exists', ['a']), false],
    [expression('gone', 'DoesNotExist'), true],
    [expression('toString', 'Exists'), false],
    [expression('cores', 'Gt', ['7']), true],
    [expression('cores', 'Gt', ['8']), false],
    [expression('cores', 'Lt', ['8.5']), false],
    [expression('zone', 'Gt', ['1']), false],
    [expression('empty', 'In', ['']), true],
    [expression('zone', 'in', ['a']), false],
    [expression('bad key', 'DoesNotExist'), false],
    [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n1'] }] }, true],
    [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n1', 'n2'] }] }, false],
    [{ matchFields: [{ key: 'metadata.name', operator: 'NotIn', values: ['n2'] }] }, true],
    [{ matchFields: [{ key: 'metadata.uid', operator: 'In', values: ['n1'] }] }, false],
    [{ ...expression('zone', 'In', ['a']), matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n2'] }] }, false],
  ];
  for (const [term, expected] of rows) t.equal(matchesNodeSelectorTerm(term, 'n1', labels), expected, JSON.stringify(term));
  const required = (nodeSelectorTerms: NodeSelectorTerm[]): Pod =>
    podRequesting({ affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } } });
  t.equal(matchesNodeAffinity(required([]), 'n1', labels), false, 'an empty list');
  t.equal(matchesNodeAffinity(required([expression('gone', 'Exists'), expression('zone', 'Exists')]), 'n1', labels), true, 'terms are alternatives');
});

t.test('label selectors', async (t) => {
  t.equal(matchesLabelSelector(undefined, {}), false);
  t.equal(matchesLabelSelector({}, {}), true);
  t.equal(matchesLabelSelector({ matchLabels: { a: '1' }, matchExpressions: [{ key: 'b', operator: 'DoesNotExist' }] }, { a: '1' }), true);
  t.equal(matchesLabelSelector({ matchLabels: { a: '1' }, matchExpressions: [{ key: 'b', operator: 'DoesNotExist' }] }, { a: '1', b: '' }), false);
  t.equal(matchesLabelSelector({ matchExpressions: [{ key: 'a', operator: 'Unknown' }] }, { a: '1' }), false);
});

t.test('selectors as text', async (t) => {
  const labels: readonly (readonly [text: string, matches: Record<string, string>[], not: Record<string, string>[]])[] = [
    ['', [{}, { a: '1' }], []],
    ['a', [{ a: '' }], [{}]],
    ['!a', [{}], [{ a: '1' }]],
    ['a=1,b!=2', [{ a: '1' }, { a: '1', b: '3' }], [{ a: '1', b: '2' }, { b: '3' }]],
    ['a == 1', [{ a: '1' }], [{ a: '2' }]],
    ['x.io/a in (p, q),b notin(r)', [{ 'x.io/a': 'q' }], [{ 'x.io/a': 'q', b: 'r' }, { 'x.io/a': 'z' }]],
    ['a in (,p)', [{ a: '' }], [{}]],
    ['a=', [{ a: '' }], [{ a: '1' }]],
    ['a>3,a<5', [{ a: '4' }], [{ a: '5' }, {}]],
    ['in in (notin)', [{ in: 'notin' }], [{ in: 'in' }]],
  ];
  for (const [text, matching, others] of labels) {
    const parsed = parseLabelSelectorText(text);
    t.ok(parsed.ok, text);
    if (!parsed.ok) continue;
    for (const set of matching) t.equal(matchesLabelRequirements(parsed.value, set), true, `${text} ${JSON.stringify(set)}`);
    for (const set of others) t.equal(matchesLabelRequirements(parsed.value, set), false, `not ${text} ${JSON.stringify(set)}`);
  }
  for (const text of [',', 'a,', 'a b', 'a in', 'a in (', 'a in (b', 'a in b', '!', '!a=1', 'a>x', 'a>', 'a=(b)', '=a', 'a!', 'bad/key/name', '-a', 'a in (b c)']) {
    t.equal(parseLabelSelectorText(text).ok, false, JSON.stringify(text));
  }
  const fields: readonly (readonly [text: string, matches: boolean])[] = [
    ['', true],
    ['spec.nodeName=n1', true],
    ['spec.nodeName==n1,metadata.name!=x', true],
    ['spec.nodeName!=n1', false],
    ['metadata.name=a\\,b\\=c\\\\', true],
    ['status.phase=', true],
    ['status.phase!=', false],
  ];
  for (const [text, expected] of fields) {
    const parsed = parseFieldSelectorText(text);
    t.ok(parsed.ok, text);
    if (parsed.ok) t.equal(matchesFieldRequirements(parsed.value, { 'spec.nodeName': 'n1', 'metadata.name': 'a,b=c\\' }), expected, text);
  }
  for (const text of ['spec.nodeName', 'a=b=c', 'a=\\x', 'a=b\\']) t.equal(parseFieldSelectorText(text).ok, false, text);
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('a', '=', '!', ',', '(', ')', ' ', '>', 'in', '\\', 'notin') }), (text) => {
        parseLabelSelectorText(text);
        parseFieldSelectorText(text);
      }),
    ),
  );
});

t.test('tolerations', async (t) => {
  const taint = { key: 'k', value: 'v', effect: 'NoExecute' };
  const rows: readonly (readonly [object, boolean])[] = [
    [{ operator: 'Exists' }, true],
    [{ key: 'k', operator: 'Exists' }, true],
    [{ key: 'k', value: 'v' }, true],
    [{ key: 'k', operator: 'Equal', value: 'w' }, false],
    [{ key: 'k', value: 'v', effect: 'NoSchedule' }, false],
    [{ key: 'k', operator: 'Gt', value: '0' }, false],
    [{}, false],
  ];
  for (const [toleration, expected] of rows) t.equal(toleratesTaint(toleration, taint), expected, JSON.stringify(toleration));
  t.equal(untoleratedTaint([{ ...taint, effect: 'NoSchedule' }], [], ['NoExecute']), null, 'other effects are the scheduler’s');
  t.equal(untoleratedTaint([taint], [{ key: 'k', value: 'v', effect: 'NoExecute', tolerationSeconds: 1 }], ['NoExecute']), null);
  t.match(admitUnderPressure(podRequesting(), ['MemoryPressure', 'DiskPressure']), { reason: 'Evicted', message: 'The node had condition: [MemoryPressure DiskPressure]. ' });
});

t.test('kernel parameters', async (t) => {
  t.equal(safeSysctlNames('6.1.90-cos').length, 12);
  t.strictSame(
    safeSysctlNames('4.5.0').filter((name) => name.includes('tcp_')),
    ['net.ipv4.tcp_syncookies', 'net.ipv4.tcp_keepalive_time', 'net.ipv4.tcp_keepalive_intvl', 'net.ipv4.tcp_keepalive_probes'],
  );
  t.equal(safeSysctlNames('').length, 5, 'an unknown kernel');
  t.match(parseSysctlAllowlist(['net*']), { ok: false, error: 'the sysctls "net" are not known to be namespaced' });
  t.match(parseSysctlAllowlist(['kernel.sem*']), { ok: true });
  t.match(parseSysctlAllowlist(['*']), { ok: false });
});

t.test('what the host supports', async (t) => {
  const problem = 'AppArmor is not enabled on the host';
  const refused = { reason: 'AppArmor', message: 'Cannot enforce AppArmor: AppArmor is not enabled on the host' };
  const annotated = (value: string): Pod => ({ ...podRequesting(), metadata: { name: 'a', annotations: { 'container.apparmor.security.beta.kubernetes.io/c': value } } });
  const rows: readonly (readonly [string, Pod, object])[] = [
    ['nothing asked for', podRequesting(), { kind: 'admitted' }],
    ['unconfined', podRequesting({ securityContext: { appArmorProfile: { type: 'Unconfined' } } }), { kind: 'admitted' }],
    ['of the pod', podRequesting({ securityContext: { appArmorProfile: { type: 'RuntimeDefault' } } }), refused],
    ['of an init container', podRequesting({ initContainers: [{ name: 'i', securityContext: { appArmorProfile: { type: 'RuntimeDefault' } } }] }), refused],
    ['by annotation', annotated('runtime/default'), refused],
    ['unconfined by annotation', annotated('unconfined'), { kind: 'admitted' }],
    ['running already', { ...annotated('runtime/default'), status: { phase: 'Running' } }, { kind: 'admitted' }],
  ];
  for (const [sentence, item, expected] of rows) t.match(admitAppArmor(item, problem), expected, sentence);
  t.match(admitAppArmor(annotated('runtime/default'), null), { kind: 'admitted' }, 'the host can');
  const podLevel = podRequesting({ resources: { limits: { cpu: '1' } } });
  t.match(admitPodLevelResources(podLevel, false), { reason: 'PodLevelResourcesNotSupported', message: 'PodLevelResources feature gate is disabled' });
  t.match([admitPodLevelResources(podLevel, true), admitPodLevelResources(podRequesting(), false)], [{ kind: 'admitted' }, { kind: 'admitted' }]);
  t.equal(missingFeatures(['b', 'a', 'c'], ['c']), 'Pod requires node features that are not available: a, b');
  t.strictSame([missingFeatures(['a'], ['a', 'b']), missingFeatures([], []), missingFeatures(['a'], null)], [null, null, null]);
});

t.test('features that a node must declare', async (t) => {
  const rule = { restartPolicy: 'Never', restartPolicyRules: [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [1] } }] };
  const restart = 'RestartAllContainersOnContainerExits';
  const rows: readonly (readonly [string, Partial<Pod['spec']>, readonly string[]])[] = [
    ['nothing', {}, []],
    ['a rule of a container', { containers: [{ name: 'c', image: 'i', ...rule }] } as Partial<Pod['spec']>, [restart]],
    ['a rule of an init container', { initContainers: [{ name: 'c', image: 'i', ...rule }] } as Partial<Pod['spec']>, [restart]],
    ['users of its own', { hostUsers: false }, []],
    ['users of its own on the host’s network', { hostUsers: false, hostNetwork: true }, ['UserNamespacesHostNetworkSupport']],
    ['the host’s users and network', { hostUsers: true, hostNetwork: true }, []],
  ];
  for (const [sentence, spec, needed] of rows) {
    const asking = podRequesting(spec);
    t.strictSame(featuresNeeded(asking), needed, sentence);
    const message = `Pod requires node features that are not available: ${needed.join(', ')}`;
    t.match(admitDeclaredFeatures(asking, []), needed.length === 0 ? { kind: 'admitted' } : { kind: 'rejected', reason: 'PodFeatureUnsupported', message }, sentence);
    t.match([admitDeclaredFeatures(asking, needed), admitDeclaredFeatures(asking, null)], [{ kind: 'admitted' }, { kind: 'admitted' }], sentence);
  }
});

t.test('features that a change of a pod needs', async (t) => {
  const of = (cpu: string): { readonly requests: Record<string, string> } => ({ requests: { cpu } });
  const init = (cpu: string, sidecar = false) => ({ initContainers: [{ name: 'i', image: 'i', resources: of(cpu), ...(sidecar ? { restartPolicy: 'Always' } : {}) }] });
  const rows: readonly (readonly [string, Partial<Pod['spec']>, Partial<Pod['spec']>, readonly string[]])[] = [
    ['none', {}, {}, []],
    ['the same amount, written otherwise', { resources: of('1') }, { resources: of('1000m') }, []],
    ['the pod as a whole', { resources: of('1') }, { resources: of('2') }, ['InPlacePodLevelResourcesVerticalScaling']],
    ['the pod as a whole, for the first time', {}, { resources: of('2') }, ['InPlacePodLevelResourcesVerticalScaling']],
    ['an init container', init('1'), init('2'), ['InPlacePodVerticalScalingInitContainers']],
    ['a sidecar', init('1', true), init('2', true), []],
    ['an image', init('1'), { initContainers: [{ ...init('1').initContainers[0], name: 'i', image: 'j' }] }, []],
  ];
  for (const [sentence, before, after, needed] of rows) t.strictSame(featuresNeededByUpdate(podRequesting(before), podRequesting(after)), needed, sentence);
});

t.test('labels of the metric are few', async (t) => {
  const rows = [
    ['OutOfcpu', 'OutOfcpu'],
    ['OutOfvendor.io/gpu', 'OutOfExtendedResources'],
    ['NodeAffinity', 'Other'],
    ['TaintToleration', 'Other'],
    ['Evicted', 'Evicted'],
  ] as const;
  for (const [reason, label] of rows) t.equal(rejectionMetricLabel(reason), label);
  t.equal(rejectionStatusMessage(rejected('NodeShutdown', 'Why.')), 'Pod was rejected: Why.');
});
