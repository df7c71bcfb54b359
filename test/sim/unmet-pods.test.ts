// Pods that ask for what the runtime or the API has not: they wait, and say for what.
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
