// Images for embedders: when a container's image is pulled, with which credentials, and which pods may use an existing one (KEP-2535).
import { instantOf } from '../../domain/values/instant.js';
import type { Micros } from '../../ports/micros.js';
import type { ImagePullBackoff } from '../backoff/image-pull-backoff.js';
import type { EnsureImageReply, EnsureImageRequest, EnsureImageRun, EnsureImageStep, EnsureImageTurn } from '../images/ensure-image.js';
import * as ensuring from '../images/ensure-image.js';
import type { TrackedCredentials } from '../images/keyring.js';
import * as pullPolicy from '../images/pull-policy.js';
import type { ImagePulledRecord, PresentImage, PullVerdict, VerificationPolicy } from '../images/pull-records.js';
import * as records from '../images/pull-records.js';
import { pullTableShape } from './backoff.js';
import { checkArgument, dictionaryOf, flag, isRecord, listOf, measured, moment, nullable, oneOf, recordOf, type Shape, text } from './shape.js';

const credentialsShape = recordOf({
  credentials: recordOf({ username: text, password: text, serverAddress: text, identityToken: text, registryToken: text }),
  source: (value, path) =>
    isRecord(value) && value.kind === 'node' ? null : recordOf({ kind: oneOf(['secret', 'service-account']), namespace: text, name: text, uid: text })(value, path),
});
const allCredentials = listOf(credentialsShape);
const owner = { uid: text, namespace: text, name: text };
const usersShape = recordOf(
  {},
  { kubernetesSecrets: listOf(recordOf({ ...owner, credentialHash: text })), kubernetesServiceAccounts: listOf(recordOf(owner)), nodePodsAccessible: flag },
);
const recordShape = nullable(
  recordOf({ kind: oneOf(['ImagePulledRecord']), apiVersion: text, lastUpdatedTime: text, imageRef: text }, { credentialMapping: dictionaryOf(usersShape) }),
);
const presentShape = recordOf({ image: text, imageRef: text, record: recordShape, hasIntent: flag });
const policyShape: Shape = (value, path) =>
  isRecord(value) && value.kind === 'NeverVerifyAllowlistedImages'
    ? recordOf({ allowlist: listOf(text) })(value, path)
    : recordOf({ kind: oneOf(['NeverVerify', 'NeverVerifyPreloadedImages', 'NeverVerifyAllowlistedImages', 'AlwaysVerify']) })(value, path);
const requestShape = recordOf({ podUid: text, image: text, pullPolicy: text });

/** Which answers a step has. */
const answers: Readonly<Record<Exclude<EnsureImageStep['kind'], 'done'>, readonly EnsureImageReply['kind'][]>> = {
  inspect: ['present', 'absent', 'failed'],
  'check-records': ['records', 'failed'],
  'look-up-credentials': ['credentials', 'failed'],
  'record-intent': ['recorded', 'failed'],
  pull: ['pulled', 'failed'],
  'record-pulled': ['recorded', 'failed'],
  'record-failed': ['recorded', 'failed'],
};
const replyFields: Readonly<Record<EnsureImageReply['kind'], Shape>> = {
  present: recordOf({ imageId: text }),
  absent: recordOf({}),
  records: recordOf({ mustPull: flag }),
  credentials: recordOf({ credentials: allCredentials }),
  recorded: recordOf({}),
  pulled: recordOf({ imageRef: text, sizeBytes: measured, used: nullable(credentialsShape), took: measured, waited: measured }),
  failed: recordOf({ message: text }),
};
const outcomeShape: Shape = (value, path) =>
  isRecord(value) && value.kind === 'ready'
    ? recordOf({ imageRef: text, message: text })(value, path)
    : recordOf({ kind: oneOf(['problem']), reason: text, message: text })(value, path);
const stepFields: Readonly<Record<keyof typeof answers, Shape>> = {
  inspect: recordOf({ image: text }),
  'check-records': recordOf({ image: text, imageId: text }),
  'look-up-credentials': recordOf({ repository: text }),
  'record-intent': recordOf({ image: text }),
  pull: recordOf({ image: text, credentials: allCredentials }),
  'record-pulled': recordOf({ image: text, imageRef: text, used: nullable(credentialsShape) }),
  'record-failed': recordOf({ image: text }),
};
/** For a run in progress. */
const openStep: Shape = (value, path) => {
  const problem = recordOf({ kind: oneOf(Object.keys(answers)) })(value, path);
  return problem ?? stepFields[(value as { readonly kind: keyof typeof answers }).kind](value, path);
};
const runShape: Shape = (value, path) => {
  const problem = recordOf({ request: requestShape, pullName: text, repository: text, credentials: allCredentials, step: openStep, outcome: nullable(outcomeShape) })(value, path);
  if (problem !== null) return problem;
  const { step, outcome } = value as EnsureImageRun;
  return outcome === null && (step.kind === 'record-pulled' || step.kind === 'record-failed') ? `${path}.outcome: expected what is being recorded, got null` : null;
};

/**
 * The pull policy that the API gives a container without one: `Always` for an image whose tag is `latest` or missing, else `IfNotPresent`.
 * @param image as in a pod's spec; a text that is no image reference counts as one with a tag
 * @throws AssertionFailed where `image` is no string
 */
export function defaultPullPolicy(image: string): 'Always' | 'IfNotPresent' {
  checkArgument('image', image, text);
  return pullPolicy.defaultPullPolicy(image);
}

/**
 * Whether a pod must pull an existing image, to prove its access (KEP-2535, `imagePullCredentialsVerificationPolicy`).
 * @param present the node's records of the image
 * @param credentials the pod's, in the order in which they would be tried
 * @param now microseconds since the epoch; written into a changed record
 * @throws AssertionFailed where an argument has another type
 */
export function mustPullToVerify(present: PresentImage, credentials: readonly TrackedCredentials[], policy: VerificationPolicy, now: Micros): PullVerdict {
  checkArgument('present', present, presentShape);
  checkArgument('credentials', credentials, allCredentials);
  checkArgument('policy', policy, policyShape);
  checkArgument('now', now, moment);
  return records.mustPullToVerify(present, credentials, policy, instantOf(now));
}

/**
 * The record of access to an image, after one more successful pull.
 * @param record the previous one; null if absent
 * @param image as in the pod's spec
 * @param imageRef the runtime's reference of the pulled image
 * @param used the credentials that succeeded; null: the pull was anonymous, so every pod may use the image
 * @param now microseconds since the epoch
 * @returns null where `image` is no image reference
 * @throws AssertionFailed where an argument has another type
 */
export function recordOfPull(record: ImagePulledRecord | null, image: string, imageRef: string, used: TrackedCredentials | null, now: Micros): ImagePulledRecord | null {
  checkArgument('record', record, recordShape);
  checkArgument('image', image, text);
  checkArgument('imageRef', imageRef, text);
  checkArgument('used', used, nullable(credentialsShape));
  checkArgument('now', now, moment);
  return records.recordOfPull(record, image, imageRef, used, instantOf(now));
}

/**
 * Begins to ensure a container's image, by its pull policy. The answer has the first request (`run.step`) and the events for the pod.
 * @param request the image as in the pod's spec; a policy that is neither `IfNotPresent` nor `Never` pulls without a check
 * @throws AssertionFailed where a field of `request` has another type
 */
export function beginEnsureImage(request: EnsureImageRequest): EnsureImageTurn {
  checkArgument('request', request, requestShape);
  return ensuring.beginEnsureImage(request);
}

/**
 * Continues with the answer to `run.step`. The run ends at the step `done`, whose outcome has the reasons and messages that a kubelet
 * gives (`ErrImagePull`, `ImagePullBackOff`, `ErrImageNeverPull` ...).
 * @param run plain data; a new one is returned
 * @param reply the answer to the step, or `failed` with the error's text
 * @param backoff of `newImagePullBackoff`; changed in place when a pull ends
 * @param now microseconds since the epoch
 * @throws AssertionFailed where an argument has another type, the run has ended, or the reply answers another step
 */
export function advanceEnsureImage(run: EnsureImageRun, reply: EnsureImageReply, backoff: ImagePullBackoff, now: Micros): EnsureImageTurn {
  checkArgument('run', run, runShape);
  checkArgument('reply', reply, recordOf({ kind: oneOf(answers[run.step.kind as keyof typeof answers]) }));
  checkArgument('reply', reply, replyFields[reply.kind]);
  checkArgument('backoff', backoff, pullTableShape);
  checkArgument('now', now, moment);
  return ensuring.advanceEnsureImage(run, reply, backoff, now);
}
