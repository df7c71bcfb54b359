// The lease as a node keeps it: against an API server in memory that can be away.
import t from 'tap';
import type { Command, Machine } from '../../src/domain/kernel/machine.js';
import { type LeaseKeeper, type LeaseOperations, type LeaseReply, leaseReplied, leaseWanted, leaseWoken, newLeaseKeeper, renewLease } from '../../src/domain/lease/lease-keeper.js';
import { microsPerSecond } from '../../src/domain/values/time.js';
import type { Lease } from '../../src/ports/model/lease.js';
import type { Outcome } from '../../src/ports/port-error.js';
import { failure, MachineRun, ok } from './machine-run.js';

const second = microsPerSecond;
const frequency = 10 * second;

class Server {
  lease: Lease | null = null;
  nodeUid: string | null = null;
  away: Outcome<never> | null = null;
  private version = 0;

  answer(command: Command<LeaseOperations>): Outcome<unknown> {
    if (this.away !== null) return this.away;
    const request = command.request as { readonly resource: { readonly plural: string }; readonly object?: Lease };
    if (request.resource.plural === 'nodes') return this.nodeUid === null ? failure('not-found') : ok({ metadata: { name: 'n1', uid: this.nodeUid } });
    if (command.op === 'apiReader.get') return this.lease === null ? failure('not-found') : ok(this.lease);
    if (command.op === 'apiWriter.create') return this.lease === null ? ok(this.store(request.object)) : failure('already-exists');
    if (this.lease === null) return failure('not-found');
    return request.object?.metadata.resourceVersion === this.lease.metadata.resourceVersion ? ok(this.store(request.object)) : failure('aborted');
  }

  store(lease: Lease | undefined): Lease {
    const { metadata, spec } = lease as Lease;
    this.lease = { metadata: { ...metadata, resourceVersion: String(++this.version) }, spec };
    return this.lease;
  }
}

type Input = { readonly type: 'node-known'; readonly uid: string } | { readonly type: 'start'; readonly uid: string | null };

function keeper(server: Server) {
  let known: string | null = null;
  const machine: Machine<LeaseKeeper, Input, LeaseOperations> = {
    step(state, input, turn) {
      if (input.type === 'start') renewLease(state, null, turn);
      else if (input.type === 'node-known') {
        known = (input as { readonly uid: string }).uid;
        leaseWanted(state, known, turn);
      } else if (input.type === 'wake') leaseWoken(state, known, turn);
      else leaseReplied(state, input as LeaseReply, turn);
    },
  };
  return new MachineRun<LeaseKeeper, Input, LeaseOperations>(machine, newLeaseKeeper('n1', 40, frequency), (command) => server.answer(command));
}

const owner = (uid: string) => [{ apiVersion: 'v1', kind: 'Node', name: 'n1', uid }];
const foreign = (holder: string, uid: string | null): Lease => ({
  metadata: { name: 'n1', namespace: 'kube-node-lease', ...(uid === null ? {} : { ownerReferences: owner(uid) }) },
  spec: { holderIdentity: holder, leaseDurationSeconds: 7 },
});

t.test('KB068: whatever is there at the start, the lease is this node’s in the end', async (t) => {
  const rows: readonly [string, string | null, Lease | null][] = [
    ['neither node nor lease', null, null],
    ['a node without a lease', 'u1', null],
    ['a lease without a node', null, foreign('n1', 'u0')],
    ['both', 'u1', foreign('n1', 'u1')],
    ['a lease of another holder', 'u1', foreign('other', null)],
    ['a lease of a node that is gone', 'u1', foreign('n1', 'u0')],
  ];
  for (const [sentence, nodeUid, lease] of rows) {
    const server = new Server();
    server.nodeUid = nodeUid;
    if (lease !== null) server.store(lease);
    const run = keeper(server).feed({ type: 'start', uid: null }).pass(second);
    // The node is registered, and seen.
    server.nodeUid = 'u1';
    run.feed({ type: 'node-known', uid: 'u1' }).pass(second);
    t.match(server.lease, { metadata: { name: 'n1', ownerReferences: owner('u1') }, spec: { holderIdentity: 'n1', leaseDurationSeconds: 40 } }, sentence);
    t.equal(server.lease?.metadata.ownerReferences?.length, 1);
  }
});

t.test('KB068: what is deleted while the agent runs', async (t) => {
  const server = new Server();
  server.nodeUid = 'u1';
  const run = keeper(server)
    .feed({ type: 'start', uid: null })
    .feed({ type: 'node-known', uid: 'u1' })
    .pass(30 * second);
  server.lease = null;
  run.pass(11 * second);
  t.match(server.lease, { spec: { holderIdentity: 'n1' } }, 'a deleted lease is back at the next renewal');
  server.lease = null;
  server.nodeUid = null;
  run.pass(60 * second);
  server.nodeUid = 'u2';
  run.feed({ type: 'node-known', uid: 'u2' }).pass(second);
  t.match(server.lease, { metadata: { ownerReferences: owner('u2') } }, 'with the node there anew it is the new node’s');
});

t.test('times', async (t) => {
  const server = new Server();
  server.nodeUid = 'u1';
  const run = keeper(server)
    .feed({ type: 'start', uid: null })
    .pass(600 * second);
  const writes = run.commands.filter(({ command }) => command.op !== 'apiReader.get');
  const gaps = writes.slice(1).map(({ at }, i) => at - (writes[i] as { readonly at: number }).at);
  t.ok(
    gaps.every((gap) => gap >= 10 * second && gap <= 10.4 * second),
    'it is renewed each ten seconds, with up to 4 % more',
  );
  t.equal(run.commands.length - writes.length, 2, 'by one write alone');
  t.ok(
    run.commands.every(({ command }) => command.timeoutMicros === frequency),
    'no call takes longer than the node’s status may',
  );
});

t.test('a server that is away, and one that asks for time', async (t) => {
  const server = new Server();
  server.nodeUid = 'u1';
  const run = keeper(server)
    .feed({ type: 'start', uid: null })
    .pass(60 * second);
  server.away = failure('unavailable');
  const before = run.commands.length;
  run.pass(600 * second);
  t.ok(run.commands.length - before < 110, 'it is asked ever more rarely');
  server.away = null;
  run.pass(8 * second);
  t.ok(Date.parse(server.lease?.spec.renewTime ?? '') * 1000 > run.now - 8 * second, 'and the lease lives within seconds of its return');
  server.away = failure('resource-exhausted', 'slow down', 30 * second);
  run.pass(15 * second);
  const storm = run.commands.length;
  run.pass(60 * second);
  t.ok(run.commands.length - storm <= 3, 'what it asks for counts');
});
