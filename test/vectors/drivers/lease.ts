// Renewing the node lease against an API server in memory.

import {
  type LeaseAnswer,
  type LeaseCall,
  leaseAnswered,
  leaseNamespace,
  leaseRenewInterval,
  longestLeaseRenewInterval,
  newLeaseRenewal,
  startLeaseRenewal,
} from '../../../src/domain/lease/lease-renewal.js';
import { formatGoDuration } from '../../../src/domain/values/go-duration.js';
import { epochMicros, instantOf } from '../../../src/domain/values/instant.js';
import { formatRfc3339Micros, parseRfc3339 } from '../../../src/domain/values/time.js';
import type { Lease } from '../../../src/ports/model/lease.js';
import type { VectorDriver } from '../driver.js';

interface Renew {
  readonly kind: 'renew';
  readonly nodeName: string;
  readonly leaseDurationSeconds: number;
  readonly nodeUID: string;
  readonly existingLease: {
    readonly holderIdentity?: string;
    readonly leaseDurationSeconds?: number;
    readonly renewTime?: string;
    readonly acquireTime?: string;
    readonly ownerUID?: string;
    readonly labels?: Readonly<Record<string, string>>;
  } | null;
  readonly steps: readonly { readonly at: string; readonly serverChange?: 'touched' | 'deleted'; readonly nodeUID?: string; readonly responses?: readonly string[] }[];
}
interface Interval {
  readonly kind: 'interval';
  readonly leaseDurationSeconds: number;
}

const callNames: Readonly<Record<LeaseCall['op'], string>> = { 'get-lease': 'get lease', 'get-node': 'get node', 'create-lease': 'create lease', 'update-lease': 'update lease' };
const micros = (time: string): number => epochMicros(parseRfc3339(time) ?? instantOf(Number.NaN));

/** An API server with one lease and perhaps one node. */
class LeaseServer {
  lease: Lease | null = null;
  nodeUid = '';
  private version = 0;

  store(lease: Lease): Lease {
    this.lease = { ...lease, metadata: { ...lease.metadata, resourceVersion: String(++this.version) } };
    return this.lease;
  }

  answer(call: LeaseCall): LeaseAnswer {
    if (call.op === 'get-node') return this.nodeUid === '' ? { kind: 'not-found' } : { kind: 'node', uid: this.nodeUid };
    if (call.op === 'create-lease') return this.lease === null ? { kind: 'lease', lease: this.store(call.lease) } : { kind: 'conflict' };
    if (this.lease === null) return { kind: 'not-found' };
    if (call.op === 'get-lease') return { kind: 'lease', lease: this.lease };
    return call.lease.metadata.resourceVersion === this.lease.metadata.resourceVersion ? { kind: 'lease', lease: this.store(call.lease) } : { kind: 'conflict' };
  }
}

function existing({ existingLease, nodeName }: Renew): Lease | null {
  if (existingLease === null) return null;
  const { ownerUID, labels, renewTime, acquireTime, holderIdentity, leaseDurationSeconds } = existingLease;
  return {
    metadata: {
      ...{ name: nodeName, namespace: leaseNamespace },
      ...(labels === undefined ? {} : { labels }),
      ...(ownerUID === undefined ? {} : { ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: nodeName, uid: ownerUID }] }),
    },
    spec: {
      ...(holderIdentity === undefined ? {} : { holderIdentity }),
      ...(leaseDurationSeconds === undefined ? {} : { leaseDurationSeconds }),
      ...(renewTime === undefined ? {} : { renewTime: formatRfc3339Micros(instantOf(micros(renewTime))) }),
      ...(acquireTime === undefined ? {} : { acquireTime: formatRfc3339Micros(instantOf(micros(acquireTime))) }),
    },
  };
}

function shown(lease: Lease | null): unknown {
  if (lease === null) return null;
  const { resourceVersion: _version, ...metadata } = lease.metadata;
  return { ...lease, metadata };
}

function renew(input: Renew): unknown {
  const server = new LeaseServer();
  server.nodeUid = input.nodeUID;
  const before = existing(input);
  if (before !== null) server.store(before);
  const renewal = newLeaseRenewal(input.nodeName, input.leaseDurationSeconds);
  return {
    steps: input.steps.map(({ at, serverChange, nodeUID, responses = [] }) => {
      if (nodeUID !== undefined) server.nodeUid = nodeUID;
      if (serverChange === 'deleted') server.lease = null;
      else if (serverChange === 'touched' && server.lease !== null) server.store({ ...server.lease, metadata: { ...server.lease.metadata, labels: { touched: 'yes' } } });
      const calls: unknown[] = [];
      let heartbeatFailures = 0;
      for (let step = startLeaseRenewal(renewal, instantOf(micros(at))); step.call !== null; ) {
        const { call } = step;
        const answer: LeaseAnswer = responses[calls.length] === 'error' ? { kind: 'failed' } : server.answer(call);
        const result = { lease: 'ok', node: 'ok', 'not-found': 'notFound', conflict: 'conflict', failed: 'error' }[answer.kind];
        calls.push({ call: callNames[call.op], result, ...(call.after === 0 ? {} : { waitedBefore: formatGoDuration(call.after) }) });
        step = leaseAnswered(renewal, answer, instantOf(micros(at)));
        if (step.heartbeatFailed) heartbeatFailures++;
      }
      return { calls, lease: shown(server.lease), holdsLease: renewal.held !== null, heartbeatFailures };
    }),
  };
}

export const driver: VectorDriver = {
  run(input: Renew | Interval) {
    if (input.kind === 'renew') return renew(input);
    const { leaseDurationSeconds } = input;
    return { renewInterval: formatGoDuration(leaseRenewInterval(leaseDurationSeconds)), longestInterval: formatGoDuration(longestLeaseRenewInterval(leaseDurationSeconds)) };
  },
};
