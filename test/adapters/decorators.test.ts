// Decorators of ports: every operation is wrapped, faults come as planned, observations are complete.
import t from 'tap';
import { failingPort, faultInjecting, instrumented, type OperationObservation } from '../../src/adapters/decorators/index.js';
import type { Call, PortOf } from '../../src/ports/operation.js';
import type { ContainerOperations } from '../../src/ports/outbound/container-runtime.js';
import { operationNames } from '../../src/ports/outbound/operation-names.js';
import { PortError } from '../../src/ports/port-error.js';
import { type FaultAction, FaultPlan, type FaultRule } from '../../src/sim/index.js';

const free: Call = { signal: new AbortController().signal, timeoutMicros: null };

/** Counts what was performed; a class, so that a lost `this` shows. */
class Containers implements PortOf<ContainerOperations> {
  readonly performed: string[] = [];
  async create(): Promise<{ readonly containerId: string }> {
    this.performed.push('create');
    return { containerId: 'c' };
  }
  async start({ containerId }: { readonly containerId: string }): Promise<null> {
    this.performed.push(`start ${containerId}`);
    if (containerId === 'bad') throw new PortError({ kind: 'not-found', message: 'gone', operation: 'containers.start', subject: containerId });
    return null;
  }
  async stop(): Promise<null> {
    this.performed.push('stop');
    return null;
  }
  async execSync(): Promise<{ readonly exitCode: number; readonly stdout: string; readonly stderr: string }> {
    this.performed.push('execSync');
    return { exitCode: 0, stdout: '', stderr: '' };
  }
  async remove(): Promise<null> {
    this.performed.push('remove');
    return null;
  }
  async updateResources(): Promise<null> {
    this.performed.push('updateResources');
    return null;
  }
  async reopenLog(): Promise<null> {
    this.performed.push('reopenLog');
    return null;
  }
  async checkpoint(): Promise<null> {
    this.performed.push('checkpoint');
    return null;
  }
}

async function outcome(answer: Promise<unknown>): Promise<string> {
  return answer.then(
    (value) => JSON.stringify(value),
    (error: unknown) => (error instanceof PortError ? `${error.kind} ${error.operation}: ${error.message}` : `not a PortError: ${String(error)}`),
  );
}

t.test('instrumented: one observation a call, with its kind of failure', async (t) => {
  const seen: OperationObservation[] = [];
  let now = 0;
  const containers = new Containers();
  const port = instrumented(
    'containers',
    containers,
    (observation) => seen.push(observation),
    () => (now += 5),
  );
  t.equal(await outcome(port.start({ containerId: 'a' }, free)), 'null');
  t.equal(await outcome(port.start({ containerId: 'bad' }, free)), 'not-found containers.start: gone');
  await port.remove({ containerId: 'a' }, free);
  t.strictSame(seen, [
    { operation: 'containers.start', durationMicros: 5, error: null },
    { operation: 'containers.start', durationMicros: 5, error: 'not-found' },
    { operation: 'containers.remove', durationMicros: 5, error: null },
  ]);
  t.strictSame(containers.performed, ['start a', 'start bad', 'remove']);
});

const error = (moment: 'before' | 'after'): FaultAction => ({ kind: 'error', moment, error: 'unavailable', message: 'down' });
const down = 'unavailable containers.start: down';

/** Rules, and the outcomes of five starts at 0, 1, .. 4 microseconds after the plan's start. */
const plans: readonly (readonly [what: string, rules: readonly FaultRule[], outcomes: readonly string[], performed: number])[] = [
  ['nothing', [], ['null', 'null', 'null', 'null', 'null'], 5],
  ['the second call', [{ operation: 'containers.start', trigger: { nth: 2 }, action: error('before') }], ['null', down, 'null', 'null', 'null'], 4],
  ['the second call, after it was done', [{ operation: 'containers.start', trigger: { nth: 2 }, action: error('after') }], ['null', down, 'null', 'null', 'null'], 5],
  ['a window', [{ operation: 'containers.*', trigger: { fromMicros: 1, untilMicros: 3 }, action: error('before') }], ['null', down, down, 'null', 'null'], 3],
  ['at most twice', [{ operation: '*', trigger: { times: 2 }, action: error('before') }], [down, down, 'null', 'null', 'null'], 3],
  ['never', [{ operation: '*', trigger: { probability: 0 }, action: error('before') }], ['null', 'null', 'null', 'null', 'null'], 5],
  ['always', [{ operation: '*', trigger: { probability: 1 }, action: error('before') }], [down, down, down, down, down], 0],
  [
    'other operations',
    [
      { operation: 'containers.stop', trigger: {}, action: error('before') },
      { operation: 'images.*', trigger: {}, action: error('before') },
    ],
    ['null', 'null', 'null', 'null', 'null'],
    5,
  ],
];

t.test('faults come as planned', async (t) => {
  for (const [what, rules, outcomes, performed] of plans) {
    const containers = new Containers();
    let now = 1_000;
    const port = faultInjecting('containers', containers, new FaultPlan(rules, 1, 1_000), () => now);
    const got: string[] = [];
    for (let i = 0; i < outcomes.length; i++) {
      now = 1_000 + i;
      got.push(await outcome(port.start({ containerId: 'a' }, free)));
    }
    t.strictSame(got, outcomes, what);
    t.equal(containers.performed.length, performed, `${what}: performed`);
  }
});

t.test('chance is the seed, and as likely as it says', async (t) => {
  const rules: readonly FaultRule[] = [{ operation: '*', trigger: { probability: 0.3 }, action: error('before') }];
  const hits = (seed: number) => {
    const plan = new FaultPlan(rules, seed, 0);
    return Array.from({ length: 1_000 }, () => plan.strike('containers.start', 0).length);
  };
  t.strictSame(hits(1), hits(1));
  t.notSame(hits(1), hits(2));
  const count = hits(3).reduce((sum, hit) => sum + hit, 0);
  t.ok(count > 240 && count < 360, `${count} of 1000`);
  const plan = new FaultPlan([...rules, { operation: 'x.y', trigger: {}, action: error('before') }], 1, 0);
  plan.strike('containers.start', 0);
  t.equal(plan.counts[1], 0);
  t.throws(() => new FaultPlan([{ operation: '*', trigger: { probability: 2 }, action: error('before') }], 1, 0));
});

t.test('delays and hangs end by the call itself', async (t) => {
  const slow = (action: FaultAction) => {
    const containers = new Containers();
    return { containers, port: faultInjecting('containers', containers, new FaultPlan([{ operation: '*', trigger: {}, action }], 1, 0)) };
  };
  const late = 'deadline-exceeded containers.stop: context deadline exceeded';
  const request = { containerId: 'a', gracePeriodSeconds: 2 };
  const rows: readonly (readonly [FaultAction, number | null, string, number])[] = [
    [{ kind: 'delay', moment: 'before', micros: 2_000 }, null, 'null', 1],
    [{ kind: 'delay', moment: 'after', micros: 2_000 }, null, 'null', 1],
    [{ kind: 'delay', moment: 'before', micros: 60_000_000 }, 5_000, late, 0],
    [{ kind: 'hang', moment: 'before' }, 5_000, late, 0],
    [{ kind: 'hang', moment: 'after' }, 5_000, late, 1],
  ];
  for (const [action, timeoutMicros, want, performed] of rows) {
    const { containers, port } = slow(action);
    t.equal(await outcome(port.stop(request, { ...free, timeoutMicros })), want, JSON.stringify(action));
    t.equal(containers.performed.length, performed);
  }
  const abort = new AbortController();
  const hanging = outcome(slow({ kind: 'hang', moment: 'before' }).port.stop(request, { signal: abort.signal, timeoutMicros: null }));
  abort.abort();
  t.equal(await hanging, 'cancelled containers.stop: context canceled');
});

t.test('a failing port fails in every operation', async (t) => {
  for (const name of Object.keys(operationNames) as (keyof typeof operationNames)[]) {
    const port = failingPort(name, 'unavailable', 'not here') as unknown as Record<string, (request: unknown, call: Call) => Promise<unknown>>;
    t.strictSame(Object.keys(port), Object.keys(operationNames[name]));
    for (const [operation, perform] of Object.entries(port)) t.equal(await outcome(perform(null, free)), `unavailable ${name}.${operation}: not here`);
  }
});
