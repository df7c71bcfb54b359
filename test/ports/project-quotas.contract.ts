// The contract of ProjectQuotas, with and without accounting in the file system.
import type { Test } from 'tap';
import type { PortOf } from '../../src/ports/operation.js';
import { firstProjectId, type ProjectQuotaOperations, type QuotaPlace } from '../../src/ports/outbound/project-quotas.js';
import { kindOf, quietCall } from './pod-volumes.contract.js';

export interface ProjectQuotasUnderTest {
  readonly quotas: PortOf<ProjectQuotaOperations>;
  /** Makes the volume's directory. */
  readonly prepare: (place: QuotaPlace) => Promise<void>;
  /** Puts so much into it. */
  readonly write: (place: QuotaPlace, bytes: number) => void;
  readonly remove: (place: QuotaPlace) => Promise<void>;
}

export const quotaPlace = (uid: string, volume: string): QuotaPlace => ({ uid, plugin: 'kubernetes.io~empty-dir', volume });

export async function projectQuotasContract(t: Test, { quotas, prepare, write, remove }: ProjectQuotasUnderTest): Promise<void> {
  const [a, b, c] = [quotaPlace('u1', 'a'), quotaPlace('u1', 'b'), quotaPlace('u2', 'a')] as const;
  for (const place of [a, b, c]) await prepare(place);
  const assigned = async (place: QuotaPlace) => {
    const answer = await quotas.assign(place, quietCall);
    return answer.kind === 'assigned' ? answer.projectId : answer.reason;
  };

  await t.test('nothing is counted of a volume without a project', async (t) => {
    t.equal(await quotas.usage(a, quietCall), null);
    t.equal(await quotas.clear(a, quietCall), null);
    t.equal(await quotas.usage(quotaPlace('u3', 'none'), quietCall), null);
  });

  await t.test('each volume has a project of its own, from the first number upwards, and keeps it', async (t) => {
    t.strictSame([await assigned(a), await assigned(b), await assigned(c)], [firstProjectId, firstProjectId + 1, firstProjectId + 2]);
    t.equal(await assigned(b), firstProjectId + 1);
  });

  await t.test('what is in it is counted', async (t) => {
    write(a, 1024 * 1024);
    const [full, empty] = [await quotas.usage(a, quietCall), await quotas.usage(b, quietCall)];
    t.ok((full?.usedBytes ?? 0) >= 1024 * 1024, String(full?.usedBytes));
    t.ok((empty?.usedBytes ?? -1) >= 0 && (empty?.usedBytes ?? 0) < 1024 * 1024, String(empty?.usedBytes));
    t.ok((empty?.inodesUsed ?? 0) >= 1, 'the directory itself');
  });

  await t.test('a number that is free again is taken again', async (t) => {
    await quotas.clear(b, quietCall);
    t.equal(await quotas.usage(b, quietCall), null);
    await remove(b);
    await quotas.clear(b, quietCall);
    await prepare(b);
    t.equal(await assigned(b), firstProjectId + 1);
  });

  await t.test('the project of a directory that is gone is freed', async (t) => {
    await remove(c);
    t.equal(await quotas.usage(c, quietCall), null);
    await quotas.clear(c, quietCall);
    await prepare(c);
    t.equal(await assigned(c), firstProjectId + 2);
  });

  await refusals(t, quotas);
}

/** Without accounting. */
export async function noProjectQuotasContract(t: Test, { quotas, prepare, write }: ProjectQuotasUnderTest): Promise<void> {
  const place = quotaPlace('u1', 'a');
  await prepare(place);
  write(place, 4096);
  const answer = await quotas.assign(place, quietCall);
  t.equal(answer.kind, 'unsupported');
  t.ok(answer.kind === 'unsupported' && answer.reason.length > 10, JSON.stringify(answer));
  t.equal(await quotas.usage(place, quietCall), null);
  t.equal(await quotas.clear(place, quietCall), null);
  await refusals(t, quotas);
}

async function refusals(t: Test, quotas: PortOf<ProjectQuotaOperations>): Promise<void> {
  await t.test('what it refuses', async (t) => {
    t.equal(await kindOf(() => quotas.assign(quotaPlace('u9', 'none'), quietCall)), 'not-found');
    for (const place of [quotaPlace('..', 'a'), quotaPlace('u1', 'a/b'), { ...quotaPlace('u1', 'a'), plugin: '..' }])
      for (const name of ['assign', 'clear', 'usage'] as const) t.equal(await kindOf(() => quotas[name](place, quietCall)), 'invalid-argument', name);
  });
}
