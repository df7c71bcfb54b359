// Variables that come from files in a pod's volumes: read when the container starts, by the agent and not by the runtime.
import { scenario } from './scenario.js';
import { minute, podOf, second } from './sim-pods.js';

const from = (key: string, more: object = {}) => ({ name: key, valueFrom: { fileKeyRef: { volumeName: 'shared', path: 'conf/../app.env', key, ...more } } });

function podWithEnvFile(env: readonly object[]) {
  const mounts = { volumeMounts: [{ name: 'shared', mountPath: '/shared' }] };
  const base = podOf('a', { uid: 'a', init: { write: 'run=3s' }, spec: { volumes: [{ name: 'shared', emptyDir: {} }] } as never });
  const { spec } = base;
  return {
    ...base,
    spec: { ...spec, initContainers: spec.initContainers?.map((one) => ({ ...one, ...mounts })), containers: spec.containers.map((one) => ({ ...one, ...mounts, env })) },
  } as typeof base;
}

scenario('a file that an init container wrote', {}, (stage) => {
  const { t, node } = stage;
  node.put('a.yaml', podWithEnvFile([from('COLOUR'), from('NONE', { optional: true })]));
  stage.until('the init container runs', () => stage.running('a').length === 1, 10 * second);
  const volume = node.host.state.podDirectories.get('a')?.volumes.get('kubernetes.io~empty-dir/shared');
  t.ok(volume, 'the volume is there');
  const bytes = new TextEncoder().encode("# made by write\nCOLOUR='deep blue'\n");
  volume?.nodes.set('app.env', { kind: 'file', bytes, mode: 0o644, uid: 0, gid: 0 });
  stage.untilPhase('a', 'Running', 20 * second);
  const container = node.containers('a').find(({ config }) => config.metadata.name === 'c');
  const env = Object.fromEntries((container?.config.envs ?? []).map(({ key, value }) => [key, typeof value === 'string' ? value : new TextDecoder().decode(value)]));
  t.match(env, { COLOUR: 'deep blue' });
  t.notOk('NONE' in env);
});

for (const [what, content, expected] of [
  ['no file', null, "couldn't parse env file"],
  ['a broken one', 'COLOUR=blue\n', "couldn't parse env file"],
  ['one without the key', "SIZE='1'\n", 'environment variable key "COLOUR" not found in file "/var/lib/kubelet/pods/a/volumes/kubernetes.io~empty-dir/shared/app.env"'],
] as const) {
  scenario(`${what} keeps the container waiting, and is looked at again`, {}, (stage) => {
    const { t, node } = stage;
    node.put('a.yaml', podWithEnvFile([from('COLOUR')]));
    stage.until('the init container runs', () => stage.running('a').length === 1, 10 * second);
    const nodes = node.host.state.podDirectories.get('a')?.volumes.get('kubernetes.io~empty-dir/shared')?.nodes;
    const put = (text: string) => nodes?.set('app.env', { kind: 'file', bytes: new TextEncoder().encode(text), mode: 0o644, uid: 0, gid: 0 });
    if (content !== null) put(content);
    stage.run(20 * second);
    t.match(node.status('a'), { phase: 'Pending', containerStatuses: [{ state: { waiting: { reason: 'CreateContainerConfigError', message: expected } } }] });
    put("COLOUR='red'\n");
    stage.untilPhase('a', 'Running', minute);
  });
}
