// The table of parts: who gets an input, in which order parts start and settle, and what is a programmer's error.
import t from 'tap';
import { newAgentState } from '../../src/domain/agent/agent-state.js';
import { contextOf, type Owner } from '../../src/domain/agent/ownership.js';
import { type AgentPart, type AllSlices, PartTable } from '../../src/domain/agent/part.js';
import { agentParts } from '../../src/domain/agent/parts.js';
import { apiParts } from '../../src/domain/agent/reflectors/api-owners.js';
import { defaultSettings } from '../../src/domain/agent/settings.js';
import { StepContext } from '../../src/domain/agent/step-context.js';
import { nodeFacts } from '../../src/domain/containers/default-node-facts.js';
import type { Address, Turn } from '../../src/domain/kernel/machine.js';
import type { AgentOperations } from '../../src/ports/outbound/outbound-ports.js';

const context = { during: (_turn: unknown, work: () => void) => work() } as unknown as AllSlices;
type Input = Parameters<PartTable['take']>[1];

function recorder(name: string, seen: string[]): AgentPart<Owner> {
  return {
    name,
    start: () => seen.push(`${name} starts`),
    settle: () => seen.push(`${name} settles`),
    events: { runtimeChangesLost: () => seen.push(`${name} gets the event`) },
    machines: { [name]: { replied: (_context, key) => seen.push(`${name}/${key} replied`), woken: (_context, key) => seen.push(`${name}/${key} woken`) } },
  };
}

t.test('inputs go to their parts, in the order of the table', async (t) => {
  const seen: string[] = [];
  const table = new PartTable([recorder('a', seen), recorder('b', seen)]);
  table.take(context, { type: 'start' });
  table.take(context, { type: 'runtimeChangesLost' });
  table.take(context, { type: 'wake', address: { machine: 'b', key: 'u1' } });
  table.take(context, { type: 'reply', address: { machine: 'a', key: '' } } as Input);
  table.settle(context);
  t.strictSame(seen, ['a starts', 'b starts', 'a gets the event', 'b gets the event', 'b/u1 woken', 'a/ replied', 'a settles', 'b settles']);
});

t.test('what no part handles, or two do, is a failed assertion', async (t) => {
  const table = new PartTable([{ name: 'a', machines: { a: {} } }]);
  t.throws(() => table.take(context, { type: 'wake', address: { machine: 'a', key: '' } }), /an unknown address was woken: a/);
  t.throws(() => table.take(context, { type: 'reply', address: { machine: 'b', key: '' } } as Input), /an answer came for an unknown address or operation: b/);
  t.throws(() => table.take(context, { type: 'runtimeChangesLost' }), /no part handles the event: runtimeChangesLost/);
  t.throws(
    () =>
      new PartTable([{ name: 'a', machines: { a: { replies: { 'images.list': () => {} } } } }]).take(context, {
        type: 'reply',
        op: 'images.pull',
        address: { machine: 'a', key: '' },
      } as Input),
    /unknown address or operation: a/,
  );
  t.throws(() => new PartTable([recorder('a', []), recorder('a', [])]), /the machine a of the part a is another part's/);
});

t.test('the parts of the agent have different names', async (t) => {
  t.equal(new Set(agentParts.map(({ name }) => name)).size, agentParts.length);
});

t.test('a part that would do more if it settled again is named', async (t) => {
  const state = newAgentState(defaultSettings, nodeFacts());
  const agent = contextOf<Owner>()(new StepContext(state, apiParts));
  const inFlight = new Set(['d']);
  agent.begin({ now: 1, inFlight: (_address: Address, slot: string) => inFlight.has(slot) } as unknown as Turn<AgentOperations>);
  const address = { machine: 'm', key: 'k' };
  const unsettled = (settle: AgentPart<Owner>['settle'] & {}) =>
    new PartTable([
      { name: 'a', settle: () => {} },
      { name: 'b', settle },
    ]).unsettled(agent);
  t.equal(
    unsettled(({ turn }) => turn.wakeAt(address, turn.now)),
    null,
  );
  t.equal(
    unsettled(({ turn }) => turn.cancel(address, 'c')),
    null,
  );
  t.equal(
    unsettled(({ turn }) => turn.cancel(address, 'd')),
    'b: cancels m/k, d',
  );
  t.equal(
    unsettled(({ turn }) => turn.ask('images.list', address, 'e', null)),
    'b: requests images.list for m/k, e',
  );
  t.equal(
    unsettled(({ turn }) => void turn.random('pause', 'u')),
    'b: draws pause u',
  );
  t.equal(
    unsettled(({ turn }) => turn.log('info', 'more')),
    'b: logs more',
  );
  t.equal(
    unsettled(({ turn }) => turn.end(address)),
    'b: ends m/k',
  );
  t.equal(
    unsettled((p) => p.nodeEvent('Normal', 'R', 'm')),
    'b: sends events.record',
  );
});
