// Pulls on a simulated node: order and number, the events of each, access to present images, and the sources of credentials.
import { defaultSettings } from '../../src/domain/agent/settings.js';
import { defaultImageSettings, type ImageSettings } from '../../src/domain/images/image-manager-state.js';
import { pullRecordFileName } from '../../src/domain/images/pull-records.js';
import type { Secret } from '../../src/ports/model/config-objects.js';
import type { Pod } from '../../src/ports/model/pod.js';
import type { SimClusterOptions } from '../../src/sim/index.js';
import { type Stage, scenario } from './scenario.js';
import { minute, podOf, second } from './sim-pods.js';

const mega = 1_000_000;
/** One second each at 50 MB/s, and the 0.3 s that every pull takes. */
const images = ['a', 'b', 'c'].map((name) => ({ reference: `r.io/${name}:1`, sizeBytes: 50 * mega }));
const imagesAre = (change: Partial<ImageSettings>): Partial<SimClusterOptions> => ({ settings: { ...defaultSettings, images: { ...defaultImageSettings, ...change } } });
const hour = 60 * minute;

function withPolicy(pod: Pod, imagePullPolicy: string): Pod {
  return { ...pod, spec: { ...pod.spec, containers: pod.spec.containers.map((container) => ({ ...container, imagePullPolicy })) } };
}

function messages(stage: Stage, name: string, reason: string): string[] {
  return stage.node.events(name).flatMap(({ record }) => (record.reason === reason ? [record.message] : []));
}

function waiting(stage: Stage, name: string) {
  return stage.node.status(name)?.containerStatuses?.[0]?.state?.waiting ?? null;
}

const limitRows: readonly (readonly [string, Partial<ImageSettings>, number])[] = [
  ['one at a time', {}, 3],
  ['two at a time', { limits: { parallel: 2, perSecond: 5, burst: 10 } }, 2],
  ['any number at a time', { limits: { parallel: null, perSecond: 5, burst: 10 } }, 1],
];
for (const [sentence, change, rounds] of limitRows) {
  scenario(`three images are pulled ${sentence}`, { ...imagesAre(change), runtime: { images } }, (stage) => {
    const { t, node } = stage;
    for (const { reference } of images) node.put(`${reference[5]}.yaml`, podOf(`${reference[5]}`, { uid: `${reference[5]}`, image: reference }));
    let most = 0;
    const took = stage.until(
      'all run',
      () => {
        most = Math.max(most, node.runtime.state.pulls.size);
        return ['a', 'b', 'c'].every((name) => node.status(name)?.phase === 'Running');
      },
      20 * second,
    );
    t.equal(most, Math.ceil(3 / rounds), 'pulls at a time');
    t.ok(took >= rounds * 1.3 * second && took < (rounds * 1.3 + 2) * second, `${took / second} s`);
    const said = ['a', 'b', 'c'].flatMap((name) => messages(stage, name, 'Pulled'));
    t.equal(said.length, 3);
    for (const text of said) t.match(text, /^Successfully pulled image "r\.io\/[abc]:1" in 1\.3(0\d)?s \(\d\.\d+s including waiting\)\. Image size: 50000000 bytes\.$/);
    const waits = said.map((text) => Number(/\(([\d.]+)s including/.exec(text)?.[1])).sort((a, b) => a - b);
    // Seconds are shown in thousandths.
    t.ok((waits[2] ?? 0) >= rounds * 1.3 - 0.001, `the last waited ${waits[2]} s`);
  });
}

scenario('a pull above the rate fails at once and is tried again', { ...imagesAre({ limits: { parallel: null, perSecond: 1, burst: 1 } }), runtime: { images } }, (stage) => {
  const { t, node } = stage;
  for (const name of ['a', 'b']) node.put(`${name}.yaml`, podOf(name, { uid: name, image: `r.io/${name}:1` }));
  stage.run(3 * second);
  const said = ['a', 'b'].flatMap((name) => stage.waits.get(`${name}/c`) ?? []);
  t.ok(said.includes('ErrImagePull pull QPS exceeded'), said.join(' | '));
  stage.untilPhase('a', 'Running', minute);
  stage.untilPhase('b', 'Running', minute);
});

const problemRows: readonly (readonly [
  string,
  { readonly image: string; readonly policy: string; readonly error?: string },
  { readonly reason: string; readonly message: string | RegExp },
  readonly string[],
])[] = [
  [
    'an absent image that must not be pulled',
    { image: 'r.io/a:1', policy: 'Never' },
    { reason: 'ErrImageNeverPull', message: 'Container image "r.io/a:1" is not present with pull policy of Never' },
    ['Warning ErrImageNeverPull Container image "r.io/a:1" is not present with pull policy of Never', 'Warning Failed Error: ErrImageNeverPull'],
  ],
  [
    'a name that is none',
    { image: 'r.io/A:1', policy: 'IfNotPresent' },
    { reason: 'InvalidImageName', message: /^Failed to apply default image tag "r\.io\/A:1": couldn't parse image name "r\.io\/A:1": / },
    ['Warning Failed Error: InvalidImageName'],
  ],
  [
    'a registry that is away',
    { image: 'r.io/a:1', policy: 'Always', error: 'RegistryUnavailable: 503' },
    { reason: 'RegistryUnavailable', message: 'image pull failed for r.io/a:1 because the registry is unavailable: 503' },
    ['Normal Pulling Pulling image "r.io/a:1"', 'Warning Failed Failed to pull image "r.io/a:1": RegistryUnavailable: 503', 'Warning Failed Error: RegistryUnavailable'],
  ],
  [
    'a signature that is wrong',
    { image: 'r.io/a:1', policy: 'IfNotPresent', error: 'SignatureValidationFailed: no key' },
    { reason: 'SignatureValidationFailed', message: 'image pull failed for r.io/a:1 because the signature validation failed: no key' },
    ['Warning Failed Error: SignatureValidationFailed'],
  ],
];
for (const [sentence, { image, policy, error }, wanted, events] of problemRows) {
  const faults =
    error === undefined
      ? []
      : [{ operation: 'images.pull', trigger: {}, action: { kind: 'error' as const, moment: 'before' as const, error: 'unknown' as const, message: error } }];
  scenario(sentence, { runtime: { images }, faults }, (stage) => {
    const { t, node } = stage;
    node.put('p.yaml', withPolicy(podOf('p', { uid: 'p', image }), policy));
    stage.run(4 * second);
    const { reason, message } = wanted;
    const waits = stage.waits.get('p/c') ?? [];
    const isSaid = (text: string) => text.startsWith(`${reason} `) && (typeof message === 'string' ? text === `${reason} ${message}` : message.test(text.slice(reason.length + 1)));
    t.ok(waits.some(isSaid), waits.join(' | '));
    const said = node.events('p').map(({ record: { type, reason, message } }) => `${type} ${reason} ${message}`);
    for (const event of events) t.ok(said.includes(event), `${event} in ${said.join(' | ')}`);
  });
}

scenario('an image that comes late is waited for at growing distances, and the wait is told once', { runtime: { images, registry: 'listed' } }, (stage) => {
  const { t, node } = stage;
  node.put('p.yaml', podOf('p', { uid: 'p', image: 'r.io/none:1' }));
  stage.run(hour);
  const attempts = node.events('p').flatMap(({ at, record }) => (record.reason === 'Pulling' ? [at] : []));
  const gaps = attempts.slice(1).map((at, i) => (at - attempts[i]!) / second);
  for (const [i, least] of [10, 20, 40, 80, 160, 300, 300].entries()) t.ok((gaps[i] ?? 0) >= least && (gaps[i] ?? 0) < least + 25, `${gaps[i]} s, at least ${least}`);
  t.equal(messages(stage, 'p', 'BackOff').length, attempts.length, 'one BackOff between two attempts');
  t.match(waiting(stage, 'p'), { reason: 'ImagePullBackOff', message: /^Back-off pulling image "r\.io\/none:1": ErrImagePull: .*not found/ });
});

// Pull secrets.

const registryLogin = { username: 'u', password: 'right' };
const guarded = [{ reference: 'r.io/private:1', sizeBytes: mega, accepts: [registryLogin] }];

function pullSecret(name: string, password: string, uid = `uid-${name}`): Secret {
  const config = { auths: { 'r.io': { username: 'u', password } } };
  return {
    metadata: { name, namespace: 'default', uid },
    type: 'kubernetes.io/dockerconfigjson',
    data: { '.dockerconfigjson': Buffer.from(JSON.stringify(config)).toString('base64') },
  };
}

/** Static pods may not refer to secrets, so these come by another source. */
const otherSource = { manifestUrl: 'http://127.0.0.1:1/never' };
function privatePod(name: string, secrets: readonly string[], policy = 'IfNotPresent'): Pod {
  const pod = withPolicy(podOf(name, { uid: name, image: 'r.io/private:1' }), policy);
  return { ...pod, spec: { ...pod.spec, enableServiceLinks: true, imagePullSecrets: secrets.map((secret) => ({ name: secret })) } };
}
function send(stage: Stage, ...pods: Pod[]): void {
  stage.node.send({ type: 'podSet', source: 'http', pods });
}
function tell(stage: Stage, ...secrets: Secret[]): void {
  stage.node.send({ type: 'pullSecrets', secrets });
}

scenario('KB025 a pull secret that is put right after six hours of ImagePullBackOff', { ...otherSource, runtime: { images: guarded } }, (stage) => {
  const { t } = stage;
  tell(stage, pullSecret('s', 'wrong'));
  send(stage, privatePod('p', ['s']));
  stage.run(6 * hour);
  t.match(waiting(stage, 'p'), { reason: 'ImagePullBackOff', message: /401 Unauthorized$/ });
  const attempts = messages(stage, 'p', 'Pulling').length;
  t.ok(attempts >= 70 && attempts <= 80, `${attempts} attempts in six hours`);
  const pulls = stage.node.events('p').filter(({ record }) => record.reason === 'Failed' && record.message.startsWith('Failed to pull image'));
  const pauses = pulls.slice(1).map(({ at }, i) => Math.round((at - (pulls[i]?.at ?? 0)) / second));
  t.ok(pauses.length >= 69, `${pauses.length} pauses`);
  for (const [i, pause] of pauses.entries()) {
    const least = Math.min(10 * 2 ** i, 300);
    if (pause < least || pause > least + 10) t.fail(`pause ${i} is ${pause} s, not ${least} s`);
  }
  tell(stage, pullSecret('s', 'right'));
  const took = stage.untilPhase('p', 'Running', 10 * minute);
  t.ok(took <= 5 * minute + 10 * second, `${took / second} s after the change`);
});

scenario(
  'KB025 a tag that appears late',
  {
    runtime: { images },
    faults: [{ operation: 'images.pull', trigger: { untilMicros: 6 * hour }, action: { kind: 'error', moment: 'before', error: 'not-found', message: 'not found' } }],
  },
  (stage) => {
    const { t, node } = stage;
    node.put('p.yaml', podOf('p', { uid: 'p', image: 'r.io/a:1' }));
    stage.run(6 * hour);
    const took = stage.untilPhase('p', 'Running', 10 * minute);
    t.ok(took <= 5 * minute + 10 * second, `${took / second} s after it was there`);
  },
);

scenario('the credentials of several secrets are tried in order', { ...otherSource, runtime: { images: guarded } }, (stage) => {
  const { t, node } = stage;
  tell(stage, pullSecret('bad', 'wrong'), pullSecret('good', 'right'));
  send(stage, privatePod('p', ['bad', 'good']));
  stage.untilPhase('p', 'Running', 20 * second);
  t.strictSame(messages(stage, 'p', 'FailedToRetrieveImagePullSecret'), []);
  t.match(node.host.state.pullRecords.pulled.get(pullRecordFileName(node.runtime.images.find('r.io/private:1')?.id ?? '')), /"name":"good"/);
});

scenario('without its secrets a pod is told so, and pulls as anyone', { ...otherSource, runtime: { images: guarded } }, (stage) => {
  const { t } = stage;
  send(stage, privatePod('p', ['a', '', 'b']));
  stage.run(5 * second);
  t.ok(messages(stage, 'p', 'FailedToRetrieveImagePullSecret').includes('Unable to retrieve some image pull secrets (a, b); attempting to pull the image may not succeed.'));
  t.match(waiting(stage, 'p'), { message: /401 Unauthorized/ });
});

scenario('who may use an image that was pulled with a secret', { ...otherSource, runtime: { images: guarded } }, (stage) => {
  const { t, node } = stage;
  tell(stage, pullSecret('s', 'right'), pullSecret('same', 'right'), pullSecret('other', 'wrong'));
  const first = privatePod('first', ['s']);
  send(stage, first);
  stage.untilPhase('first', 'Running', 20 * second);
  const rows: readonly (readonly [string, Pod, boolean])[] = [
    ['again', privatePod('again', ['s'], 'Never'), true],
    ['same', privatePod('same', ['same'], 'Never'), true],
    ['other', privatePod('other', ['other'], 'Never'), false],
    ['nobody', privatePod('nobody', [], 'Never'), false],
    ['pulls', privatePod('pulls', []), false],
  ];
  send(stage, first, ...rows.map(([, pod]) => pod));
  stage.run(10 * second);
  for (const [name, , may] of rows) t.equal(node.status(name)?.phase, may ? 'Running' : 'Pending', name);
  t.match(waiting(stage, 'nobody'), { reason: 'ErrImageNeverPull' }, 'presence is not disclosed');
  t.match(waiting(stage, 'pulls'), { message: /401 Unauthorized/ });
  const { checks } = node.agent.images.records;
  t.equal(checks.get('credentialRecordFound'), 2, 'each check is counted by its result');
  t.ok((checks.get('mustAuthenticate') ?? 0) >= 3);
});

scenario("an image that was there before anyone pulled it is everyone's", { runtime: { images: [{ reference: 'r.io/a:1', sizeBytes: mega, present: true }] } }, (stage) => {
  const { t, node } = stage;
  node.put('p.yaml', withPolicy(podOf('p', { uid: 'p', image: 'r.io/a:1' }), 'Never'));
  stage.untilPhase('p', 'Running', 10 * second);
  t.strictSame(messages(stage, 'p', 'Pulled'), ['Container image "r.io/a:1" already present on machine and can be accessed by the pod']);
  t.strictSame([...node.agent.images.records.checks], [['credentialPolicyAllowed', 1]]);
});

const killMoments = [0.2, 0.5, 1, 1.35, 1.5, 2];
for (const moment of killMoments) {
  scenario(
    `kill -9 ${moment} s after the manifest of a pod with a slow image: the image is nobody's without proof`,
    { ...otherSource, runtime: { images: [{ ...guarded[0]!, sizeBytes: 50 * mega }] } },
    (stage) => {
      const { t, node } = stage;
      tell(stage, pullSecret('s', 'right'));
      send(stage, privatePod('p', ['s']));
      stage.run(moment * second);
      const begun = stage.reasons('p').includes('Pulling');
      node.kill();
      // The runtime finishes what it was asked for.
      stage.run(3 * second);
      node.start();
      send(stage, privatePod('nobody', [], 'Never'));
      stage.run(10 * second);
      t.match(waiting(stage, 'nobody'), { reason: 'ErrImageNeverPull' });
      const present = node.runtime.images.find('r.io/private:1') !== null;
      t.equal(present, begun, 'what was begun has come');
      t.equal(node.host.state.pullRecords.pulled.size, present ? 1 : 0);
      t.equal(node.host.state.pullRecords.pulling.size, 0, 'no intent is left');
      tell(stage, pullSecret('s', 'right'));
      send(stage, privatePod('again', ['s']));
      stage.untilPhase('again', 'Running', 30 * second);
    },
  );
}

scenario('a pod that goes while its image is pulled leaves the pull, not the queue', { ...otherSource, runtime: { images } }, (stage) => {
  const { t, node } = stage;
  const pods = ['a', 'b', 'c'].map((name) => podOf(name, { uid: name, image: `r.io/${name}:1`, grace: 1, spec: { enableServiceLinks: true } }));
  send(stage, ...pods);
  stage.until('the first is pulled', () => node.runtime.state.pulls.size === 1, 5 * second);
  const [pulled] = node.runtime.state.pulls.keys();
  send(stage);
  stage.run(minute);
  t.strictSame(
    [...node.runtime.state.images.values()].flatMap(({ repoTags }) => repoTags),
    [pulled],
    'only what had begun',
  );
  t.equal(node.host.state.pullRecords.pulled.size, 1, 'with its record');
  t.equal(node.host.state.pullRecords.pulling.size, 0);
  t.equal(node.agent.images.runs.size, 0);
  t.strictSame(node.agent.images.queue, { ...node.agent.images.queue, waiting: [], pulling: new Set() });
});

// The node's own credentials.

scenario('the Docker configuration of the node is for every pod', { runtime: { images: guarded } }, (stage) => {
  const { t, node } = stage;
  node.host.state.dockerConfig = { format: 'config.json', path: '/root/.docker/config.json', text: JSON.stringify({ auths: { 'r.io': registryLogin } }) };
  node.put('p.yaml', podOf('p', { uid: 'p', image: 'r.io/private:1' }));
  stage.untilPhase('p', 'Running', 10 * second);
  t.match([...node.host.state.pullRecords.pulled.values()], [/"nodePodsAccessible":true/]);
});

const provider = {
  name: 'helper',
  matchImages: ['*.io'],
  defaultCacheDuration: 0,
  apiVersion: 'credentialprovider.kubelet.k8s.io/v1',
  args: ['--quiet'],
  env: [],
  tokenAttributes: null,
};
const answer = (change: object = {}) =>
  JSON.stringify({
    kind: 'CredentialProviderResponse',
    apiVersion: provider.apiVersion,
    cacheKeyType: 'Registry',
    cacheDuration: '1h',
    auth: { 'r.io': registryLogin },
    ...change,
  });
const privates = ['1', '2'].map((tag) => ({ reference: `r.io/private:${tag}`, sizeBytes: mega, accepts: [registryLogin] }));

const pluginRows: readonly (readonly [
  string,
  { readonly stdout?: string; readonly failure?: string; readonly takes?: number },
  { readonly runs: number; readonly phase: string },
])[] = [
  ['is asked once for a registry', { stdout: answer() }, { runs: 1, phase: 'Running' }],
  ['is asked once for pods that wait for it together', { stdout: answer({ cacheDuration: '0s' }), takes: 5 * second }, { runs: 1, phase: 'Running' }],
  ['that fails gives nothing', { failure: 'exit status 1: no network' }, { runs: 6, phase: 'Pending' }],
  ['that speaks another version gives nothing', { stdout: answer({ apiVersion: 'credentialprovider.kubelet.k8s.io/v1beta1' }) }, { runs: 6, phase: 'Pending' }],
  ['that speaks no JSON gives nothing', { stdout: 'secret-in-clear' }, { runs: 6, phase: 'Pending' }],
  ['that hangs is given up after a minute', { stdout: answer(), takes: 2 * minute }, { runs: 1, phase: 'Pending' }],
];
for (const [sentence, { stdout = '', failure = null, takes = 100_000 }, { runs, phase }] of pluginRows) {
  scenario(
    `a credential provider plugin ${sentence}`,
    { ...imagesAre({ credentialProviders: [provider], limits: { parallel: null, perSecond: 0, burst: 1 } }), runtime: { images: privates } },
    (stage) => {
      const { t, node } = stage;
      node.host.state.credentialPlugins.set('helper', { stdout, failure, takes });
      for (const tag of ['1', '2']) node.put(`p${tag}.yaml`, podOf(`p${tag}`, { uid: `p${tag}`, image: `r.io/private:${tag}` }));
      stage.run(phase === 'Running' ? 15 * second : 40 * second);
      for (const name of ['p1', 'p2']) t.equal(node.status(name)?.phase, phase, name);
      const asked = node.model.performed.get('registryCredentials.runPlugin') ?? 0;
      t.ok(asked <= runs && asked > 0, `asked ${asked} times, at most ${runs}`);
      if (phase === 'Pending') return;
      t.ok([...node.host.state.pullRecords.pulled.values()].every((text) => text.includes('"nodePodsAccessible":true')));
    },
  );
}

// Image volumes.

scenario('an image that is a volume comes before its container, and only those who mount it wait for it', { runtime: { images, registry: 'listed' } }, (stage) => {
  const { t, node } = stage;
  const pod = podOf('p', { uid: 'p', image: 'r.io/a:1', containers: { c: 'run=forever', d: 'run=forever', e: 'run=forever' } });
  const [c, d, e] = pod.spec.containers;
  const volumes = [
    { name: 'good', image: { reference: 'r.io/b:1', pullPolicy: 'IfNotPresent' } },
    { name: 'bad', image: { reference: 'r.io/none:1', pullPolicy: 'IfNotPresent' } },
  ];
  const mount = (name: string, subPath = '') => [{ name, mountPath: '/model', ...(subPath === '' ? {} : { subPath }) }];
  const containers = [
    { ...c!, volumeMounts: mount('good') },
    { ...d!, volumeMounts: mount('bad') },
    { ...e!, volumeMounts: mount('good', 'x/y') },
  ];
  node.put('p.yaml', { ...pod, spec: { ...pod.spec, volumes, containers } });
  stage.run(20 * second);
  const mounts = node.containers('p').map(({ config }) => config.mounts?.find(({ containerPath }) => containerPath === '/model'));
  const id = node.runtime.images.find('r.io/b:1')?.id;
  t.match(mounts, [
    { hostPath: '', readonly: true, image: { image: id, userSpecifiedImage: 'r.io/b:1' } },
    { hostPath: '', image: { image: id }, imageSubPath: 'x/y' },
  ]);
  t.match(node.status('p')?.containerStatuses, [{ state: { running: {} } }, { state: { waiting: { reason: 'ErrImagePull' } } }, { state: { running: {} } }]);
  stage.run(10 * second);
  t.match(node.status('p')?.containerStatuses, [{ state: { running: {} } }, { state: { waiting: { reason: 'ImagePullBackOff' } } }, { state: { running: {} } }]);
  t.ok(node.events('p').some(({ record }) => record.message === 'Error: ErrImagePull' && record.involvedObject.fieldPath === 'spec.containers{d}'));
});

scenario('an image volume with policy Always is pulled once for each start of its container, not by syncs that only find a back-off', {}, (stage) => {
  const { t, node } = stage;
  const crashing = podOf('p', { uid: 'p', image: 'r.io/a:1', containers: { c: 'run=1s,exit=1' } });
  const [container] = crashing.spec.containers;
  const volume = { name: 'v', image: { reference: 'r.io/content:1', pullPolicy: 'Always' } } as const;
  const mounting = { ...container, name: 'c', imagePullPolicy: 'IfNotPresent', volumeMounts: [{ name: 'v', mountPath: '/v' }] } as const;
  node.put('p.yaml', { ...crashing, spec: { ...crashing.spec, containers: [mounting], volumes: [volume] } });
  stage.run(30 * second);
  // Each change of the object is a sync; most of them find the container waiting.
  for (let n = 0; n < 40; n++) {
    node.put('p.yaml', { ...crashing, metadata: { ...crashing.metadata, labels: { n: String(n) } }, spec: { ...crashing.spec, containers: [mounting], volumes: [volume] } });
    stage.run(5 * second);
  }
  const started = node.model.performed.get('containers.create') ?? 0;
  const pulled = node.model.performed.get('images.pull') ?? 0;
  t.ok(started >= 4, `${started} starts`);
  t.ok(pulled <= started + 1, `${pulled} pulls for ${started} starts: one for each, and one of the container's own image`);
});
