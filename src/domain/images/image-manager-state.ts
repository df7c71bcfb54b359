// The node's pulls as data: runs and their images, the queue of pulls, records and credentials.
// Invariants: a run exists until its outcome is recorded and taken (or its caller has left); a pull that has begun continues after its
// pod is removed, so that its image and the record of its credentials agree.
import type { Micros } from '../../ports/micros.js';
import type { Pod } from '../../ports/model/pod.js';
import type { SandboxConfig } from '../../ports/model/sandbox-config.js';
import type { RuntimeImage } from '../../ports/outbound/container-runtime.js';
import { type ImagePullBackoff, newImagePullBackoff } from '../backoff/image-pull-backoff.js';
import { type CredentialPluginCache, type CredentialProvider, newCredentialPluginCache } from './credential-plugins.js';
import type { EnsureImageRun, ImageOutcome } from './ensure-image.js';
import type { Keyring, TrackedCredentials } from './keyring.js';
import { newPullQueue, type PullLimits, type PullQueue } from './pull-queue.js';
import { newPullRecordStore, type PullRecordStore } from './pull-record-store.js';
import type { VerificationPolicy } from './pull-records.js';

export interface ImageSettings {
  readonly limits: PullLimits;
  /** When a pod must prove its access to a present image; null: never, and nothing is recorded (gate KubeletEnsureSecretPulledImages off). */
  readonly verification: VerificationPolicy | null;
  /** In the order of their calls. */
  readonly credentialProviders: readonly CredentialProvider[];
}

export const defaultImageSettings: ImageSettings = {
  limits: { parallel: 1, perSecond: 5, burst: 10 },
  verification: { kind: 'NeverVerifyPreloadedImages' },
  credentialProviders: [],
};

export interface ImageRequest {
  readonly pod: Pod;
  /** Events are the container's; null: the pod's, for an image that is a volume. */
  readonly containerName: string | null;
  readonly image: string;
  readonly pullPolicy: string;
  readonly sandboxConfig: SandboxConfig | null;
}

/** The keyrings of one look-up; a keyring is null while it is awaited. */
export interface CredentialLookup {
  readonly since: Micros;
  readonly keyrings: (Keyring | null)[];
  /** Plugins, by their place in the configuration, that wait for a service account or its token. */
  readonly withoutIdentity: Set<number>;
}

export interface ImageRun {
  readonly id: number;
  readonly request: ImageRequest;
  ensure: EnsureImageRun;
  /** The caller will take the outcome. */
  isAwaited: boolean;
  /** The image as the runtime has it, as last seen. */
  image: RuntimeImage | null;
  lookup: CredentialLookup | null;
  /** Found by a look-up, which happens once. */
  credentials: readonly TrackedCredentials[] | null;
  /** The record could not be read: it proves nothing. */
  recordUnreadable: boolean;
  askedAt: Micros;
  startedAt: Micros;
  tookMicros: Micros;
  /** Which of the credentials is tried, and how those before failed. */
  attempt: number;
  readonly failures: string[];
  imageRef: string;
}

export interface EnsuredImage {
  readonly outcome: ImageOutcome;
  readonly image: RuntimeImage | null;
  /** Not before this time can another outcome be expected; null where that isn't known. */
  readonly retryAt: Micros | null;
}

export interface NodeKeyring {
  keyring: Keyring | null;
  readAt: Micros;
  /** Runs that wait for it to be read. */
  readonly waiting: number[];
}

export interface ImageManagerState {
  nextId: number;
  readonly runs: Map<number, ImageRun>;
  readonly queue: PullQueue;
  readonly backoff: ImagePullBackoff;
  readonly records: PullRecordStore;
  readonly nodeKeyring: NodeKeyring;
  readonly plugins: CredentialPluginCache;
}

export function newImageManagerState(settings: ImageSettings): ImageManagerState {
  return {
    nextId: 1,
    runs: new Map(),
    queue: newPullQueue(settings.limits),
    backoff: newImagePullBackoff(),
    records: newPullRecordStore(),
    nodeKeyring: { keyring: null, readAt: 0, waiting: [] },
    plugins: newCredentialPluginCache(),
  };
}
