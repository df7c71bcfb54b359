// Validates drivers' answers against the requests.
// Invariant: a claim counts as done only if its driver confirmed it, by its uid; devices named twice are kept once.
import type { AgentOperations } from '../../ports/outbound/outbound-ports.js';
import type { ClaimDevice } from '../checkpoints/dra-checkpoint.js';
import type { ReplyFor } from '../kernel/machine.js';
import { byCodeUnits } from '../values/text-order.js';
import type { ClaimRecord } from './dra-state.js';

type Outcome<Name extends keyof AgentOperations> = ReplyFor<AgentOperations, Name>['outcome'];

/** Keeps the devices; returns the first error. */
export function takePrepared(driver: string, claims: readonly ClaimRecord[], outcome: Outcome<'draPlugin.prepare'>): string | null {
  if (!outcome.ok) return `NodePrepareResources: ${outcome.error.message}`;
  const answers = outcome.value.claims;
  const problem = problemOf('NodePrepareResources', claims, new Map([...answers].map(([uid, { error }]) => [uid, error])));
  for (const claim of claims) {
    const answer = answers.get(claim.uid);
    if (answer === undefined || answer.error !== '') continue;
    const devices = new Map<string, ClaimDevice>();
    for (const { poolName, deviceName, shareId, requestNames, cdiDeviceIds } of answer.devices) {
      // An empty list of Go's is none in the file.
      const device = { poolName, deviceName, shareId, requestNames: orNone(requestNames), cdiDeviceIds: orNone(cdiDeviceIds) };
      const key = JSON.stringify([poolName, deviceName, shareId]);
      if (!devices.has(key)) devices.set(key, device);
    }
    claim.drivers.set(driver, [...devices.values()]);
  }
  return problem;
}

/** Returns the first error. */
export function takeUnprepared(claims: readonly ClaimRecord[], outcome: Outcome<'draPlugin.unprepare'>): string | null {
  return outcome.ok ? problemOf('NodeUnprepareResources', claims, outcome.value.claims) : `NodeUnprepareResources: ${outcome.error.message}`;
}

function problemOf(method: string, claims: readonly ClaimRecord[], errors: ReadonlyMap<string, string>): string | null {
  for (const uid of [...errors.keys()].sort(byCodeUnits)) {
    const claim = claims.find((one) => one.uid === uid);
    if (claim === undefined) return `${method} returned result for unknown claim UID ${uid}`;
    if (errors.get(uid) !== '') return `${method} failed for ResourceClaim ${claim.name}: ${errors.get(uid)}`;
  }
  const skipped = claims.length - errors.size;
  return skipped > 0 ? `${method} skipped ${skipped} ResourceClaims` : null;
}

function orNone(texts: readonly string[]): readonly string[] | null {
  return texts.length === 0 ? null : texts;
}
