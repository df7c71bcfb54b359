// The rules of the simulated apiserver beyond plain objects: admission, what nodes may do, subresources, tokens, its small control plane.
import t from 'tap';
import { nodeUser } from '../../src/sim/index.js';
import { ApiCaller } from './api-caller.js';

const container = { name: 'c', image: 'busybox:1' };
const n1 = nodeUser('n1');

function node(name: string, more: object = {}, ready = 'True'): object {
  const conditions = [{ type: 'Ready', status: ready, lastHeartbeatTime: '2026-01-01T00:00:00Z' }];
  return { metadata: { name, labels: { 'kubernetes.io/hostname': name } }, ...more, status: { allocatable: { cpu: '2', memory: '2Gi', pods: '10' }, conditions } };
}

t.test('what admission puts into a pod', async (t) => {
  const api = new ApiCaller();
  const { body } = api.create('pods', { metadata: { name: 'a' }, spec: { containers: [container] } });
  t.match(body.spec, {
    serviceAccountName: 'default',
    serviceAccount: 'default',
    priority: 0,
    preemptionPolicy: 'PreemptLowerPriority',
    terminationGracePeriodSeconds: 30,
    tolerations: [
      { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 },
      { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 },
    ],
    volumes: [
      {
        name: /^kube-api-access-.{5}$/,
        projected: {
          defaultMode: 420,
          sources: [
            { serviceAccountToken: { expirationSeconds: 3607, path: 'token' } },
            { configMap: { name: 'kube-root-ca.crt' } },
            { downwardAPI: { items: [{ path: 'namespace' }] } },
          ],
        },
      },
    ],
    containers: [{ imagePullPolicy: 'IfNotPresent', volumeMounts: [{ readOnly: true, mountPath: '/var/run/secrets/kubernetes.io/serviceaccount' }] }],
  });
  t.match(body, { metadata: { generation: 1 }, status: { phase: 'Pending', qosClass: 'BestEffort' } });
  t.match(api.get('configmaps', 'kube-root-ca.crt').body.data, { 'ca.crt': /BEGIN CERTIFICATE/ });
  const cases: readonly (readonly [string, object, number, RegExp])[] = [
    ['an unknown account', { serviceAccountName: 'x' }, 403, /error looking up service account default\/x: serviceaccount "x" not found/],
    ['an unknown class', { priorityClassName: 'x' }, 403, /no PriorityClass with name x was found/],
    ['a priority of his own', { priority: 5 }, 403, /the integer value of priority \(5\) must not be provided in pod spec/],
    ['an unknown runtime class', { runtimeClassName: 'x' }, 403, /pod rejected: RuntimeClass "x" not found/],
    ['no container', { containers: [] }, 422, /Pod "b" is invalid: spec.containers: Required value/],
    ['a field that is none', { bogus: 1 }, 400, /^Pod in version "v1" cannot be handled as a Pod: strict decoding error: unknown field "spec.bogus"$/],
    ['a text for a number', { priority: 'x' }, 400, /json: cannot unmarshal string into Go struct field PodSpec.spec.priority of type int32/],
  ];
  for (const [sentence, spec, code, message] of cases)
    t.match(api.create('pods', { metadata: { name: 'b' }, spec: { containers: [container], ...spec } }), { code, body: { kind: 'Status', message } }, sentence);
  const critical = api.create('pods', {
    metadata: { name: 'c' },
    spec: { containers: [container], priorityClassName: 'system-node-critical', automountServiceAccountToken: false },
  }).body;
  t.match(critical.spec, { priority: 2_000_001_000 });
  t.notOk((critical.spec as { volumes?: unknown }).volumes);
});

t.test('what may change of a pod', async (t) => {
  const api = new ApiCaller();
  api.create('pods', { metadata: { name: 'a' }, spec: { nodeName: 'n1', restartPolicy: 'Never', containers: [{ ...container, resources: { requests: { cpu: '1' } } }] } });
  const patch = (body: unknown, subresource: string | null = null) => api.patch('pods', 'a', body, subresource);
  t.match(patch({ spec: { containers: [{ name: 'c', image: 'busybox:2' }] } }), { code: 200, body: { metadata: { generation: 2 } } });
  t.match(patch({ spec: { hostNetwork: true } }), { code: 422, body: { message: /spec: Forbidden: pod updates may not change fields other than `spec.containers\[\*\].image`/ } });
  t.match(patch({ spec: { containers: [{ name: 'c', resources: { requests: { cpu: '2' } } }] } }), { code: 422 }, 'resources have a way of their own');
  t.match(patch({ spec: { containers: [{ name: 'c', resources: { requests: { cpu: '2' } } }] } }, 'resize'), { code: 200, body: { metadata: { generation: 3 } } });
  t.match(patch({ spec: { containers: [{ name: 'c', resources: { limits: { cpu: '2', memory: '1Gi' }, requests: { memory: '1Gi' } } }] } }, 'resize'), {
    code: 422,
    body: { message: /QOS Class may not change/ },
  });
  const debug = { spec: { ephemeralContainers: [{ name: 'debug', image: 'busybox:1' }] } };
  t.match(patch(debug, 'ephemeralcontainers'), { code: 200, body: { spec: { ephemeralContainers: [{ name: 'debug', terminationMessagePath: '/dev/termination-log' }] } } });
  const ended = { name: 'c', ready: false, restartCount: 0, image: 'i', imageID: 'x', state: { terminated: { exitCode: 0 } } };
  t.match(patch({ status: { phase: 'Running', containerStatuses: [ended] } }, 'status'), { code: 200, body: { metadata: { generation: 4 } } });
  const again = { ...ended, state: { running: { startedAt: '2026-01-01T00:00:00Z' }, terminated: null } };
  t.match(patch({ status: { containerStatuses: [again] } }, 'status'), { code: 422, body: { message: /may not be transitioned to non-terminated state/ } });
});

t.test('what a node may do', async (t) => {
  const api = new ApiCaller();
  t.equal(api.as(n1).create('nodes', node('n1'), null).code, 201);
  const uid = (api.get('nodes', 'n1', null).body.metadata as { uid: string }).uid;
  const owner = { apiVersion: 'v1', kind: 'Node', name: 'n1', uid, controller: true };
  const mirror = (more: object = {}, spec: object = {}) => ({
    metadata: { name: 'm', annotations: { 'kubernetes.io/config.mirror': 'h' }, ownerReferences: [owner], ...more },
    spec: { nodeName: 'n1', containers: [container], ...spec },
  });
  api.create('secrets', { metadata: { name: 'used' } });
  api.create('secrets', { metadata: { name: 'other' } });
  api.create('pods', { metadata: { name: 'mine' }, spec: { nodeName: 'n1', containers: [container], volumes: [{ name: 'v', secret: { secretName: 'used' } }] } });
  api.create('pods', { metadata: { name: 'elses' }, spec: { nodeName: 'n2', containers: [container] } });
  const own = api.as(n1);
  const cases: readonly (readonly [string, () => { code: number; body: object }, number, RegExp | null])[] = [
    ['its own node', () => own.get('nodes', 'n1', null), 200, null],
    ['another node', () => own.get('nodes', 'n2', null), 403, /User "system:node:n1" cannot get resource "nodes" in API group "" at the cluster scope: /],
    ['create another node', () => own.create('nodes', node('n2'), null), 403, /node "n1" is not allowed to modify node "n2"/],
    [
      'its labels',
      () => own.patch('nodes', 'n1', { metadata: { labels: { 'node-role.kubernetes.io/x': '' } } }, 'status', null),
      403,
      /is not allowed to modify labels: node-role/,
    ],
    ['its taints', () => own.patch('nodes', 'n1', { spec: { taints: [{ key: 'a', effect: 'NoSchedule' }] } }, null, null), 403, /node "n1" is not allowed to modify taints/],
    ['its status', () => own.patch('nodes', 'n1', { status: { phase: 'x' } }, 'status', null), 200, null],
    ['all pods', () => own.list('pods'), 403, /can only list\/watch pods with spec.nodeName field selector/],
    ['its pods', () => own.list('pods', { fieldSelector: 'spec.nodeName=n1' }), 200, null],
    ['a secret of its pod', () => own.get('secrets', 'used'), 200, null],
    ['another secret', () => own.get('secrets', 'other'), 403, /no relationship found between node 'n1' and this object/],
    ['all secrets', () => own.list('secrets'), 403, /No Object name found/],
    ['a pod that is no mirror', () => own.create('pods', { metadata: { name: 'x' }, spec: { containers: [container] } }), 403, /node "n1" can only create mirror pods/],
    ['a mirror elsewhere', () => own.create('pods', mirror({}, { nodeName: 'n2' })), 403, /can only create pods with spec.nodeName set to itself/],
    ['a mirror without owner', () => own.create('pods', mirror({ ownerReferences: [] })), 403, /can only create pods with an owner reference set to itself/],
    ['a mirror of another uid', () => own.create('pods', mirror({ ownerReferences: [{ ...owner, uid: 'x' }] })), 403, /UID mismatch/],
    ['a mirror', () => own.create('pods', mirror()), 201, null],
    ['the status of its pod', () => own.patch('pods', 'mine', { status: { phase: 'Running' } }, 'status'), 200, null],
    [
      'the status of another',
      () => own.patch('pods', 'elses', { status: { phase: 'Running' } }, 'status'),
      403,
      /can only update pod status for pods with spec.nodeName set to itself/,
    ],
    ['delete another', () => own.remove('pods', 'elses', { gracePeriodSeconds: 0 }), 403, /node "n1" can only delete pods with spec.nodeName set to itself/],
    ['its own end', () => own.remove('nodes', 'n1', {}, null), 403, /User "system:node:n1" cannot delete resource "nodes" in API group "" at the cluster scope$/],
    ['a lease in another namespace', () => own.create('leases', { metadata: { name: 'n1' } }), 403, /can only access leases in the "kube-node-lease" system namespace/],
    ['its lease', () => own.create('leases', { metadata: { name: 'n1' } }, 'kube-node-lease'), 201, null],
  ];
  for (const [sentence, call, code, message] of cases) t.match(call(), { code, ...(message === null ? {} : { body: { kind: 'Status', message } }) }, sentence);
});

/** Volumes that name audiences in each way. */
function volumesWithAudiences(api: ApiCaller): object[] {
  const csi = (driver: string) => ({ name: driver, csi: { driver } });
  const volumes = [
    { name: 't', projected: { sources: [{ serviceAccountToken: { path: 't', audience: 'a' } }] } },
    csi('driver'),
    { name: 'c', persistentVolumeClaim: { claimName: 'claim' } },
    { name: 'e', ephemeral: { volumeClaimTemplate: { spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } } } } },
  ];
  for (const [name, driver] of [
    ['claim', 'claimed'],
    ['mine-e', 'ephemeral'],
  ] as const) {
    const spec = { accessModes: ['ReadWriteOnce'], volumeName: driver, resources: { requests: { storage: '1Gi' } } };
    api.create('persistentvolumeclaims', { metadata: { name }, spec });
    const volume = { accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' }, csi: { driver, volumeHandle: 'h' } };
    api.create('persistentvolumes', { metadata: { name: driver }, spec: volume }, null);
  }
  for (const name of ['driver', 'claimed', 'ephemeral', 'unused']) api.create('csidrivers', { metadata: { name }, spec: { tokenRequests: [{ audience: `of-${name}` }] } }, null);
  return volumes;
}

t.test('what tokens a node may have', async (t) => {
  const api = new ApiCaller();
  api.as(n1).create('nodes', node('n1'), null);
  api.create('pods', { metadata: { name: 'mine' }, spec: { nodeName: 'n1', containers: [container], volumes: volumesWithAudiences(api) } });
  api.create('pods', { metadata: { name: 'elses' }, spec: { nodeName: 'n2', containers: [container] } });
  const own = api.as(n1);
  const bound = (name: string, podUid?: string, audiences = ['a']) => ({
    spec: { audiences, boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name, ...(podUid === undefined ? {} : { uid: podUid }) } },
  });
  const uidOf = (name: string) => (api.get('pods', name).body.metadata as { uid: string }).uid;
  const cases: readonly (readonly [string, () => { code: number; body: object }, number, RegExp | null])[] = [
    ['an unbound token', () => own.post('serviceaccounts', 'default', 'token', { spec: { audiences: ['a'] } }), 403, /node requested token not bound to a pod/],
    ['a token without uid', () => own.post('serviceaccounts', 'default', 'token', bound('mine')), 403, /without a uid/],
    ['a token of another pod', () => own.post('serviceaccounts', 'default', 'token', bound('elses', uidOf('elses'))), 403, /scheduled on a different node/],
    ['a token of a pod that is not there', () => own.post('serviceaccounts', 'default', 'token', bound('none', 'x')), 404, /pods "none" not found/],
    [
      'a token of an earlier pod',
      () => own.post('serviceaccounts', 'default', 'token', bound('mine', 'x')),
      403,
      /the UID in the bound object reference \(x\) does not match the UID in record/,
    ],
    ['a token of its pod', () => own.post('serviceaccounts', 'default', 'token', bound('mine', uidOf('mine'))), 201, null],
    ['a token for the apiserver', () => own.post('serviceaccounts', 'default', 'token', bound('mine', uidOf('mine'), [])), 201, null],
    ...['of-driver', 'of-claimed', 'of-ephemeral'].map((audience): [string, () => { code: number; body: object }, number, null] => {
      return [`a token ${audience}`, () => own.post('serviceaccounts', 'default', 'token', bound('mine', uidOf('mine'), [audience])), 201, null];
    }),
    [
      'a token for a driver of no volume',
      () => own.post('serviceaccounts', 'default', 'token', bound('mine', uidOf('mine'), ['of-unused'])),
      403,
      /audience "of-unused" not found in pod spec volume, system:node:n1 is not authorized to request tokens for this audience/,
    ],
    ['a token for two', () => own.post('serviceaccounts', 'default', 'token', bound('mine', uidOf('mine'), ['a', 'of-driver'])), 403, /node may only request 0 or 1 audiences/],
  ];
  for (const [sentence, call, code, message] of cases) t.match(call(), { code, ...(message === null ? {} : { body: { kind: 'Status', message } }) }, sentence);
});

t.test('tokens', async (t) => {
  const api = new ApiCaller();
  const pod = api.create('pods', { metadata: { name: 'p' }, spec: { nodeName: 'n1', containers: [container] } }).body.metadata as { uid: string };
  const ask = (spec: object) => api.post('serviceaccounts', 'default', 'token', { spec });
  t.match(ask({ expirationSeconds: 60 }), { code: 422, body: { message: /may not specify a duration less than 10 minutes/ } });
  const { body } = ask({ audiences: ['vault'], expirationSeconds: 600, boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'p', uid: pod.uid } });
  const { token } = body.status as { token: string };
  const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as object;
  t.match(claims, { aud: ['vault'], sub: 'system:serviceaccount:default:default', 'kubernetes.io': { namespace: 'default', pod: { name: 'p', uid: pod.uid } } });
  const review = (given: string, audiences: string[]) => api.create('tokenreviews', { spec: { token: given, audiences } }, null).body.status;
  t.match(review(token, ['vault', 'x']), { authenticated: true, audiences: ['vault'], user: { username: 'system:serviceaccount:default:default' } });
  t.match(review(token, ['x']), { error: /is invalid for the target audiences/ });
  t.match(review(`${token}x`, ['vault']), { error: 'invalid bearer token' });
  api.remove('pods', 'p', { gracePeriodSeconds: 0 });
  t.match(review(token, ['vault']), { error: /invalidated/ }, 'the pod it was bound to is gone');
  const { token: short } = ask({ expirationSeconds: 600 }).body.status as { token: string };
  api.pass(601_000_000);
  t.match(api.server.authenticate(short, undefined, api.now), /expired/);
});

t.test('the small control plane', async (t) => {
  const api = new ApiCaller();
  const pod = (name: string, cpu: string, more: object = {}) => ({ metadata: { name }, spec: { containers: [{ ...container, resources: { requests: { cpu } } }], ...more } });
  const nodeOf = (name: string) => (api.get('pods', name).body.spec as { nodeName?: string }).nodeName;
  api.create('pods', pod('early', '1'));
  api.pass(1_000_000);
  t.match(api.get('pods', 'early').body.status, {
    conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: 'no nodes available to schedule pods' }],
  });
  api.create('nodes', node('n2', {}, 'False'), null);
  api.create('nodes', node('n1'), null);
  api.pass(1_000_000);
  t.equal(nodeOf('early'), 'n1', 'the only node that is ready');
  t.match(api.get('nodes', 'n2', null).body.spec, { taints: [{ key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }] });
  api.create('pods', pod('big', '1500m'));
  api.create('pods', pod('picky', '1m', { nodeSelector: { disk: 'ssd' } }));
  api.pass(1_000_000);
  t.match(api.get('pods', 'big').body.status, {
    conditions: [{ message: '0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint {node.kubernetes.io/not-ready: }.' }],
  });
  api.patch('nodes', 'n2', { status: { conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime: '2026-01-01T00:00:01Z' }] } }, 'status', null);
  api.pass(1_000_000);
  t.equal(nodeOf('big'), 'n2');
  api.pass(60_000_000);
  t.match(api.get('nodes', 'n1', null).body, {
    status: { conditions: [{ type: 'Ready', status: 'Unknown', reason: 'NodeStatusUnknown' }] },
    spec: { taints: [{ key: 'node.kubernetes.io/unreachable' }] },
  });
  t.match(api.post('pods', 'picky', 'binding', { target: { kind: 'Node', name: 'n1' } }), { code: 201 });
  t.match(api.post('pods', 'picky', 'binding', { target: { kind: 'Node', name: 'n1' } }), { code: 409, body: { message: /already assigned to node "n1"/ } });
  t.match(api.post('pods', 'picky', 'eviction', {}), { code: 201 });
  t.match(api.get('pods', 'picky').body.metadata, { deletionGracePeriodSeconds: 30 });
  const { uid } = api.get('nodes', 'n1', null).body.metadata as { uid: string };
  api.create('configmaps', { metadata: { name: 'owned', ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'n1', uid }] } });
  api.remove('nodes', 'n1', {}, null);
  api.create('namespaces', { metadata: { name: 'space' } }, null);
  api.create('configmaps', { metadata: { name: 'x' } }, 'space');
  t.equal(api.get('serviceaccounts', 'default', 'space').code, 200);
  api.remove('namespaces', 'space', {}, null);
  t.match(api.create('configmaps', { metadata: { name: 'y' } }, 'space'), { code: 403, body: { message: /because it is being terminated/ } });
  api.pass(1_000_000);
  t.equal(api.get('configmaps', 'owned').code, 404, 'its owner is gone');
  t.equal(api.get('namespaces', 'space', null).code, 404);
  t.equal(api.get('configmaps', 'x', 'space').code, 404);
});

t.test('reviews of access', async (t) => {
  const api = new ApiCaller();
  const may = (user: string, groups: string[], verb: string, resource: string) =>
    (api.create('subjectaccessreviews', { spec: { user, groups, resourceAttributes: { verb, resource } } }, null).body.status as { allowed: boolean }).allowed;
  t.equal(may('admin', ['system:masters'], 'delete', 'pods'), true);
  t.equal(may('somebody', ['system:authenticated'], 'get', 'pods'), false);
  t.equal(may('system:node:n1', ['system:nodes'], 'list', 'services'), true);
  const self = api.as({ name: 'somebody', groups: ['system:authenticated'] });
  t.match(self.create('selfsubjectaccessreviews', { spec: { resourceAttributes: { verb: 'get', resource: 'pods' } } }, null), { code: 201, body: { status: { allowed: false } } });
  t.match(self.get('pods', 'x'), { code: 403, body: { message: 'pods "x" is forbidden: User "somebody" cannot get resource "pods" in API group "" in the namespace "default"' } });
});

t.test('faults', async (t) => {
  const api = new ApiCaller();
  api.create('configmaps', { metadata: { name: 'a' } });
  const set = (operation: string, action: Parameters<typeof api.server.setFaults>[0][number]['action'], trigger = {}) =>
    api.server.setFaults([{ operation, trigger, action }], api.now);
  set('get.configmaps', { kind: 'error', code: 429, message: 'slow down', retryAfterSeconds: 3 }, { times: 1 });
  t.match(api.get('configmaps', 'a'), { code: 429, body: { reason: 'TooManyRequests', details: { retryAfterSeconds: 3 } } });
  t.equal(api.get('configmaps', 'a').code, 200);
  set('patch.*', { kind: 'lost' });
  t.match(api.patch('configmaps', 'a', { data: { k: 'v' } }), { lost: true });
  t.match(api.get('configmaps', 'a').body, { data: { k: 'v' } }, 'it was done all the same');
  set('list.configmaps', { kind: 'stale', versions: 1 });
  const dataOf = (version: string) => (api.list('configmaps', { resourceVersion: version, fieldSelector: 'metadata.name=a' }).body.items as { data?: object }[])[0]?.data;
  t.notOk(dataOf('0'), 'an earlier version');
  t.ok(dataOf(''), 'who wants the newest gets it');
  t.strictSame(api.server.faultCounts, [2]);
  const watched = { user: api.user, target: { resource: api.resource('configmaps'), namespace: null, name: null, subresource: null } };
  const rest = { fieldSelector: null, labelSelector: null, resourceVersion: null, bookmarks: true, sendInitialEvents: false, timeoutSeconds: 600 };
  set('watch.*', { kind: 'cut', afterMicros: 1_000_000 });
  const opened = api.server.watch('x', { ...watched, ...rest }, api.now);
  if ('refused' in opened) throw new Error('refused');
  api.pass(2_000_000);
  t.equal(opened.watch.ended, true);
  t.equal(api.server.audit.entries.at(-1)?.verb, 'watch');
});
