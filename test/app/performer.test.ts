// How the daemon hands commands to its ports: at once, but for events to the API, which wait until everything else of the turn is under way.
import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import { performer } from '../../src/app/daemon/performer.js';
import type { KubeletPorts } from '../../src/domain/agent/kubelet.js';

interface Made {
  readonly op: string;
  readonly request: unknown;
  readonly aborted: boolean;
}

function stage() {
  const made: Made[] = [];
  const port = (name: string) =>
    new Proxy(
      {},
      {
        get: (_target, operation) => async (request: unknown, call: { readonly signal: AbortSignal }) => {
          made.push({ op: `${name}.${String(operation)}`, request, aborted: call.signal.aborted });
          return request;
        },
      },
    );
  const ports = new Proxy({}, { get: (_target, name) => port(String(name)) }) as unknown as KubeletPorts;
  const perform = performer(ports, null);
  const calls: AbortController[] = [];
  return {
    made,
    calls,
    perform: (op: string, request: unknown = null): Promise<unknown> => {
      const controller = new AbortController();
      calls.push(controller);
      return perform({ op, request } as unknown as Parameters<typeof perform>[0], { signal: controller.signal, timeoutMicros: null });
    },
  };
}

const event = (number: number) => ({ client: 'events', number });
const status = { client: 'main' };

t.test('events come after what the turn asks for, in their order; statuses don’t wait', async (t) => {
  const { made, perform } = stage();
  const answers = [perform('apiWriter.create', event(1)), perform('containers.start'), perform('apiWriter.patch', event(2)), perform('apiWriter.patch', status)];
  // What is answered within the turn leads to the next command before anything is written.
  await answers[1];
  answers.push(perform('runtime.inspectPod'));
  await Promise.resolve();
  t.strictSame(
    made.map(({ op }) => op),
    ['containers.start', 'apiWriter.patch', 'runtime.inspectPod'],
  );
  t.strictSame(await Promise.all(answers), [event(1), null, event(2), status, null], 'each is answered');
  t.strictSame(
    made.slice(3).map(({ op, request }) => [op, request]),
    [
      ['apiWriter.create', event(1)],
      ['apiWriter.patch', event(2)],
    ],
  );
});

t.test('each turn has its own', async (t) => {
  const { made, perform } = stage();
  for (let i = 0; i < 3; i++) {
    const answer = perform('apiWriter.create', event(i));
    t.equal(made.length, i, 'not yet');
    await nextTurn();
    await answer;
    t.equal(made.length, i + 1, 'in the next turn');
  }
  t.strictSame(
    made.map(({ request }) => request),
    [0, 1, 2].map(event),
  );
});

t.test('an event that is given up meanwhile reaches its port as given up', async (t) => {
  const { made, perform, calls } = stage();
  const answer = perform('apiWriter.create', event(0));
  calls[0]?.abort(new Error('cancelled'));
  await answer;
  t.match(made, [{ op: 'apiWriter.create', aborted: true }]);
});

t.test('reads of the API wait for nothing', async (t) => {
  const { made, perform } = stage();
  void perform('apiReader.list', event(0));
  t.equal(made.length, 1);
});
