// Pods that ask for what the runtime or the API has not: they wait, and say for what. Those that ask for what the host or the node's gates
// have not are refused for good.
import type { AgentSettings } from '../../src/domain/agent/settings.js';
import { scenario } from './scenario.js';
import { podOf, second } from './sim-pods.js';

const rows: readonly (readonly [string, object, string])[] = [
  ['a runtime class on a node without an apiserver', { runtimeClassName: 'kata' }, 'runtimeclass.node.k8s.io "kata" not found'],
  ['a user namespace on a runtime that offers none', { hostUsers: false }, "can't set `spec.hostUsers: false`, runtime does not support user namespaces"],
];
for (const [sentence, spec, problem] of rows) {
  scenario(sentence, { facts: { runtimeHandlers: [] }, runtime: { userNamespaces: false } }, (stage) => {
    const { t, node } = stage;
    node.put('p.yaml', podOf('p', { uid: 'p', spec }));
    stage.run(20 * second);
    t.match(node.status('p'), { phase: 'Pending' });
    t.equal(node.sandboxes('p').length, 0);
    const said = node.events('p').map(({ record: { type, reason, message } }) => `${type} ${reason} ${message}`);
    t.ok(
      said.some((text) => text.startsWith('Warning FailedCreatePodSandBox Failed to create pod sandbox: ') && text.endsWith(problem)),
      said.join(' | '),
    );
  });
}

const confined = { securityContext: { appArmorProfile: { type: 'RuntimeDefault' } } };
const noAppArmor = { appArmorProblem: 'AppArmor is not enabled on the host' };
const restartRule = { action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } };
const restartsAll = { containers: [{ name: 'c', image: 'busybox', restartPolicy: 'Always', restartPolicyRules: [restartRule] }] };
const refusals: readonly (readonly [string, Partial<AgentSettings>, object, { readonly reason: string; readonly message: string } | null])[] = [
  ['a profile on a host without AppArmor', noAppArmor, confined, { reason: 'AppArmor', message: 'Cannot enforce AppArmor: AppArmor is not enabled on the host' }],
  ['a profile where AppArmor is', {}, confined, null],
  ['no confinement on a host without AppArmor', noAppArmor, { securityContext: { appArmorProfile: { type: 'Unconfined' } } }, null],
  ['no profile on a host without AppArmor', noAppArmor, {}, null],
  [
    'resources of the pod with their gate off',
    { podLevelResources: false },
    { resources: { limits: { cpu: '1' } } },
    { reason: 'PodLevelResourcesNotSupported', message: 'PodLevelResources feature gate is disabled' },
  ],
  ['resources of the pod with their gate on', {}, { resources: { limits: { cpu: '1' } } }, null],
  [
    'a rule that restarts all containers with its gate off',
    { declaredFeatures: [] },
    restartsAll,
    { reason: 'PodFeatureUnsupported', message: 'Pod requires node features that are not available: RestartAllContainersOnContainerExits' },
  ],
  ['the same with its gate on', {}, restartsAll, null],
  ['the same where nobody asks', { declaredFeatures: null }, restartsAll, null],
  [
    'what there is no room for is told first',
    noAppArmor,
    { ...confined, nodeSelector: { disk: 'ssd' } },
    {
      reason: 'NodeAffinity',
      message: "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
    },
  ],
];
for (const [sentence, settings, spec, refusal] of refusals) {
  scenario(sentence, { settings }, (stage) => {
    const { t, node } = stage;
    node.put('p.yaml', podOf('p', { uid: 'p', spec }));
    if (refusal === null) {
      stage.untilPhase('p', 'Running', 60 * second);
      return;
    }
    stage.untilPhase('p', 'Failed', 20 * second);
    const { reason, message } = refusal;
    t.match(node.status('p'), { reason, message: `Pod was rejected: ${message}` });
    stage.run(60 * second);
    t.equal(node.sandboxes().length, 0, 'nothing was begun');
    const said = node.events('p').map(({ record }) => [record.type, record.reason, record.message]);
    t.strictSame(said, [['Warning', reason, message]], 'said once');
  });
}

scenario('a change that needs a feature which the node does not declare is told, and goes on', {}, (stage) => {
  const { t, node } = stage;
  const of = (cpu: string, env: string) => podOf('p', { uid: 'p', env, spec: { resources: { requests: { cpu } } } });
  node.put('p.yaml', of('1', 'a'));
  stage.untilPhase('p', 'Running', 60 * second);
  const told = (): string[] =>
    node
      .events('p')
      .filter(({ record }) => record.reason === 'FailedNodeDeclaredFeaturesCheck')
      .map(({ record: { type, message } }) => `${type} ${message}`);
  node.put('p.yaml', of('1000m', 'b'));
  stage.run(20 * second);
  t.strictSame(told(), [], 'another change');
  node.put('p.yaml', of('2', 'b'));
  stage.run(20 * second);
  t.strictSame(told(), ['Warning Pod requires node features that are not available: InPlacePodLevelResourcesVerticalScaling']);
  t.match(node.status('p'), { phase: 'Running' });
});
