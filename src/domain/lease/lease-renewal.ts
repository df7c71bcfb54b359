// Renewal of the node's lease: one small write per interval that shows that the node is alive (KEP-589). One cycle is a chain of API calls; the
// lease of the last success is kept, so that a renewal normally is a single update without a read.
//
//   state         | ok                          | not found            | conflict   | failed
//   idle          | (no call in flight)
//   node-update   | update                      | next try             | next try   | next try
//   update        | done, held                  | next try             | read       | next try
//   read          | update                      | node-create          | read later | read later
//   node-create   | create                      | done, nothing held   | the same   | the same
//   create        | done, held; after a conflict: update | read later  | read later | read later
//
// Invariants: at most one call is in flight; while the node's uid is unknown a lease is taken over as it is, with its holder and owner;
// once it is known both are corrected, or a lease would be collected with a deleted node; five tries, then a read, then five more, so
// that a cycle ends (only reads continue without limit, with growing pauses).
import type { Instant } from '../../ports/instant.js';
import type { Micros } from '../../ports/micros.js';
import type { Lease } from '../../ports/model/lease.js';
import { assert } from '../kernel/assert.js';
import { formatRfc3339Micros, microsPerMillisecond, microsPerSecond } from '../values/time.js';

export const leaseNamespace = 'kube-node-lease';
const updateTriesMax = 5;
const firstBackoff: Micros = 200 * microsPerMillisecond;
const maxBackoff: Micros = 7 * microsPerSecond;
/** Renewals spread over this part of the interval, so that a cluster's nodes don't write at once. */
const jitter = 0.04;

export interface LeaseRenewal {
  readonly nodeName: string;
  readonly leaseDurationSeconds: number;
  /** Of the Node object as last seen; null: it is read if a lease has no owner. */
  nodeUid: string | null;
  state: 'idle' | 'node-update' | 'update' | 'read' | 'node-create' | 'create';
  /** The lease of the last success; null: the next cycle begins with a read. */
  held: Lease | null;
  /** The base of this cycle's writes. */
  base: Lease | null;
  updateTries: number;
  /** A read that follows a conflict belongs to the tries that it interrupted. */
  readAfterConflict: boolean;
  /** The held lease was tried already: what fails now ends the cycle. */
  isSecondRound: boolean;
  nextBackoff: Micros;
}

export type LeaseCall =
  | { readonly op: 'get-lease'; readonly after: Micros }
  | { readonly op: 'get-node'; readonly after: Micros }
  | { readonly op: 'create-lease' | 'update-lease'; readonly lease: Lease; readonly after: Micros };

/** `lease` for calls about leases; `nodeUid` for `get-node`. */
export type LeaseAnswer =
  | { readonly kind: 'lease'; readonly lease: Lease }
  | { readonly kind: 'node'; readonly uid: string }
  | { readonly kind: 'not-found' }
  | { readonly kind: 'conflict' }
  | { readonly kind: 'failed' };

export interface LeaseStep {
  /** null: the cycle has ended. `after` is the wait before the call. */
  readonly call: LeaseCall | null;
  /** The API server can't be reached again and again: connections to it should be closed, one may hang. */
  readonly heartbeatFailed: boolean;
}

export function newLeaseRenewal(nodeName: string, leaseDurationSeconds: number): LeaseRenewal {
  return {
    ...{ nodeName, leaseDurationSeconds, nodeUid: null, state: 'idle', held: null, base: null },
    ...{ updateTries: 0, readAfterConflict: false, isSecondRound: false, nextBackoff: firstBackoff },
  };
}

export function leaseRenewInterval(leaseDurationSeconds: number): Micros {
  return (leaseDurationSeconds * microsPerSecond) / 4;
}

/** The exclusive upper bound of the time between the end of a cycle and the next. */
export function longestLeaseRenewInterval(leaseDurationSeconds: number): Micros {
  return Math.round(leaseRenewInterval(leaseDurationSeconds) * (1 + jitter));
}

/** @param random in [0, 1) @param now the end of a cycle */
export function nextLeaseRenewalAt(leaseDurationSeconds: number, random: number, now: Micros): Micros {
  const interval = leaseRenewInterval(leaseDurationSeconds);
  return now + Math.floor(interval + interval * jitter * random);
}

/** Begins a cycle. */
export function startLeaseRenewal(renewal: LeaseRenewal, wall: Instant): LeaseStep {
  assert(renewal.state === 'idle', 'a cycle is under way');
  renewal.isSecondRound = renewal.held === null;
  if (renewal.held === null) return read(renewal, false);
  return startUpdates(renewal, renewal.held, wall);
}

export function leaseAnswered(renewal: LeaseRenewal, answer: LeaseAnswer, wall: Instant): LeaseStep {
  switch (renewal.state) {
    case 'idle':
      assert(false, 'no call of a cycle is under way');
      break;
    case 'node-update':
      return answer.kind === 'node' ? write(renewal, 'update', owned(renewal, answer.uid), wall) : updateFailed(renewal, wall);
    case 'update':
      if (answer.kind === 'lease') return done(renewal, answer.lease);
      // Another client wrote: its lease is the new base, and this try is used up without being a failure.
      return answer.kind === 'conflict' ? read(renewal, true) : updateFailed(renewal, wall);
    case 'read':
      if (answer.kind === 'lease') return renewal.readAfterConflict ? nextTry(renewal, answer.lease, wall) : adopted(renewal, answer.lease, wall);
      if (answer.kind !== 'not-found') return readLater(renewal);
      if (renewal.nodeUid !== null) return create(renewal, renewal.nodeUid, wall);
      return called(renewal, 'node-create', { op: 'get-node', after: 0 });
    case 'node-create':
      // Without the node's uid the lease would outlive the node: it isn't created until the next cycle.
      return answer.kind === 'node' ? create(renewal, answer.uid, wall) : done(renewal, null);
    case 'create':
      if (answer.kind !== 'lease') return readLater(renewal);
      return renewal.readAfterConflict ? nextTry(renewal, answer.lease, wall) : done(renewal, answer.lease);
  }
}

function adopted(renewal: LeaseRenewal, lease: Lease, wall: Instant): LeaseStep {
  renewal.held = lease;
  return startUpdates(renewal, lease, wall);
}

function startUpdates(renewal: LeaseRenewal, base: Lease, wall: Instant): LeaseStep {
  renewal.updateTries = 0;
  return attempt(renewal, base, wall);
}

function attempt(renewal: LeaseRenewal, base: Lease, wall: Instant): LeaseStep {
  renewal.base = base;
  renewal.updateTries++;
  const ownerless = (base.metadata.ownerReferences ?? []).length === 0;
  if (ownerless && renewal.nodeUid !== null) return write(renewal, 'update', owned(renewal, renewal.nodeUid), wall);
  if (ownerless) return called(renewal, 'node-update', { op: 'get-node', after: 0 });
  return write(renewal, 'update', base, wall);
}

/** A try that did not write; from the second on it is a sign that the connection is dead. */
function updateFailed(renewal: LeaseRenewal, wall: Instant): LeaseStep {
  assert(renewal.base !== null, 'an update has a base');
  const heartbeatFailed = renewal.updateTries > 1;
  return { ...nextTry(renewal, renewal.base, wall), heartbeatFailed };
}

function nextTry(renewal: LeaseRenewal, base: Lease, wall: Instant): LeaseStep {
  if (renewal.updateTries < updateTriesMax) return attempt(renewal, base, wall);
  if (renewal.isSecondRound) return done(renewal, renewal.held);
  renewal.isSecondRound = true;
  return read(renewal, false);
}

function read(renewal: LeaseRenewal, afterConflict: boolean): LeaseStep {
  renewal.readAfterConflict = afterConflict;
  renewal.nextBackoff = firstBackoff;
  return called(renewal, 'read', { op: 'get-lease', after: 0 });
}

function readLater(renewal: LeaseRenewal): LeaseStep {
  const after = renewal.nextBackoff;
  renewal.nextBackoff = Math.min(after * 2, maxBackoff);
  return called(renewal, 'read', { op: 'get-lease', after });
}

function create(renewal: LeaseRenewal, nodeUid: string, wall: Instant): LeaseStep {
  return write(renewal, 'create', owned({ ...renewal, base: null }, nodeUid), wall);
}

function write(renewal: LeaseRenewal, state: 'create' | 'update', given: Lease, wall: Instant): LeaseStep {
  const lease = renewal.nodeUid === null ? given : ownedByNode(given, renewal.nodeName, renewal.nodeUid);
  const spec = { ...lease.spec, leaseDurationSeconds: renewal.leaseDurationSeconds, renewTime: formatRfc3339Micros(wall) };
  return called(renewal, state, { op: state === 'create' ? 'create-lease' : 'update-lease', lease: { ...lease, spec }, after: 0 });
}

/** The base, or a lease from scratch, with the node as its owner: when the node is deleted, so is the lease. */
function owned({ base, nodeName }: Pick<LeaseRenewal, 'base' | 'nodeName'>, uid: string): Lease {
  const lease: Lease = base ?? { metadata: { name: nodeName, namespace: leaseNamespace }, spec: { holderIdentity: nodeName } };
  return { ...lease, metadata: { ...lease.metadata, ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: nodeName, uid }] } };
}

/** With this node as holder, and its present object, not an earlier one, as owner. Owners of other kinds stay. */
function ownedByNode(lease: Lease, nodeName: string, nodeUid: string): Lease {
  const owners = lease.metadata.ownerReferences ?? [];
  const ownerReferences = owners.map((owner) => (owner.kind === 'Node' && owner.name === nodeName ? { ...owner, uid: nodeUid } : owner));
  return { ...lease, metadata: { ...lease.metadata, ownerReferences }, spec: { ...lease.spec, holderIdentity: nodeName } };
}

function called(renewal: LeaseRenewal, state: LeaseRenewal['state'], call: LeaseCall): LeaseStep {
  renewal.state = state;
  return { call, heartbeatFailed: false };
}

function done(renewal: LeaseRenewal, held: Lease | null): LeaseStep {
  renewal.state = 'idle';
  renewal.held = held;
  renewal.base = null;
  return { call: null, heartbeatFailed: false };
}
