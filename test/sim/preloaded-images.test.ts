// One content under several names: what a pull under one of them means for the others.
import { pullRecordText } from '../../src/domain/images/pull-record-text.js';
import { newImagePullIntent, pullRecordFileName } from '../../src/domain/images/pull-records.js';
import type { Secret } from '../../src/ports/model/config-objects.js';
import type { Pod } from '../../src/ports/model/pod.js';
import { type Stage, scenario } from './scenario.js';
import { podOf, second } from './sim-pods.js';

const mega = 1_000_000;
const registryLogin = { username: 'u', password: 'right' };

function withPolicy(pod: Pod, imagePullPolicy: string): Pod {
  return { ...pod, spec: { ...pod.spec, containers: pod.spec.containers.map((container) => ({ ...container, imagePullPolicy })) } };
}

function pullSecret(name: string, password: string, uid = `uid-${name}`): Secret {
  const config = { auths: { 'r.io': { username: 'u', password } } };
  return {
    metadata: { name, namespace: 'default', uid },
    type: 'kubernetes.io/dockerconfigjson',
    data: { '.dockerconfigjson': Buffer.from(JSON.stringify(config)).toString('base64') },
  };
}

function setSecrets({ node }: Stage, ...secrets: Secret[]): void {
  node.send({ type: 'pullSecrets', secrets });
}

/** Static pods may not refer to secrets, so these come by another source. */
function send({ node }: Stage, ...pods: Pod[]): void {
  node.send({ type: 'podSet', source: 'http', pods });
}

const shared = (reference: string, more: object = {}) => ({ reference, sizeBytes: 50 * mega, content: 'same', ...more });
const privatePod = (name: string, secrets: readonly string[], policy = 'IfNotPresent'): Pod => {
  const pod = named(name, 'r.io/private:1', policy);
  return { ...pod, spec: { ...pod.spec, imagePullSecrets: secrets.map((secret) => ({ name: secret })) } };
};
const mirrored = {
  manifestUrl: 'http://127.0.0.1:1/never',
  runtime: {
    images: [
      shared('r.io/base:1', { present: true }),
      shared('r.io/twice:1', { present: true }),
      shared('r.io/twice:2', { accepts: [registryLogin] }),
      shared('r.io/private:1', { accepts: [registryLogin] }),
    ],
  },
};
const named = (name: string, image: string, policy = 'Never') => withPolicy(podOf(name, { uid: name, image, spec: { enableServiceLinks: true } }), policy);

scenario('a name that was preloaded stays everyone’s when its content is pulled under another name', mirrored, (stage) => {
  const { t, node } = stage;
  setSecrets(stage, pullSecret('s', 'right'));
  const first = privatePod('first', ['s']);
  send(stage, first);
  stage.untilPhase('first', 'Running', 20 * second);
  const rows: readonly (readonly [Pod, boolean])[] = [
    [named('base', 'r.io/base:1'), true],
    [named('twice', 'r.io/twice:1'), true],
    [named('nobody', 'r.io/private:1'), false],
    [privatePod('again', ['s'], 'Never'), true],
  ];
  for (const restarted of [false, true]) {
    if (restarted) node.start();
    if (restarted) setSecrets(stage, pullSecret('s', 'right'));
    send(stage, first, ...rows.map(([pod]) => pod));
    stage.run(20 * second);
    for (const [{ metadata }, may] of rows) t.equal(node.status(metadata.name)?.phase, may ? 'Running' : 'Pending', `${metadata.name}${restarted ? ' after a restart' : ''}`);
  }
});

scenario('an interrupted pull of a preloaded content closes only the name that was pulled', { ...mirrored }, (stage) => {
  const { t, node } = stage;
  node.host.state.pullRecords.pulling.set(pullRecordFileName('r.io/private:1'), pullRecordText(newImagePullIntent('r.io/private:1')));
  node.runtime.images.pull(
    { image: { image: 'r.io/private:1', annotations: {}, runtimeHandler: '' }, credentials: registryLogin, sandboxConfig: null } as never,
    stage.cluster.now,
  );
  node.start();
  stage.run(10 * second);
  send(stage, named('base', 'r.io/base:1'), named('nobody', 'r.io/private:1'));
  stage.run(20 * second);
  t.strictSame([node.status('base')?.phase, node.status('nobody')?.phase], ['Running', 'Pending']);
});
