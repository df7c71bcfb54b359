// Whether a container that ended runs again: policies and rules, one row a case (KEP-5307, KEP-5532).
import t from 'tap';
import {
  effectiveRestartPolicy,
  isRestartableAfterExit,
  isRestartableInit,
  matchingRestartRule,
  podHasRestartAllRule,
  podHasRestartableInit,
  shouldContainerBeRestarted,
  triggersRestartAll,
} from '../../src/domain/status/restart-rules.js';
import type { Container, ContainerRestartRule } from '../../src/ports/model/container.js';
import type { Pod } from '../../src/ports/model/pod.js';
import type { PodRuntimeStatus, RuntimeContainerStatus } from '../../src/ports/model/runtime-status.js';

const rule = (action: string, operator: string, ...values: number[]) => ({ action, exitCodes: { operator, values } }) as ContainerRestartRule;
const container = (restartPolicy?: string, ...restartPolicyRules: ContainerRestartRule[]): Container => ({
  name: 'c',
  ...(restartPolicy === undefined ? {} : { restartPolicy }),
  ...(restartPolicyRules.length === 0 ? {} : { restartPolicyRules }),
});
const podWithPolicy = (restartPolicy: string | undefined, containers: readonly Container[], initContainers?: readonly Container[]): Pod => ({
  metadata: { name: 'p' },
  spec: { containers, ...(restartPolicy === undefined ? {} : { restartPolicy }), ...(initContainers === undefined ? {} : { initContainers }) } as Pod['spec'],
});

t.test('after an exit', async (t) => {
  const restart42 = rule('Restart', 'In', 42);
  const rows: readonly (readonly [what: string, podPolicy: string | undefined, container: Container, exitCode: number, again: boolean])[] = [
    ['Always, success', 'Always', container(), 0, true],
    ['no policy is Always', undefined, container(), 0, true],
    ['an empty policy is Always', '', container(), 0, true],
    ['OnFailure, success', 'OnFailure', container(), 0, false],
    ['OnFailure, failure', 'OnFailure', container(), 1, true],
    ['Never, failure', 'Never', container(), 1, false],
    ['its own Never in an Always pod', 'Always', container('Never'), 1, false],
    ['its own Always in a Never pod', 'Never', container('Always'), 0, true],
    ['its own OnFailure', 'Never', container('OnFailure'), 0, false],
    ['an empty policy of its own is the pod’s', 'Never', container(''), 1, false],
    ['a rule that names the code', 'Never', container('Never', restart42), 42, true],
    ['a rule that names another', 'Never', container('Never', restart42), 41, false],
    ['a rule without a policy of its own does not count', 'Never', container(undefined, restart42), 42, false],
    ['a rule for all of them', 'Never', container('Never', rule('RestartAllContainers', 'In', 7)), 7, true],
    ['an action that nobody knows', 'Never', container('Never', rule('Other', 'In', 7)), 7, false],
    ['NotIn: any other', 'Never', container('Never', rule('Restart', 'NotIn', 1, 2)), 3, true],
    ['NotIn: one of them', 'Never', container('Never', rule('Restart', 'NotIn', 1, 2)), 2, false],
    ['an operator that nobody knows', 'Never', container('Never', rule('Restart', 'Other', 2)), 3, false],
    ['a rule about nothing', 'Never', container('Never', { action: 'Restart' } as ContainerRestartRule), 3, false],
    ['In without values', 'Never', container('Never', { action: 'Restart', exitCodes: { operator: 'In' } } as ContainerRestartRule), 3, false],
    ['NotIn without values', 'Never', container('Never', { action: 'Restart', exitCodes: { operator: 'NotIn' } } as ContainerRestartRule), 3, true],
    ['the first rule that matches counts', 'Never', container('Never', rule('Other', 'In', 5), rule('Restart', 'In', 5)), 5, false],
  ];
  for (const [what, podPolicy, ended, exitCode, again] of rows) t.equal(isRestartableAfterExit(podWithPolicy(podPolicy, [ended]), ended, exitCode), again, what);
});

t.test('which policy, which rule', async (t) => {
  t.equal(effectiveRestartPolicy(podWithPolicy(undefined, []), container()), 'Always');
  t.equal(effectiveRestartPolicy(podWithPolicy('', []), container('')), 'Always');
  t.equal(effectiveRestartPolicy(podWithPolicy('Never', []), container('OnFailure')), 'OnFailure');
  t.equal(matchingRestartRule(container(), 1), null);
  t.same(matchingRestartRule(container(undefined, rule('Restart', 'In', 1)), 1), rule('Restart', 'In', 1), 'whether or not it counts');
  t.equal(triggersRestartAll(container('Never', rule('RestartAllContainers', 'In', 1)), 1), true);
  t.equal(triggersRestartAll(container('Never', rule('Restart', 'In', 1)), 1), false);
  t.equal(triggersRestartAll(container('Never'), 1), false);
});

t.test('what a pod has', async (t) => {
  const all = container('Never', rule('Restart', 'In', 1), rule('RestartAllContainers', 'In', 2));
  const plain = container('Never', rule('Restart', 'In', 1));
  const rows: readonly (readonly [what: string, pod: Pod, restartAll: boolean, sidecar: boolean])[] = [
    ['nothing', podWithPolicy('Always', [container()]), false, false],
    ['rules of another kind', podWithPolicy('Always', [plain]), false, false],
    ['a rule for all, in one of its containers', podWithPolicy('Always', [container(), all]), true, false],
    ['the same in an init container', podWithPolicy('Always', [container()], [container(), all]), true, false],
    ['no init containers', podWithPolicy('Always', [container('Always')], []), false, false],
    ['init containers that end', podWithPolicy('Always', [container()], [container(), container('Never')]), false, false],
    ['a sidecar among them', podWithPolicy('Always', [container()], [container(), container('Always')]), false, true],
  ];
  for (const [what, given, restartAll, sidecar] of rows) t.same([podHasRestartAllRule(given), podHasRestartableInit(given)], [restartAll, sidecar], what);
  t.same([isRestartableInit(container('Always')), isRestartableInit(container('OnFailure')), isRestartableInit(container())], [true, false, false]);
});

t.test('by what the runtime says', async (t) => {
  const one = container();
  const status = (state: string | null, exitCode = 0): PodRuntimeStatus =>
    ({ containers: state === null ? [] : [{ name: 'c', state, exitCode } as RuntimeContainerStatus] }) as unknown as PodRuntimeStatus;
  const rows: readonly (readonly [what: string, policy: string, status: PodRuntimeStatus, again: boolean])[] = [
    ['it was never made', 'Never', status(null), true],
    ['it runs', 'Always', status('running'), false],
    ['it was made, and not started', 'Never', status('created'), true],
    ['nobody knows', 'Never', status('unknown'), true],
    ['it ended well', 'OnFailure', status('exited'), false],
    ['it failed', 'OnFailure', status('exited', 1), true],
  ];
  for (const [what, policy, seen, again] of rows) t.equal(shouldContainerBeRestarted(podWithPolicy(policy, [one]), one, seen), again, what);
  const deleted = { ...podWithPolicy('Always', [one]), metadata: { name: 'p', deletionTimestamp: '2026-01-01T00:00:00Z' } };
  t.equal(shouldContainerBeRestarted(deleted, one, status(null)), false, 'a pod that is deleted starts nothing');
});
