// Secrets, config maps and tokens of pods: in variables and in volumes, missing, late, changed, and with an unreachable apiserver.
import t from 'tap';
import { utf8Decode } from '../../src/domain/values/utf8.js';
import type { PodSpec } from '../../src/ports/model/pod.js';
import { SimCluster, type SimClusterOptions } from '../../src/sim/index.js';
import { ApiCaller } from './api-caller.js';

const second = 1_000_000;
const minute = 60 * second;
const hour = 60 * minute;

/** A world with one node, an administrator, and pods of the namespace `default`. */
class DataRun {
  readonly cluster: SimCluster;
  readonly admin: ApiCaller;

  constructor(options: Partial<SimClusterOptions> = {}) {
    const cluster = new SimCluster({ seed: 3, nodes: ['n1'], node: {}, apiserver: { auditLimit: 20_000 }, ...options });
    this.cluster = cluster;
    const clock = {
      get now() {
        return cluster.now;
      },
      set now(_: number) {},
    };
    this.admin = new ApiCaller(cluster.apiserver, undefined, clock);
    cluster.run(5 * second);
  }

  run(micros: number): this {
    this.cluster.run(micros);
    return this;
  }

  pod(name: string, spec: Partial<PodSpec>): string {
    const containers = spec.containers ?? [{ name: 'main', image: 'app:1' }];
    const whole = { nodeName: 'n1', automountServiceAccountToken: false, ...spec, containers };
    const { code, body } = this.admin.create('pods', { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'default' }, spec: whole });
    if (code !== 201) throw new Error(`${code} ${String(body.message)}`);
    return (body.metadata as { readonly uid: string }).uid;
  }

  configMap(name: string, data: Readonly<Record<string, string>>, more: object = {}): void {
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'default' }, data, ...more };
    if (this.admin.create('configmaps', object).code !== 201) this.admin.patch('configmaps', name, { data });
  }

  secret(name: string, data: Readonly<Record<string, string>>): void {
    const object = { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: 'default' }, stringData: data };
    if (this.admin.create('secrets', object).code !== 201) this.admin.patch('secrets', name, { stringData: data });
  }

  /** Puts data where no request could put it. */
  store(resource: 'configmaps' | 'secrets', name: string, data: Readonly<Record<string, string>>): void {
    const objects = this.cluster.apiserver.state.store.objects.get(resource);
    const object = objects?.get(`default/${name}`);
    if (object === undefined) throw new Error(`${resource} ${name} is not there`);
    objects?.set(`default/${name}`, { ...object, data });
  }

  phase(name: string): string {
    const { body } = this.admin.get('pods', name);
    return (body.status as { readonly phase?: string } | undefined)?.phase ?? '';
  }

  waiting(name: string): { readonly reason?: string; readonly message?: string } {
    const status = this.admin.get('pods', name).body.status as { containerStatuses?: { state?: { waiting?: { reason?: string; message?: string } } }[] } | undefined;
    return status?.containerStatuses?.[0]?.state?.waiting ?? {};
  }

  /** A file of a volume as containers see it; null if absent. */
  file(uid: string, plugin: string, volume: string, path: string): string | null {
    const found = this.cluster.node().host.state.podDirectories.get(uid)?.volumes.get(`kubernetes.io~${plugin}/${volume}`);
    const data = found?.nodes.get('..data');
    const node = data?.kind === 'symlink' ? found?.nodes.get(`${data.target}/${path}`) : undefined;
    return node?.kind === 'file' ? utf8Decode(node.bytes) : null;
  }

  env(uid: string): Record<string, string> {
    const container = this.cluster.node().containers(uid).at(-1);
    return Object.fromEntries((container?.config.envs ?? []).map(({ key, value }) => [key, String(value)]));
  }

  messages(name: string, reason: string): string[] {
    return [
      ...new Set(
        this.cluster
          .node()
          .events(name)
          .filter(({ record }) => record.reason === reason)
          .map(({ record }) => record.message),
      ),
    ];
  }

  asked(what: string, since = 0): number {
    return this.cluster.apiserver.audit.entries.filter(({ at, verb, resource, user }) => user === 'system:node:n1' && at >= since && `${verb} ${resource}` === what).length;
  }

  away(code: number | null): void {
    const rules = code === null ? [] : [{ operation: '*', trigger: {}, action: { kind: 'error' as const, code, message: 'away', retryAfterSeconds: null } }];
    this.cluster.apiserver.setFaults(rules, this.cluster.now);
  }
}

const mount = (name: string) => ({ containers: [{ name: 'main', image: 'app:1', volumeMounts: [{ name, mountPath: `/${name}` }] }] });
const configVolume = (name: string, optional = false) => ({ volumes: [{ name: 'c', configMap: { name, ...(optional ? { optional } : {}) } }], ...mount('c') });

t.test('variables from secrets and config maps', async (t) => {
  const run = new DataRun();
  run.configMap('settings', { color: 'blue', size: '3' });
  run.secret('login', { password: 'hunter2' });
  const uid = run.pod('a', {
    containers: [
      {
        name: 'main',
        image: 'app:1',
        envFrom: [{ configMapRef: { name: 'settings' }, prefix: 'S_' }, { secretRef: { name: 'none', optional: true } }],
        env: [
          { name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 'login', key: 'password' } } },
          { name: 'LEFT_OUT', valueFrom: { configMapKeyRef: { name: 'settings', key: 'no', optional: true } } },
        ],
      },
    ],
  });
  run.run(20 * second);
  t.equal(run.phase('a'), 'Running');
  const env = run.env(uid);
  t.match(env, { S_color: 'blue', S_size: '3', PASSWORD: 'hunter2' });
  t.notOk('LEFT_OUT' in env);
  t.strictSame(run.cluster.violations, []);
});

t.test('variables that can’t be had', async (t) => {
  const rows: readonly [string, object, string][] = [
    ['a missing config map', { configMapRef: { name: 'none' } }, 'configmap "none" not found'],
    ['a missing secret', { secretRef: { name: 'none' } }, 'secret "none" not found'],
  ];
  for (const [sentence, source, message] of rows) {
    const run = new DataRun();
    const uid = run.pod('a', { containers: [{ name: 'main', image: 'app:1', envFrom: [source] }] });
    run.run(20 * second);
    t.match(run.waiting('a'), { reason: 'CreateContainerConfigError', message }, sentence);
    t.ok(run.messages('a', 'Failed').includes(`Error: ${message}`));
    if (message.startsWith('config')) run.configMap('none', { x: '1' });
    else run.secret('none', { x: '1' });
    run.run(5 * second);
    t.equal(run.phase('a'), 'Running', `${sentence}: it runs as soon as it is there`);
    t.equal(run.env(uid).x, '1');
  }
  const run = new DataRun();
  run.configMap('settings', { color: 'blue' });
  run.pod('a', { containers: [{ name: 'main', image: 'app:1', env: [{ name: 'X', valueFrom: { configMapKeyRef: { name: 'settings', key: 'no' } } }] }] });
  run.run(20 * second);
  t.match(run.waiting('a'), { reason: 'CreateContainerConfigError', message: "couldn't find key no in ConfigMap default/settings" });
});

t.test('keys that are no names of variables are left out, and an event names them', async (t) => {
  const run = new DataRun();
  run.configMap('settings', { good: '1' });
  run.secret('login', { good: 'x' });
  // A server of v1.36 refuses such keys; what one of another version has stored, it serves.
  run.store('configmaps', 'settings', { good: '1', 'with-dash.and dot': '2', 'k=v': '3', 'a=': '4' });
  run.store('secrets', 'login', { ünï: 'bg==' });
  const envFrom = [
    { configMapRef: { name: 'settings' } },
    { secretRef: { name: 'login' }, prefix: 'S_' },
    { configMapRef: { name: 'settings' }, prefix: 'OK ' },
    { configMapRef: { name: 'absent', optional: true } },
  ];
  const uid = run.pod('a', { containers: [{ name: 'main', image: 'app:1', envFrom }] });
  run.run(20 * second);
  t.equal(run.phase('a'), 'Running', 'the container starts without them');
  const names = Object.keys(run.env(uid)).filter((name) => !/SERVICE|KUBERNETES/.test(name));
  t.strictSame(names.sort(), ['OK good', 'OK with-dash.and dot', 'good', 'with-dash.and dot'], 'printable ASCII without = is a name, by the rule of v1.36');
  t.strictSame(run.messages('a', 'InvalidEnvironmentVariableNames').sort(), [
    'Keys [OK a=, OK k=v] from the EnvFrom configMap default/settings were skipped since they are considered invalid environment variable names.',
    'Keys [S_ünï] from the EnvFrom secret default/login were skipped since they are considered invalid environment variable names.',
    'Keys [a=, k=v] from the EnvFrom configMap default/settings were skipped since they are considered invalid environment variable names.',
  ]);
});

t.test('volumes follow what they show', async (t) => {
  const run = new DataRun();
  run.configMap('settings', { color: 'blue' });
  run.secret('login', { password: 'old' });
  const a = run.pod('a', configVolume('settings'));
  const b = run.pod('b', { volumes: [{ name: 's', secret: { secretName: 'login' } }], ...mount('s') });
  run.run(20 * second);
  t.strictSame([run.phase('a'), run.phase('b')], ['Running', 'Running']);
  t.equal(run.file(a, 'configmap', 'c', 'color'), 'blue');
  t.equal(run.file(b, 'secret', 's', 'password'), 'old');
  t.equal(run.cluster.node().host.state.podDirectories.get(a)?.volumes.get('kubernetes.io~configmap/c')?.tmpfsBytes, null, 'a config map is on disk');
  t.not(run.cluster.node().host.state.podDirectories.get(b)?.volumes.get('kubernetes.io~secret/s')?.tmpfsBytes, null, 'a secret never is');
  run.configMap('settings', { color: 'red', shape: 'round' });
  run.secret('login', { password: 'new' });
  run.run(90 * second);
  t.equal(run.file(a, 'configmap', 'c', 'color'), 'red', 'within one and a half periods');
  t.equal(run.file(a, 'configmap', 'c', 'shape'), 'round');
  t.equal(run.file(b, 'secret', 's', 'password'), 'new');
  t.equal(run.cluster.node().containers(a).length, 1, 'nothing restarts');
  run.run(20 * minute);
  run.configMap('settings', { color: 'green' });
  run.run(90 * second);
  t.equal(run.file(a, 'configmap', 'c', 'color'), 'green', 'after a long rest too');
  t.equal(run.asked('get secrets') + run.asked('get configmaps'), 0, 'by watches alone');
});

t.test('objects that are missing', async (t) => {
  const run = new DataRun();
  const optional = run.pod('optional', configVolume('later', true));
  const required = run.pod('required', configVolume('later'));
  run.run(30 * second);
  t.equal(run.phase('optional'), 'Running');
  t.equal(run.phase('required'), 'Pending');
  t.strictSame(run.messages('required', 'FailedMount'), ['MountVolume.SetUp failed for volume "c" : configmap "later" not found']);
  run.configMap('later', { x: '1' });
  run.run(90 * second);
  t.equal(run.phase('required'), 'Running');
  t.equal(run.file(optional, 'configmap', 'c', 'x'), '1', 'the file appears');
  run.admin.remove('configmaps', 'later', {});
  run.run(3 * minute);
  t.equal(run.file(required, 'configmap', 'c', 'x'), '1', 'what is required stays as it was');
  t.equal(run.phase('required'), 'Running');
  t.equal(run.file(optional, 'configmap', 'c', 'x'), null, 'what is optional goes');
  run.configMap('later', { x: '2' });
  run.run(90 * second);
  t.equal(run.file(required, 'configmap', 'c', 'x'), '2', 'and it follows again');
});

t.test('tokens are replaced before they end', async (t) => {
  const run = new DataRun();
  const sources = [{ serviceAccountToken: { path: 'token', expirationSeconds: 600 } }, { downwardAPI: { items: [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }] } }];
  const uid = run.pod('a', { volumes: [{ name: 'p', projected: { sources } }], ...mount('p') });
  run.run(30 * second);
  t.equal(run.phase('a'), 'Running');
  t.equal(run.file(uid, 'projected', 'p', 'name'), 'a');
  const first = run.file(uid, 'projected', 'p', 'token');
  t.ok((first ?? '').length > 10);
  run.run(7 * minute);
  t.equal(run.file(uid, 'projected', 'p', 'token'), first, 'it stays for four fifths of its life');
  run.run(90 * second);
  const next = run.file(uid, 'projected', 'p', 'token');
  t.not(next, first, 'and is replaced then');
  const since = run.cluster.now;
  run.run(hour);
  const asked = run.asked('create serviceaccounts/token', since);
  t.ok(asked >= 6 && asked <= 9, `one request each eight minutes: ${asked} in an hour`);
  run.admin.remove('pods', 'a', { gracePeriodSeconds: 1 });
  run.run(minute);
  t.equal(run.cluster.node().agent.api?.tokens.tokens.size, 0, 'a pod that is gone leaves no token');
});

t.test('an apiserver that is away while tokens age', async (t) => {
  const run = new DataRun();
  const uid = run.pod('a', { volumes: [{ name: 'p', projected: { sources: [{ serviceAccountToken: { path: 'token', expirationSeconds: 600 } }] } }], ...mount('p') });
  run.run(30 * second);
  const first = run.file(uid, 'projected', 'p', 'token');
  run.run(6 * minute);
  run.away(503);
  run.run(3 * minute);
  t.equal(run.file(uid, 'projected', 'p', 'token'), first);
  t.strictSame(run.messages('a', 'FailedMount'), [], 'a token that lives is no reason to complain');
  run.run(4 * minute);
  t.match(run.messages('a', 'FailedMount')[0], /^MountVolume\.SetUp failed for volume "p" : token .* expired and refresh failed: /);
  t.equal(run.cluster.node().containers(uid)[0]?.state, 'running', 'the pod runs on');
  run.away(null);
  run.run(2 * minute);
  t.not(run.file(uid, 'projected', 'p', 'token'), first, 'it is replaced when the server is back');
});

t.test('a token that can’t be had keeps its pod waiting', async (t) => {
  const run = new DataRun();
  run.cluster.apiserver.setFaults(
    [{ operation: 'create.serviceaccounts/token', trigger: {}, action: { kind: 'error', code: 500, message: 'no', retryAfterSeconds: null } }],
    run.cluster.now,
  );
  run.pod('a', { volumes: [{ name: 'p', projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } }], ...mount('p') });
  run.run(30 * second);
  t.equal(run.phase('a'), 'Pending');
  t.match(run.messages('a', 'FailedMount')[0], /^MountVolume\.SetUp failed for volume "p" : failed to fetch token: /);
  run.cluster.apiserver.setFaults([], run.cluster.now);
  run.run(minute);
  t.equal(run.phase('a'), 'Running');
});

t.test('what is watched, and until when', async (t) => {
  const run = new DataRun();
  run.configMap('shared', { x: '1' });
  run.configMap('frozen', { x: '1' }, { immutable: true });
  run.pod('a', configVolume('shared'));
  run.pod('b', configVolume('shared'));
  run.pod('c', configVolume('frozen'));
  run.run(30 * second);
  const watched = () => [...(run.cluster.node().agent.api?.reflectors.keys() ?? [])].filter((name) => name.startsWith('configmaps:')).sort();
  t.strictSame(watched(), ['configmaps:default/shared'], 'what can’t change is not watched');
  run.admin.remove('pods', 'a', { gracePeriodSeconds: 1 });
  run.run(minute);
  t.strictSame(watched(), ['configmaps:default/shared'], 'as long as one pod is left');
  run.admin.remove('pods', 'b', { gracePeriodSeconds: 1 });
  run.run(minute);
  t.strictSame(watched(), []);
  run.secret('login', { password: 'x' });
  run.pod('d', { containers: [{ name: 'main', image: 'app:1', envFrom: [{ secretRef: { name: 'login' } }] }] });
  const secrets = () => [...(run.cluster.node().agent.api?.reflectors.keys() ?? [])].filter((name) => name.startsWith('secrets:'));
  run.run(30 * second);
  t.equal(secrets().length, 1);
  run.run(12 * minute);
  t.equal(secrets().length, 0, 'what only variables need is let go of');
});

t.test('the other strategies', async (t) => {
  for (const objectChangeDetection of ['Cache', 'Get'] as const) {
    const run = new DataRun({ settings: { objectChangeDetection } });
    run.configMap('settings', { color: 'blue' });
    const a = run.pod('a', configVolume('settings'));
    run.run(30 * second);
    t.equal(run.file(a, 'configmap', 'c', 'color'), 'blue', objectChangeDetection);
    run.configMap('settings', { color: 'red' });
    run.run((objectChangeDetection === 'Cache' ? 3 : 1.6) * minute);
    t.equal(run.file(a, 'configmap', 'c', 'color'), 'red', `${objectChangeDetection}: it follows`);
    t.equal(run.asked('list configmaps'), 0, `${objectChangeDetection}: without a watch`);
    run.away(503);
    run.run(5 * minute);
    t.equal(run.file(a, 'configmap', 'c', 'color'), 'red', `${objectChangeDetection}: and keeps what it had`);
    run.away(null);
    run.run(3 * minute);
    t.equal(run.phase('a'), 'Running');
  }
});

t.test('a restart of the agent', async (t) => {
  const run = new DataRun();
  run.configMap('settings', { color: 'blue' });
  const uid = run.pod('a', configVolume('settings'));
  run.run(30 * second);
  run.cluster.node().kill();
  run.configMap('settings', { color: 'red' });
  run.run(10 * second);
  run.cluster.node().start();
  run.run(30 * second);
  t.equal(run.file(uid, 'configmap', 'c', 'color'), 'red', 'what changed meanwhile is shown');
  t.equal(run.cluster.node().containers(uid).length, 1);
  t.strictSame(run.cluster.violations, []);
});

t.test('runtime classes', async (t) => {
  const run = new DataRun({ runtime: { runtimeHandlers: ['kata'] } });
  const made = run.admin.ask({
    verb: 'create',
    resource: { group: 'node.k8s.io', version: 'v1', plural: 'runtimeclasses' },
    namespace: null,
    name: null,
    subresource: null,
    body: { apiVersion: 'node.k8s.io/v1', kind: 'RuntimeClass', metadata: { name: 'sandboxed' }, handler: 'kata' },
  });
  t.equal(made.code, 201);
  const uid = run.pod('a', { runtimeClassName: 'sandboxed' });
  run.run(20 * second);
  t.equal(run.phase('a'), 'Running');
  t.equal(run.cluster.node().sandboxes(uid)[0]?.runtimeHandler, 'kata');
  t.strictSame(
    run.cluster.node().agent.nodeFacts.runtimeHandlers.map(({ name }) => name),
    ['', 'kata'],
  );
});

t.test('pull secrets', async (t) => {
  const images = [{ reference: 'private.example/app:1', sizeBytes: 1_000_000, needsCredentials: true }];
  const run = new DataRun({ runtime: { registry: 'listed', images } });
  const config = JSON.stringify({ auths: { 'private.example': { username: 'u', password: 'p' } } });
  const object = {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'kubernetes.io/dockerconfigjson',
    metadata: { name: 'pull', namespace: 'default' },
    stringData: { '.dockerconfigjson': config },
  };
  t.equal(run.admin.create('secrets', object).code, 201);
  run.pod('a', { containers: [{ name: 'main', image: 'private.example/app:1' }], imagePullSecrets: [{ name: 'pull' }] });
  run.pod('b', { containers: [{ name: 'main', image: 'private.example/app:1' }] });
  run.run(30 * second);
  t.equal(run.phase('a'), 'Running', 'with the secret it may pull');
  t.strictSame(run.messages('a', 'FailedToRetrieveImagePullSecret'), []);
  t.equal(run.phase('b'), 'Pending', 'without it may not');
});
