// What a pod sees of the API's objects: tokens of its service account, config maps and secrets that change. And a resize by kubectl.
import type { Test } from 'tap';
import type { Json } from './admin-client.js';
import { type Flow, flowPod, shell, waiting } from './flow.js';
import type { PeerStand } from './peer-stand.js';

interface Claims {
  readonly aud: readonly string[];
  readonly exp: number;
  readonly iat: number;
  readonly 'kubernetes.io': { readonly pod: { readonly name: string; readonly uid: string }; readonly node: { readonly name: string } };
}

function claimsOf(token: string): Claims {
  return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Claims;
}

async function reviewed(stand: PeerStand, token: string, audiences: readonly string[] = []): Promise<Json> {
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token, audiences } };
  return JSON.parse((await stand.client.api('POST', '/apis/authentication.k8s.io/v1/tokenreviews', body)).text).status;
}

async function tokens(t: Test, stand: PeerStand): Promise<void> {
  await stand.create({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'worker' } });
  const sources = [{ serviceAccountToken: { path: 'vault', audience: 'vault', expirationSeconds: 600 } }];
  const spec = { serviceAccountName: 'worker', securityContext: { fsGroup: 2000 }, volumes: [{ name: 'other', projected: { sources } }] };
  await stand.create(flowPod('bears', [shell(waiting, { volumeMounts: [{ name: 'other', mountPath: '/other' }] })], spec));
  const { metadata } = await stand.untilPod('bears', 'runs', (one) => one.status.phase === 'Running');
  const place = '/var/run/secrets/kubernetes.io/serviceaccount';
  const token = await stand.ok(['exec', 'bears', '--', 'cat', `${place}/token`]);
  t.match(await reviewed(stand, token), { authenticated: true, user: { username: 'system:serviceaccount:default:worker' } });
  t.match(claimsOf(token)['kubernetes.io'], { pod: { name: 'bears', uid: metadata.uid }, node: { name: 'lab-node' } });
  t.equal(await stand.ok(['exec', 'bears', '--', 'cat', `${place}/namespace`]), 'default');
  t.match(await stand.ok(['exec', 'bears', '--', 'cat', `${place}/ca.crt`]), /^-----BEGIN CERTIFICATE/);
  const other = await stand.ok(['exec', 'bears', '--', 'cat', '/other/vault']);
  const { aud, exp, iat } = claimsOf(other);
  t.strictSame([aud, exp - iat], [['vault'], 600]);
  t.match(await reviewed(stand, other, ['vault']), { authenticated: true });
  t.equal((await reviewed(stand, other)).authenticated, undefined, 'it is for its audience alone');
  t.match(await stand.ok(['exec', 'bears', '--', 'stat', '-Lc', '%a %g', '/other/vault']), '640 2000');
  await stand.ok(['delete', 'pod', 'bears']);
  // The apiserver remembers what it has verified for ten seconds.
  await stand.until('a token ends with its pod', async () => (await reviewed(stand, token)).authenticated === undefined);
}

async function changes(t: Test, stand: PeerStand): Promise<void> {
  const map = (name: string, data: object) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data });
  await stand.create(map('settings', { level: 'one', gone: 'soon' }), { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'keys' }, stringData: { key: 'one' } });
  const volumes = [
    { name: 'settings', configMap: { name: 'settings' } },
    { name: 'keys', secret: { secretName: 'keys', defaultMode: 0o400 } },
    { name: 'later', configMap: { name: 'later', optional: true } },
  ];
  const mounts = [
    { name: 'settings', mountPath: '/settings' },
    { name: 'settings', mountPath: '/fixed', subPath: 'level' },
    { name: 'keys', mountPath: '/keys' },
    { name: 'later', mountPath: '/later' },
  ];
  const env = [{ name: 'LEVEL', valueFrom: { configMapKeyRef: { name: 'settings', key: 'level' } } }];
  await stand.create(
    flowPod('reads', [shell(waiting, { env, volumeMounts: mounts })], { volumes }),
    flowPod('needs', [shell(waiting, { volumeMounts: [{ name: 'v', mountPath: '/v' }] })], { volumes: [{ name: 'v', secret: { secretName: 'absent' } }] }),
  );
  await stand.untilPod('reads', 'runs', (one) => one.status.phase === 'Running');
  const look = 'cat /settings/level /fixed /keys/key; echo $LEVEL; ls /settings /later; stat -Lc %a /keys/key';
  t.equal(await stand.ok(['exec', 'reads', '--', 'sh', '-c', look]), 'oneoneoneone\n/later:\n\n/settings:\ngone\nlevel\n400\n');
  await stand.ok(['replace', '-f', '-'], map('settings', { level: 'two', added: 'now' }));
  await stand.ok(['patch', 'secret', 'keys', '-p', JSON.stringify({ stringData: { key: 'two' } })]);
  await stand.create(map('later', { came: 'late' }));
  const expected = 'twoonetwoone\n/later:\ncame\n\n/settings:\nadded\nlevel\n400\n';
  await stand.until('what changed is there, what is fixed stays', async () => (await stand.ok(['exec', 'reads', '--', 'sh', '-c', look])) === expected);
  t.equal(await stand.ok(['exec', 'reads', '--', 'sh', '-c', 'readlink /settings/level']), '..data/level\n');
  await stand.until('the pod that lacks its secret says so', async () => {
    const events = await stand.ok(['get', 'events', '--field-selector=involvedObject.name=needs']);
    if (!/MountVolume.SetUp failed for volume "v" : secret "absent" not found/.test(events)) throw new Error(events);
    return true;
  });
  await stand.create({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'absent' } });
  await stand.untilPod('needs', 'runs once its secret is there', (one) => one.status.phase === 'Running');
  await stand.ok(['delete', 'pod', 'reads', 'needs']);
}

async function resize(t: Test, stand: PeerStand): Promise<void> {
  const resources = { requests: { cpu: '100m', memory: '64Mi' }, limits: { cpu: '200m', memory: '128Mi' } };
  const resizePolicy = [
    { resourceName: 'cpu', restartPolicy: 'NotRequired' },
    { resourceName: 'memory', restartPolicy: 'RestartContainer' },
  ];
  await stand.create(flowPod('grows', [shell(waiting, { resources, resizePolicy })]));
  const before = await stand.untilPod('grows', 'runs', (one) => one.status.phase === 'Running');
  const patch = (more: object) =>
    stand.ok(['patch', 'pod', 'grows', '--subresource', 'resize', '-p', JSON.stringify({ spec: { containers: [{ name: 'main', resources: more }] } })]);
  await patch({ requests: { cpu: '150m' }, limits: { cpu: '300m' } });
  const wider = await stand.untilPod('grows', 'has more CPU', (one) => one.status.containerStatuses[0].resources?.limits?.cpu === '300m');
  t.equal(wider.status.containerStatuses[0].containerID, before.status.containerStatuses[0].containerID, 'in place');
  t.equal((await stand.ok(['exec', 'grows', '--', 'cat', '/sys/fs/cgroup/cpu/cpu.cfs_quota_us'])).trim(), '30000');
  await patch({ requests: { memory: '80Mi' }, limits: { memory: '160Mi' } });
  const restarted = await stand.untilPod(
    'grows',
    'has restarted with more memory',
    (one) => one.status.containerStatuses[0].restartCount === 1 && one.status.containerStatuses[0].resources?.limits?.memory === '160Mi',
  );
  t.equal(restarted.status.containerStatuses[0].allocatedResources.memory, '80Mi');
  await stand.create(flowPod('fills', [shell(waiting, { resources: { requests: { cpu: '700m' } } })]));
  await stand.untilPod('fills', 'runs', (one) => one.status.phase === 'Running');
  await patch({ requests: { cpu: '1500m' }, limits: { cpu: '1500m' } });
  await stand.untilPod('grows', 'waits for room', (one) =>
    one.status.conditions.some((condition: Json) => condition.type === 'PodResizePending' && condition.reason === 'Deferred'),
  );
  await stand.ok(['delete', 'pod', 'fills']);
  await stand.untilPod('grows', 'has the room that was left', (one) => one.status.containerStatuses[0].resources?.requests?.cpu === '1500m');
  t.match(
    await stand.kubectl([
      'patch',
      'pod',
      'grows',
      '--subresource',
      'resize',
      '-p',
      '{"spec":{"containers":[{"name":"main","resources":{"requests":{"memory":"40Ti"},"limits":{"memory":"41Ti"}}}]}}',
    ]),
    { code: 1, err: /Forbidden/ },
  );
  await stand.ok(['delete', 'pod', 'grows']);
}

export const objectFlows: readonly Flow[] = [
  { name: 'service account tokens are bound, for their audience, and end with their pod', run: tokens },
  { name: 'config maps and secrets that change, come late, or are absent', run: changes },
  { name: 'a resize by kubectl: in place, by a restart, deferred', run: resize },
];
