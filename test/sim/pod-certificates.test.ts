// Projected volumes of pods' certificates: behind their gate, requested, mounted when they are issued, replaced in time; and the events of
// failures. The test is the signer.

import t from 'tap';
import { podCertificateStates } from '../../src/domain/pod-certificates/pod-certificates.js';
import { instantOf } from '../../src/domain/values/instant.js';
import { formatRfc3339 } from '../../src/domain/values/time.js';
import { utf8Decode } from '../../src/domain/values/utf8.js';
import type { Volume } from '../../src/ports/model/volume.js';
import type { ApiRequest, ApiResponse } from '../../src/sim/index.js';
import { minute, VolumeRun } from './volume-run.js';

t.setTimeout(120_000);

const second = 1_000_000;
const hour = 60 * minute;
const admin = { name: 'admin', groups: ['system:masters'] };
const resource = { group: 'certificates.k8s.io', version: 'v1beta1', plural: 'podcertificaterequests' };
const pem = (content: string) => `-----BEGIN CERTIFICATE-----\n${content}\n-----END CERTIFICATE-----\n`;
const source = { signerName: 'example.com/s', keyType: 'ED25519', credentialBundlePath: 'all.pem', keyPath: 'key.pem', certificateChainPath: 'chain.pem' };
const volumeOf = (more: object = {}): Volume => ({ name: 'v', projected: { defaultMode: 0o644, sources: [{ podCertificate: { ...source, ...more } }] } });
const gate = { settings: { podCertificateProjection: true } };

interface Request {
  readonly metadata: { readonly name: string; readonly ownerReferences?: readonly object[] };
  readonly spec: Readonly<Record<string, unknown>>;
  readonly status?: { readonly conditions?: readonly object[] };
}

function ask(run: VolumeRun, request: Partial<ApiRequest> & Pick<ApiRequest, 'verb' | 'name'>): ApiResponse {
  const common = { user: admin, resource, namespace: 'default', subresource: null } as const;
  return run.cluster.apiserver.handle({ ...common, ...request }, run.cluster.now);
}

function requests(run: VolumeRun): Request[] {
  return [...run.cluster.apiserver.store.all('podcertificaterequests.certificates.k8s.io')] as unknown as Request[];
}

const unanswered = (run: VolumeRun): Request[] => requests(run).filter(({ status }) => status === undefined);

/** Answers the one request that waits. */
function answer(run: VolumeRun, status: object): number {
  const [waiting] = unanswered(run);
  return ask(run, { verb: 'patch', name: waiting?.metadata.name ?? '', subresource: 'status', patch: 'merge-patch', body: { status } }).code;
}

function issue(run: VolumeRun, content: string, lifetime = 2 * hour): number {
  const at = (after: number) => formatRfc3339(instantOf(run.cluster.now + after));
  const conditions = [{ type: 'Issued', status: 'True', reason: 'R', message: 'm' }];
  const chain = `a word before\n-----BEGIN CERTIFICATE-----\n${content}\n-----END CERTIFICATE-----\n${pem('Q0E=')}`;
  return answer(run, { conditions, certificateChain: chain, notBefore: at(0), beginRefreshAt: at(lifetime / 2), notAfter: at(lifetime) });
}

function shown(run: VolumeRun, uid: string, name: string): string | null {
  const nodes = run.host.state.podDirectories.get(uid)?.volumes.get('kubernetes.io~projected/v')?.nodes;
  const data = nodes?.get('..data');
  const file = data?.kind === 'symlink' ? nodes?.get(`${data.target}/${name}`) : undefined;
  return file?.kind === 'file' ? utf8Decode(file.bytes) : null;
}

function states(run: VolumeRun): Record<string, number> {
  const certificates = run.cluster.node().agent.api?.podCertificates ?? new Map();
  return Object.fromEntries(
    podCertificateStates(certificates, { now: run.cluster.now, wall: instantOf(run.cluster.now) }).map(({ signerName, state, count }) => [`${signerName} ${state}`, count]),
  );
}

t.test('without the gate it is refused, and nothing is asked for', async (t) => {
  const run = new VolumeRun();
  run.pod('a', [volumeOf()]);
  run.until('it says so', () => run.said('a').length > 0);
  t.match(run.said('a')[0], /PodCertificate projection is not supported/);
  t.strictSame(requests(run), []);
});

t.test('asked for with what the pod is, waited for, shown, and replaced while the container runs', async (t) => {
  const run = new VolumeRun(gate);
  const uid = run.pod('a', [volumeOf({ maxExpirationSeconds: 7200, userAnnotations: { 'example.com/a': 'b' } })]);
  run.until('it is asked for', () => unanswered(run).length === 1);
  run.until('and waited for', () => run.said('a').length > 0);
  t.strictSame(run.said('a'), ['MountVolume.SetUp failed for volume "v" : credential bundle is not issued yet']);
  t.strictSame(states(run), { 'example.com/s not_yet_issued': 1 });
  const [first] = requests(run);
  t.match(first, {
    metadata: { name: /^req-/, ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'a', uid }] },
    spec: { signerName: 'example.com/s', podName: 'a', podUID: uid, serviceAccountName: 'default', nodeName: 'n1', maxExpirationSeconds: 7200 },
  });
  t.strictSame(first?.spec.unverifiedUserAnnotations, { 'example.com/a': 'b' });
  t.equal(first?.spec.serviceAccountUID, (run.admin.get('serviceaccounts', 'default').body.metadata as { uid: string }).uid);
  t.equal(issue(run, 'QUFB'), 200);
  run.until('it runs soon', () => run.phase('a') === 'Running', 5 * second);
  const key = shown(run, uid, 'key.pem') ?? '';
  t.match(key, /^-----BEGIN PRIVATE KEY-----\n/);
  t.equal(shown(run, uid, 'chain.pem'), pem('QUFB') + pem('Q0E='), 'the chain without what stood around it');
  t.equal(shown(run, uid, 'all.pem'), key + pem('QUFB') + pem('Q0E='));
  run.run(58 * minute);
  t.equal(requests(run).length, 1, 'it is kept until its time');
  run.until('a new one is asked for', () => unanswered(run).length === 1, 8 * minute);
  t.strictSame(states(run), { 'example.com/s fresh': 1 });
  t.equal(shown(run, uid, 'key.pem'), key, 'the old one is shown meanwhile');
  t.equal(issue(run, 'QkJC'), 200);
  run.until('the new one is shown', () => shown(run, uid, 'chain.pem') === pem('QkJC') + pem('Q0E='), 5 * second);
  t.not(shown(run, uid, 'key.pem'), key, 'with a key of its own');
  t.equal(run.cluster.node().containers(uid).length, 1, 'in the same container');
  run.gone('a', uid);
  t.strictSame(states(run), {});
  run.run(2 * hour);
  t.equal(requests(run).length <= 2, true, 'and nobody asks for a pod that is gone');
  t.strictSame(run.cluster.violations, []);
});

const refusals: readonly (readonly [verdict: string, event: RegExp, message: string, state: string])[] = [
  ['Denied', /^PodCertificateRequest default\/req-\S+ was denied, reason=No, message=never$/, 'denied', 'denied'],
  ['Failed', /^PodCertificateRequest default\/req-\S+ failed, reason=No, message=never$/, 'failed', 'failed'],
];
for (const [verdict, event, word, state] of refusals) {
  t.test(`${verdict} is for good`, async (t) => {
    const run = new VolumeRun(gate);
    const uid = run.pod('a', [volumeOf()]);
    run.until('it is asked for', () => unanswered(run).length === 1);
    t.equal(answer(run, { conditions: [{ type: verdict, status: 'True', reason: 'No', message: 'never' }] }), 200);
    const said = `MountVolume.SetUp failed for volume "v" : PodCertificateRequest was permanently ${word}: reason="No" message="never"`;
    run.until('it says so', () => run.said('a').includes(said));
    t.match(run.said('a', verdict), [event]);
    run.run(30 * minute);
    t.equal(requests(run).length, 1);
    t.strictSame(states(run), { [`example.com/s ${state}`]: 1 });
    t.equal(run.phase('a'), 'Pending');
    run.gone('a', uid);
  });
}

t.test('a certificate that nobody replaces is told of, twice, and shown on', async (t) => {
  const run = new VolumeRun(gate);
  const uid = run.pod('a', [volumeOf()]);
  run.until('it is asked for', () => unanswered(run).length === 1);
  issue(run, 'QUFB', 2 * hour);
  run.until('it runs', () => run.phase('a') === 'Running');
  run.run(71 * minute);
  t.strictSame(run.said('a', 'CertificateOverdueForRefresh'), ['the certificate of source 0 of volume "v" is overdue for refresh']);
  t.strictSame(states(run), { 'example.com/s overdue_for_refresh': 1 });
  t.strictSame(run.said('a', 'CertificateExpired'), []);
  run.run(50 * minute);
  t.strictSame(run.said('a', 'CertificateExpired'), ['the certificate of source 0 of volume "v" has expired']);
  t.strictSame(states(run), { 'example.com/s expired': 1 });
  t.equal(shown(run, uid, 'chain.pem'), pem('QUFB') + pem('Q0E='));
  t.equal(run.phase('a'), 'Running');
  t.equal(issue(run, 'QkJC', 2 * hour), 200, 'the request of before still waits');
  run.until('it is shown', () => shown(run, uid, 'chain.pem') === pem('QkJC') + pem('Q0E='), 5 * second);
  t.strictSame(states(run), { 'example.com/s fresh': 1 });
});

t.test('a request that has vanished is made anew after ten minutes and a little', async (t) => {
  const run = new VolumeRun(gate);
  run.pod('a', [volumeOf()]);
  run.until('it is asked for', () => unanswered(run).length === 1);
  t.equal(ask(run, { verb: 'delete', name: requests(run)[0]?.metadata.name ?? '' }).code, 200);
  run.run(9 * minute);
  t.strictSame(requests(run), []);
  run.until('it is asked for again', () => unanswered(run).length === 1, 3 * minute);
  issue(run, 'QUFB');
  run.until('it runs', () => run.phase('a') === 'Running');
});

t.test('an agent that starts anew asks anew, and the container runs on', async (t) => {
  const run = new VolumeRun(gate);
  const uid = run.pod('a', [volumeOf()]);
  run.until('it is asked for', () => unanswered(run).length === 1);
  issue(run, 'QUFB');
  run.until('it runs', () => run.phase('a') === 'Running');
  run.cluster.node().start();
  run.until('a new one is asked for', () => unanswered(run).length === 1);
  issue(run, 'QkJC');
  run.until('the new one is shown', () => shown(run, uid, 'chain.pem') === pem('QkJC') + pem('Q0E='));
  t.equal(run.cluster.node().containers(uid).length, 1);
});

const failing: readonly (readonly [what: string, operation: string])[] = [
  ['the service account', 'apiReader.get'],
  ['the key', 'podCertificateKeys.generate'],
  ['the request', 'apiWriter.create'],
];
for (const [what, operation] of failing) {
  t.test(`${what} can’t be had for a while: it is tried again, ever more rarely, and comes about in the end`, async (t) => {
    const run = new VolumeRun({
      ...gate,
      faults: [{ operation, trigger: { fromMicros: 6 * second, untilMicros: 5 * minute }, action: { kind: 'error', moment: 'before', error: 'unavailable', message: 'not now' } }],
    });
    run.run(2 * second);
    run.pod('a', [volumeOf()]);
    const tries = (): number => [...(run.cluster.node().agent.api?.podCertificates.values() ?? [])][0]?.failures ?? 0;
    run.run(4 * minute);
    t.ok(tries() >= 6 && tries() <= 10, `${tries()} tries in four minutes`);
    t.strictSame(unanswered(run), []);
    run.until('it is asked for in the end', () => unanswered(run).length === 1, 3 * minute);
    issue(run, 'QUFB');
    run.until('it runs', () => run.phase('a') === 'Running');
    t.strictSame(run.cluster.violations, []);
  });
}

const bad: readonly (readonly [sentence: string, status: object, expected: RegExp])[] = [
  ['a verdict that there isn’t', { conditions: [{ type: 'Maybe', status: 'True' }] }, /must be one of Issued, Denied, Failed/],
  ['issued without a certificate', { conditions: [{ type: 'Issued', status: 'True' }] }, /status.certificateChain: Required value/],
  ['denied with one', { conditions: [{ type: 'Denied', status: 'True' }], certificateChain: pem('QUFB') }, /may only be set when the request is issued/],
  [
    'two verdicts',
    {
      conditions: [
        { type: 'Denied', status: 'True' },
        { type: 'Failed', status: 'True' },
      ],
    },
    /one condition at most/,
  ],
  ['no certainty', { conditions: [{ type: 'Denied', status: 'False' }] }, /must be True/],
  ['a field that there isn’t', { conditions: [], more: 1 }, /unknown field "status.more"/],
];
t.test('the apiserver is strict with the signer, and with the node', async (t) => {
  const run = new VolumeRun(gate);
  const uid = run.pod('a', [volumeOf()]);
  run.until('it is asked for', () => unanswered(run).length === 1);
  const [{ metadata, spec } = { metadata: { name: '' }, spec: {} }] = requests(run);
  for (const [sentence, status, expected] of bad) {
    const { code, body } = ask(run, { verb: 'patch', name: metadata.name, subresource: 'status', patch: 'merge-patch', body: { status }, fieldValidation: 'Strict' });
    t.match(String((body as { message?: string }).message), expected, sentence);
    t.ok(code === 422 || code === 400, `${sentence}: ${code}`);
  }
  const node = { name: 'system:node:n1', groups: ['system:nodes', 'system:authenticated'] };
  const create = (more: object) =>
    ask(run, {
      user: node,
      verb: 'create',
      name: null,
      body: { apiVersion: 'certificates.k8s.io/v1beta1', kind: 'PodCertificateRequest', metadata: { generateName: 'req-' }, spec: { ...spec, ...more } },
    });
  t.equal(create({}).code, 201);
  for (const more of [{ nodeName: 'n2' }, { podName: 'other' }, { podUID: 'u' }, { serviceAccountName: 'other' }]) t.equal(create(more).code, 403, JSON.stringify(more));
  t.equal(create({ maxExpirationSeconds: 60 }).code, 422);
  t.equal(ask(run, { user: node, verb: 'patch', name: metadata.name, subresource: 'status', patch: 'merge-patch', body: { status: {} } }).code, 403, 'no node answers itself');
  t.equal(ask(run, { user: node, verb: 'list', name: null, namespace: null }).code, 403);
  run.admin.remove('pods', 'a', {});
  run.until(
    'requests go with their pod',
    () => !run.host.state.podDirectories.has(uid) && requests(run).every(({ metadata: { ownerReferences } }) => ownerReferences === undefined),
  );
});
