// Reads the pod's pull secrets before its images are requested: a pull without an existing secret would fail.
import type { Micros } from '../../ports/micros.js';
import { podAddress, type SyncContext } from './sync-context.js';
import type { SyncRun } from './sync-run.js';

/** Whether they are known, present or not; otherwise the run is woken when they are. */
export function arePullSecretsRead(run: SyncRun, { apiData, turn }: SyncContext): boolean {
  const { imagePullSecrets = [] } = run.pod.spec;
  if (apiData === null || imagePullSecrets.length === 0) return true;
  run.pullSecretsSince ??= turn.now;
  let isPending = false;
  let until: Micros | null = null;
  for (const { name = '' } of imagePullSecrets) {
    if (name === '') continue;
    const answer = apiData.object('secret', run.pod.metadata.namespace ?? '', name, run.pullSecretsSince);
    if (answer.kind !== 'pending') continue;
    isPending = true;
    if (answer.until !== null && (until === null || answer.until < until)) until = answer.until;
  }
  if (isPending) turn.wakeAt(podAddress(run.uid), until);
  return !isPending;
}
