// Credential provider plugins called for a pod's service account: their input, the owner of the credentials, the requests to
// the apiserver, and failures of these.
import t from 'tap';
import type { CredentialProvider, TokenAttributes } from '../../src/domain/images/credential-plugins.js';
import { defaultImageSettings } from '../../src/domain/images/image-manager-state.js';
import { SimCluster } from '../../src/sim/index.js';
import { ApiCaller } from './api-caller.js';

const second = 1_000_000;
const minute = 60 * second;
const login = { username: 'u', password: 'right' };
const apiVersion = 'credentialprovider.kubelet.k8s.io/v1';
const attributes: TokenAttributes = {
  serviceAccountTokenAudience: 'registry',
  cacheType: 'ServiceAccount',
  requireServiceAccount: true,
  requiredServiceAccountAnnotationKeys: ['registry/role'],
  optionalServiceAccountAnnotationKeys: ['registry/region'],
};

interface Request {
  readonly image: string;
  readonly serviceAccountToken?: string;
  readonly serviceAccountAnnotations?: object;
}

/** A node of a cluster with one plugin, and pods of service accounts. */
class PluginRun {
  readonly cluster: SimCluster;
  readonly admin: ApiCaller;
  readonly asked: string[] = [];

  constructor(change: Partial<TokenAttributes> = {}, answer: object = {}) {
    const provider: CredentialProvider = {
      ...{ name: 'helper', matchImages: ['r.io'], defaultCacheDuration: 0, apiVersion, args: [], env: [] },
      tokenAttributes: { ...attributes, ...change },
    };
    const images = ['1', '2'].map((tag) => ({ reference: `r.io/private:${tag}`, sizeBytes: 1_000_000, accepts: [login] }));
    const settings = { images: { ...defaultImageSettings, limits: { parallel: null, perSecond: 0, burst: 1 }, credentialProviders: [provider] } };
    const cluster = new SimCluster({
      seed: 3,
      nodes: ['n1'],
      node: {},
      settings,
      apiserver: { auditLimit: 20_000, nodeTokenAudiences: [attributes.serviceAccountTokenAudience] },
      runtime: { registry: 'listed', images },
    });
    this.cluster = cluster;
    const clock = {
      get now() {
        return cluster.now;
      },
      set now(_: number) {},
    };
    this.admin = new ApiCaller(cluster.apiserver, undefined, clock);
    const document = { kind: 'CredentialProviderResponse', apiVersion, cacheKeyType: 'Registry', cacheDuration: '1h', auth: { 'r.io': login }, ...answer };
    cluster.node().host.state.credentialPlugins.set('helper', { stdout: JSON.stringify(document), failure: null, takes: second, asked: this.asked });
    cluster.run(5 * second);
  }

  account(name: string, annotations: object): void {
    this.admin.create('serviceaccounts', { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace: 'default', annotations } });
  }

  pod(name: string, serviceAccountName: string, image = 'r.io/private:1'): void {
    const containers = [{ name: 'main', image, imagePullPolicy: 'IfNotPresent' }];
    const spec = { nodeName: 'n1', automountServiceAccountToken: false, serviceAccountName, containers, terminationGracePeriodSeconds: 1 };
    const { code, body } = this.admin.create('pods', { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'default' }, spec });
    if (code !== 201) throw new Error(`${code} ${String(body.message)}`);
  }

  phase(name: string): string {
    return (this.admin.get('pods', name).body.status as { readonly phase?: string } | undefined)?.phase ?? '';
  }

  get requests(): Request[] {
    return this.asked.map((text) => JSON.parse(text) as Request);
  }

  requested(what: string): number {
    return this.cluster.apiserver.audit.entries.filter(({ verb, resource, user }) => user === 'system:node:n1' && `${verb} ${resource}` === what).length;
  }

  get records(): string {
    return [...this.cluster.node().host.state.pullRecords.pulled.values()].join('\n');
  }
}

const role = { 'registry/role': 'reader', 'registry/region': 'north', other: 'x' };

t.test('a plugin is given a token of the pod’s account and the annotations that it wants, and its answer is the account’s', async (t) => {
  const run = new PluginRun();
  run.account('team', role);
  run.pod('a', 'team');
  run.cluster.run(10 * second);
  t.equal(run.phase('a'), 'Running');
  t.match(run.requests, [{ image: 'r.io/private', serviceAccountToken: String, serviceAccountAnnotations: { 'registry/role': 'reader', 'registry/region': 'north' } }]);
  t.strictSame(Object.keys(run.requests[0]?.serviceAccountAnnotations ?? {}), ['registry/region', 'registry/role'], 'and no other');
  const [, payload = ''] = (run.requests[0]?.serviceAccountToken ?? '').split('.');
  t.match(JSON.parse(Buffer.from(payload, 'base64url').toString()), { aud: ['registry'], sub: 'system:serviceaccount:default:team', 'kubernetes.io': { pod: { name: 'a' } } });
  t.match(run.records, /"kubernetesServiceAccounts":\[\{"uid":"[^"]+","namespace":"default","name":"team"\}\]/);
  t.notMatch(run.records, /nodePodsAccessible":true/, 'not every pod of the node may have it');
  run.pod('same', 'team', 'r.io/private:2');
  run.cluster.run(10 * second);
  t.equal(run.phase('same'), 'Running');
  t.equal(run.requests.length, 1, 'the answer holds for the account');
  run.account('others', role);
  run.pod('other', 'others');
  run.cluster.run(10 * second);
  t.equal(run.phase('other'), 'Running');
  t.equal(run.requests.length, 2, 'another account is asked for by itself, though the image is there');
  t.not(run.requests[1]?.serviceAccountToken, run.requests[0]?.serviceAccountToken);
  run.cluster.run(3 * 60 * minute);
  t.equal(run.requested('create serviceaccounts/token'), 3, 'one token a pod, none is renewed that nobody asks for');
  t.strictSame(run.cluster.violations, []);
});

const refusals: readonly (readonly [sentence: string, change: Partial<TokenAttributes>, annotations: object | null, runs: number])[] = [
  ['an account without a required annotation: it isn’t asked', {}, { other: 'x' }, 0],
  ['an account that isn’t there: it isn’t asked', {}, null, 0],
  ['an account with all of it', {}, { 'registry/role': 'x' }, 1],
  ['no annotation is wanted: none is sent', { requiredServiceAccountAnnotationKeys: [], optionalServiceAccountAnnotationKeys: [] }, role, 1],
];
for (const [sentence, change, annotations, runs] of refusals) {
  t.test(sentence, async (t) => {
    const run = new PluginRun(change);
    run.account('team', annotations ?? {});
    run.pod('a', 'team');
    if (annotations === null) run.admin.ask({ verb: 'delete', resource: run.admin.resource('serviceaccounts'), namespace: 'default', name: 'team', subresource: null });
    run.cluster.run(8 * second);
    t.equal(run.phase('a'), runs > 0 ? 'Running' : 'Pending');
    t.equal(run.requests.length, runs);
    if (change.requiredServiceAccountAnnotationKeys !== undefined) t.notOk('serviceAccountAnnotations' in run.requests[0]!);
  });
}

t.test('an answer of the cache type Token is for one token alone', async (t) => {
  const run = new PluginRun({ cacheType: 'Token' });
  run.account('team', role);
  run.pod('a', 'team');
  run.pod('b', 'team', 'r.io/private:2');
  run.cluster.run(10 * second);
  t.strictSame([run.phase('a'), run.phase('b')], ['Running', 'Running']);
  t.equal(run.requests.length, 2, 'each pod has a token of its own');
});

for (const operation of ['get.serviceaccounts', 'create.serviceaccounts/token']) {
  t.test(`an apiserver that refuses ${operation}: the pull is tried without, and again`, async (t) => {
    const run = new PluginRun();
    run.account('team', role);
    const rule = { operation, trigger: {}, action: { kind: 'error' as const, code: 503, message: 'away', retryAfterSeconds: null } };
    run.cluster.apiserver.setFaults([rule], run.cluster.now);
    run.pod('a', 'team');
    run.cluster.run(2 * minute);
    t.equal(run.phase('a'), 'Pending');
    t.equal(run.requests.length, 0);
    run.cluster.apiserver.setFaults([], run.cluster.now);
    run.cluster.run(6 * minute);
    t.equal(run.phase('a'), 'Running');
    t.strictSame(run.cluster.violations, []);
  });
}

t.test('a pod that goes while its account is asked for leaves nothing', async (t) => {
  const run = new PluginRun();
  run.account('team', role);
  const rule = { operation: 'get.serviceaccounts', trigger: {}, action: { kind: 'latency' as const, micros: 20 * second } };
  run.cluster.apiserver.setFaults([rule], run.cluster.now);
  run.pod('a', 'team');
  run.cluster.run(3 * second);
  const { images, api } = run.cluster.node().agent;
  t.equal(images.runs.size, 1, 'it waits');
  run.admin.ask({ verb: 'delete', resource: run.admin.resource('pods'), namespace: 'default', name: 'a', subresource: null });
  run.cluster.run(minute);
  t.equal(run.admin.get('pods', 'a').code, 404);
  t.equal(images.runs.size, 0);
  t.equal(api?.pluginTokens.tokens.size, 0);
  t.equal(run.cluster.node().runtime.state.pulls.size, 0);
  t.equal(run.requests.length, 0);
  t.strictSame(run.cluster.violations, []);
});
