// The node and its CSINode: not ready before it exists, with the reason, and recreated if it is another Node's.
import t from 'tap';
import { type KubeletEvent, type KubeletOperations, type KubeletState, kubeletMachine } from '../../src/domain/agent/kubelet.js';
import type { Machine } from '../../src/domain/kernel/machine.js';
import type { Node } from '../../src/ports/model/node.js';
import type { Outcome, PortErrorKind } from '../../src/ports/port-error.js';
import { CsiRun, driver } from './csi-run.js';
import { VolumeRun } from './volume-run.js';

const second = 1_000_000;

interface Refusals {
  /** What the apiserver says about the CSINode, by operation, or by the kind that is read; left out: what it would say. */
  readonly answers: Map<string, PortErrorKind>;
  /** When each was asked for. */
  readonly asked: number[];
}

/** An agent whose calls about its CSINode get the given refusals. */
function refusing({ answers, asked }: Refusals): (state: KubeletState) => Machine<KubeletState, KubeletEvent, KubeletOperations> {
  return (state) => {
    const machine = kubeletMachine(state);
    return {
      step(given, input, turn) {
        if (input.type !== 'reply' || input.address.machine !== 'csi-node') {
          machine.step(given, input, turn);
          return;
        }
        const shown = input.op === 'apiReader.get' && input.outcome.ok ? (input.outcome.value as { readonly kind?: string }).kind : undefined;
        const kind = answers.get(input.op) ?? answers.get(shown ?? '');
        if (input.op.startsWith('apiWriter')) asked.push(turn.now);
        const outcome: Outcome<never> | null =
          kind === undefined ? null : { ok: false, error: { kind, message: 'no such thing here', operation: '', subject: '', retryAfterMicros: null } };
        machine.step(given, outcome === null ? input : { ...input, outcome }, turn);
      },
    };
  };
}

function ready(run: VolumeRun): object | undefined {
  const { status } = run.admin.get('nodes', 'n1', null).body as unknown as Node;
  return status?.conditions?.find(({ type }) => type === 'Ready');
}

t.test('a node is not ready before its CSINode can be read and written, and is at once when it can', async (t) => {
  const refusals: Refusals = { answers: new Map([['apiReader.get', 'permission-denied']]), asked: [] };
  const run = new VolumeRun({ settings: { takesPlugins: true }, agent: refusing(refusals) });
  run.run(30 * second);
  t.match(ready(run), { status: 'False', reason: 'KubeletNotReady', message: 'CSINode is not yet initialized' });
  t.equal(run.admin.get('csinodes', 'n1', null).code, 404);
  refusals.answers.clear();
  refusals.answers.set('apiWriter.create', 'unimplemented');
  // What was made all the same isn't seen.
  refusals.answers.set('CSINode', 'not-found');
  run.run(30 * second);
  const cause = 'error updating CSINode annotation: timed out waiting for the condition; caused by: no such thing here';
  t.match(ready(run), { status: 'False', reason: 'KubeletNotReady', message: `failed to initialize CSINode: ${cause}` });
  run.run(400 * second);
  const pauses = refusals.asked.slice(1).map((at, i) => (at - (refusals.asked[i] ?? 0)) / second);
  const close = (pause: number, expected: number) => pause >= expected && pause < expected + 0.5;
  const expected = [0.03, 0.24, 1.92, 15.36, 122.88, 123, 123];
  t.ok(pauses.length >= 6 && pauses.every((pause, i) => close(pause, expected[i] ?? 123)), `it is tried after ${pauses.join(' s, ')} s`);
  refusals.answers.clear();
  run.until('it is ready', () => (ready(run) as { status?: string }).status === 'True', 200 * second);
  t.match(ready(run), { reason: 'KubeletReady', message: 'kubelet is posting ready status' });
  t.strictSame(run.cluster.violations, []);
});

t.test('an apiserver that knows of no CSINodes holds up no node', async (t) => {
  const refusals: Refusals = { answers: new Map<string, PortErrorKind>([['apiWriter.create', 'not-found']]), asked: [] };
  refusals.answers.set('CSINode', 'not-found');
  const run = new VolumeRun({ settings: { takesPlugins: true }, agent: refusing(refusals) });
  run.run(30 * second);
  t.match(ready(run), { status: 'True' });
  t.ok(refusals.asked.length > 1, 'it is asked for again');
});

t.test('a node that takes no plugins needs none', async (t) => {
  const run = new VolumeRun();
  run.run(10 * second);
  t.match(ready(run), { status: 'True' });
  t.equal(run.admin.get('csinodes', 'n1', null).code, 404);
});

t.test('a CSINode of an earlier Node of this name goes, with what it said of drivers', async (t) => {
  const run = new CsiRun();
  run.until('it is there', () => run.admin.get('csinodes', 'n1', null).code === 200);
  run.cluster.node().kill();
  run.admin.remove('csinodes', 'n1', {}, null);
  const ownerReferences = [{ apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'an-earlier-one' }];
  const spec = { drivers: [{ name: 'gone.example.com', nodeID: 'x' }] };
  t.equal(run.admin.create('csinodes', { apiVersion: 'storage.k8s.io/v1', kind: 'CSINode', metadata: { name: 'n1', ownerReferences }, spec }, null).code, 201);
  run.cluster.node().start();
  run.registered();
  const uid = (run.admin.get('nodes', 'n1', null).body.metadata as { uid: string }).uid;
  t.match(run.admin.get('csinodes', 'n1', null).body.metadata, { ownerReferences: [{ kind: 'Node', uid }] });
  t.match(run.csiNode(), [{ name: driver }]);
  t.equal((run.csiNode() as readonly unknown[]).length, 1);
});

t.test('a Node that is deleted under the agent comes again, with its CSINode and its drivers', async (t) => {
  const run = new CsiRun();
  run.registered();
  const before = (run.admin.get('nodes', 'n1', null).body.metadata as { uid: string }).uid;
  run.admin.remove('csinodes', 'n1', {}, null);
  run.admin.remove('nodes', 'n1', {}, null);
  run.until('it is there again', () => run.admin.get('nodes', 'n1', null).code === 200);
  run.until('and what belongs to it', () => JSON.stringify(run.csiNode() ?? null).includes(driver));
  const { uid } = run.admin.get('nodes', 'n1', null).body.metadata as { uid: string };
  t.not(uid, before);
  t.match(run.admin.get('csinodes', 'n1', null).body.metadata, { ownerReferences: [{ kind: 'Node', uid }] });
  run.until('and it says so itself', () => run.node().annotations?.['csi.volume.kubernetes.io/nodeid'] !== undefined);
  t.strictSame(run.cluster.violations, []);
});
