// Expansion of a CSI volume on the node, when it is mounted and while it is in use.
//
//   collect capabilities and secret -> (recoverable) the claim's status is in progress -> NodeExpandVolume -> the claim's status has the size -> done
//   a final error: the claim's status has it, and it is retried with back-off; FailedPrecondition: not on this node again, and the mount continues
//
// Invariant: the node counts a volume as expanded only after the driver's success, or if the driver can't expand volumes at all.
import type { ApiObject } from '../../../ports/model/api-object.js';
import type { PersistentVolumeClaim } from '../../../ports/model/storage.js';
import type { Outcome, PortErrorKind } from '../../../ports/port-error.js';
import { answeredObject, typedObject } from '../../api-data/typed-object.js';
import { assert } from '../../kernel/assert.js';
import { bytesOf } from '../../values/base64.js';
import { goQuote } from '../../values/go-text.js';
import { formatRfc3339, microsPerSecond } from '../../values/time.js';
import { utf8Decode } from '../../values/utf8.js';
import { csiCallFailed, csiNodeCapability } from '../../volumes/csi-mount.js';
import { csiBlockPaths, csiDeviceMountPath, csiTargetPath } from '../../volumes/csi-volume.js';
import { expansionOf, failedPatch, finishedPatch, inProgressPatch, volumeBytes } from '../../volumes/volume-expansion.js';
import { isBlockVolume, specName } from '../../volumes/volume-spec.js';
import { done, failed, procedure, type VolumeProcedure, type VolumeReplies, type VolumeScene, type VolumeStep } from '../volume-kind.js';
import { csiTimeout, driverOf } from './csi-facts.js';

const apiTimeout = 30 * microsPerSecond;
const infeasible: readonly PortErrorKind[] = ['invalid-argument', 'out-of-range', 'not-found'];
const secretsResource = { group: '', version: 'v1', plural: 'secrets' };
const claimsResource = { group: '', version: 'v1', plural: 'persistentvolumeclaims' };

interface ExpandWork {
  phase: 'capabilities' | 'progress' | 'secret' | 'expand' | 'finish' | 'fail' | 'over';
  claim: PersistentVolumeClaim;
  capabilities: readonly string[];
  secrets: Readonly<Record<string, string>>;
  failure: { readonly message: string; readonly isInfeasible: boolean } | null;
}

function decide(work: ExpandWork, scene: VolumeScene): VolumeStep {
  const { spec, context } = scene;
  const expansion = expansionOf(spec, work.claim);
  const csi = spec.kind === 'persistent' ? spec.persistentVolume.spec.csi : undefined;
  if (expansion === null || csi === undefined || spec.kind === 'inline') return done;
  if (spec.readOnly) return recordReadOnly(scene, work);
  const found = driverOf(scene, 'Expander.NodeExpand failed to get CSI client');
  if ('step' in found) return found.step;
  const { endpoint } = found.driver;
  switch (work.phase) {
    case 'over':
      return done;
    case 'capabilities':
      return scene.ask('csiNode.capabilities', { endpoint }, csiTimeout);
    case 'progress': {
      const body = expansion.isRecoverable && !expansion.isReported ? inProgressPatch(work.claim) : null;
      if (body !== null) return patch(scene, work, body);
      work.phase = 'secret';
      return decide(work, scene);
    }
    case 'secret': {
      const { name = '', namespace = '' } = csi.nodeExpandSecretRef ?? {};
      if (name !== '') return scene.ask('apiReader.get', { client: 'main', resource: secretsResource, namespace, name, resourceVersion: null }, apiTimeout);
      work.phase = 'expand';
      return decide(work, scene);
    }
    case 'expand': {
      const { rootDirectory } = context.nodeFacts;
      const isBlock = isBlockVolume(spec);
      const paths = csiBlockPaths(rootDirectory, scene.uid, spec);
      const staging = csiDeviceMountPath(rootDirectory, spec);
      const stagingTargetPath = !work.capabilities.includes('STAGE_UNSTAGE_VOLUME') ? '' : isBlock ? paths.stagingPath : staging.ok ? staging.value : '';
      const volumePath = isBlock ? paths.publishPath : csiTargetPath(rootDirectory, scene.uid, spec);
      const given = { volumePath, stagingTargetPath, requiredBytes: BigInt(expansion.bytes), volumeCapability: csiNodeCapability(spec, work.capabilities), secrets: work.secrets };
      return scene.ask('csiNode.expand', { endpoint, volumeId: csi.volumeHandle, ...given }, csiTimeout);
    }
    case 'finish':
      return patch(scene, work, finishedPatch(work.claim, expansion));
    case 'fail':
      return patch(scene, work, failedPatch(work.claim, work.failure?.message ?? '', work.failure?.isInfeasible === true, formatRfc3339(context.turn.wall)));
  }
}

const replies: VolumeReplies<ExpandWork> = {
  'csiNode.capabilities': knowsCapabilities,
  'apiReader.get': (work, outcome, { uid }) => {
    assert(work.phase === 'secret', 'a secret was read that no expansion waits for', uid);
    if (!outcome.ok) return failed(outcome.error.message, 'transient');
    const { data = {} } = typedObject('secrets', outcome.value);
    work.secrets = Object.fromEntries(Object.entries(data).map(([key, value]) => [key, utf8Decode(bytesOf(value))]));
    work.phase = 'expand';
    return null;
  },
  'csiNode.expand': expanded,
  'apiWriter.patch': patched,
};

/** A driver without node expansion gets no request. */
function knowsCapabilities(work: ExpandWork, outcome: Outcome<readonly string[]>, scene: VolumeScene): VolumeStep | null {
  assert(work.phase === 'capabilities', 'the capabilities of a driver were read twice', scene.uid);
  if (!outcome.ok) return failed(outcome.error.message, 'transient');
  work.capabilities = outcome.value;
  work.phase = 'progress';
  if (outcome.value.includes('EXPAND_VOLUME')) return null;
  const expansion = expansionOf(scene.spec, work.claim);
  if (expansion?.isRecoverable === true && !expansion.isReported) return failed('Expander.NodeExpand found CSI plugin does not support node expansion', 'transient');
  scene.resized(volumeBytes(scene.spec));
  return done;
}

function expanded(work: ExpandWork, outcome: Outcome<unknown>, scene: VolumeScene): VolumeStep | null {
  assert(work.phase === 'expand', 'a volume was expanded that is not to be expanded', scene.uid);
  const expansion = expansionOf(scene.spec, work.claim);
  if (outcome.ok) {
    recordBoth(
      scene,
      work.claim,
      'Normal',
      'FileSystemResizeSuccessful',
      `MountVolume.NodeExpandVolume succeeded for volume ${goQuote(specName(scene.spec))} ${scene.context.nodeName}`,
    );
    work.phase = expansion?.isReported === true ? 'over' : 'finish';
    if (work.phase === 'over') scene.resized(volumeBytes(scene.spec));
    return null;
  }
  const { kind } = outcome.error;
  const message = `Expander.NodeExpand failed to expand the volume : ${outcome.error.message}`;
  if (kind === 'failed-precondition') {
    scene.resized('refused');
    return done;
  }
  if (csiCallFailed(kind, '').certainty === 'uncertain' || expansion?.isRecoverable !== true || expansion.isReported) return failed(message, 'transient');
  work.failure = { message, isInfeasible: infeasible.includes(kind) };
  work.phase = 'fail';
  return null;
}

function patched(work: ExpandWork, outcome: Outcome<ApiObject>, scene: VolumeScene): VolumeStep | null {
  assert(work.phase === 'progress' || work.phase === 'finish' || work.phase === 'fail', 'a claim was written that is not to be written', scene.uid);
  const claim = answeredObject('persistentvolumeclaims', outcome);
  // The next attempt begins with the written claim.
  if (claim !== null) scene.claimSeen(claim);
  if (work.phase === 'fail') return failed(work.failure?.message ?? '', 'transient');
  if (!outcome.ok || claim === null) return failed(`updating the claim failed: ${outcome.ok ? '' : outcome.error.message}`, 'transient');
  work.claim = claim;
  if (work.phase === 'progress') {
    work.phase = 'secret';
    return null;
  }
  scene.resized(volumeBytes(scene.spec));
  return done;
}

function patch(scene: VolumeScene, { claim }: ExpandWork, body: object): VolumeStep {
  const { name, namespace = '' } = claim.metadata;
  const request = { client: 'main', resource: claimsResource, namespace, name, subresource: 'status', patch: 'strategic-merge-patch', body } as const;
  return scene.ask('apiWriter.patch', request, apiTimeout);
}

function recordReadOnly(scene: VolumeScene, { claim }: ExpandWork): VolumeStep {
  const message = `MountVolume.NodeExpandVolume failed for volume ${goQuote(specName(scene.spec))} requested read-only file system`;
  recordBoth(scene, claim, 'Warning', 'FileSystemResizeFailed', message);
  scene.resized(volumeBytes(scene.spec));
  return done;
}

function recordBoth({ context, pod }: VolumeScene, claim: PersistentVolumeClaim, type: 'Normal' | 'Warning', reason: string, message: string): void {
  if (pod !== null) context.event(pod, null, type, reason, message);
  context.claimEvent(claim, type, reason, message);
}

export const csiExpand: VolumeProcedure<never> = procedure<ExpandWork>({
  begin: ({ claim }) => ({ phase: claim === null ? 'over' : 'capabilities', claim: claim ?? { metadata: { name: '' } }, capabilities: [], secrets: {}, failure: null }),
  decide,
  replies,
});
