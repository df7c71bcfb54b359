// Volumes with API data: secret, configMap, downwardAPI, and projected, which merges several sources.
// Invariant: any error leaves the content on disk unchanged; of two sources with one path the later one counts.
import type { ConfigMap, Secret } from '../../ports/model/config-objects.js';
import type { ResourceList } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';
import type { Volume, VolumeProjection } from '../../ports/model/volume.js';
import { assert } from '../kernel/assert.js';
import type { PodCertificateOrder, PodCertificateSource } from '../pod-certificates/pod-certificate-request.js';
import { noPodCertificates, type PodCertificateAnswer } from '../pod-certificates/pod-certificates.js';
import { utf8Encode } from '../values/utf8.js';
import { type Collected, configMapFiles, downwardFiles, file, type Lookup, noDefaultMode, type ObjectSource, secretFiles } from './object-payload.js';
import { type ClusterTrustBundle, certificateBlocks, noTrustBundles, type TrustBundleSource, trustBundleText } from './trust-bundles.js';
import type { PayloadResult } from './volume-payload.js';

/** A service account token to request, bound to the pod. */
export interface TokenRequest {
  readonly namespace: string;
  readonly serviceAccountName: string;
  /** Null: the API server's own audience. */
  readonly audiences: readonly string[] | null;
  /** Null: the API's default. */
  readonly expirationSeconds: number | null;
  readonly podName: string;
  readonly podUid: string;
}

export type TokenLookup = { readonly ok: true; readonly token: string } | { readonly ok: false; readonly message: string };

/** Everything outside the volume that its content depends on. Objects are those of the pod's namespace, by name. */
export interface ApiDataFacts {
  readonly secrets: ReadonlyMap<string, Lookup<Secret>>;
  readonly configMaps: ReadonlyMap<string, Lookup<ConfigMap>>;
  /** Answers to `tokenRequests`, in its order. */
  readonly tokens: readonly TokenLookup[];
  /** All of the cluster; absent or null: the node may not read them. */
  readonly trustBundles?: readonly ClusterTrustBundle[] | null;
  /** Answers to `certificateOrders`, in its order; absent where it gives none. */
  readonly certificates?: readonly PodCertificateAnswer[];
  readonly nodeAllocatable: ResourceList;
  readonly fsGroup: number | null;
  /** The one user of all containers; null if none (`podFsUser`). */
  readonly fsUser: number | null;
}

/** Only the owner, or with an fsGroup also its group, may read a token. */
const restrictedTokenMode = 0o600;

export type ApiDataSource = 'secret' | 'configMap' | 'downwardAPI' | 'projected';

/** Null for any other volume. */
export function apiDataSource(volume: Volume): ApiDataSource | null {
  return (['secret', 'configMap', 'downwardAPI', 'projected'] as const).find((source) => volume[source] !== undefined) ?? null;
}

/** Names of the secrets and config maps that the volume reads. */
export function objectsOfVolume(volume: Volume): { readonly secrets: readonly string[]; readonly configMaps: readonly string[] } {
  const sources: readonly VolumeProjection[] = volume.projected?.sources ?? [];
  const secrets = [volume.secret?.secretName, ...sources.map(({ secret }) => secret?.name)];
  const configMaps = [volume.configMap?.name, ...sources.map(({ configMap }) => configMap?.name)];
  const named = (names: readonly (string | undefined)[]): readonly string[] => [...new Set(names.filter((name) => name !== undefined && name !== ''))] as string[];
  return { secrets: named(secrets), configMaps: named(configMaps) };
}

/** Tokens that the volume shows, in the order of its sources. */
export function tokenRequests(volume: Volume, pod: Pod): readonly TokenRequest[] {
  // Without a mode the volume fails before its first request.
  if (volume.projected?.defaultMode === undefined) return [];
  const { name, namespace = '', uid = '' } = pod.metadata;
  return (volume.projected.sources ?? []).flatMap((source) => {
    if (sourceKind(source) !== 'serviceAccountToken') return [];
    const { audience = '', expirationSeconds = null } = source.serviceAccountToken!;
    const audiences = audience === '' ? null : [audience];
    return [{ namespace, serviceAccountName: pod.spec.serviceAccountName ?? '', audiences, expirationSeconds, podName: name, podUid: uid }];
  });
}

/** Certificates of the pod's own that the volume shows, in the order of its sources. */
export function certificateOrders(volume: Volume, pod: Pod): readonly PodCertificateOrder[] {
  if (volume.projected?.defaultMode === undefined) return [];
  const { name, namespace = '', uid = '' } = pod.metadata;
  return (volume.projected.sources ?? []).flatMap((source, sourceIndex) => {
    if (sourceKind(source) !== 'podCertificate') return [];
    const wanted = source.podCertificate as unknown as PodCertificateSource;
    return [{ namespace, podName: name, podUid: uid, serviceAccountName: pod.spec.serviceAccountName ?? '', volumeName: volume.name, sourceIndex, source: wanted }];
  });
}

/** The files of a volume that `apiDataSource` knows. Paths are checked when they are written. */
export function apiDataPayload(volume: Volume, pod: Pod, facts: ApiDataFacts): PayloadResult {
  const { files, errors } = collect(volume, pod, facts);
  return errors.length > 0 ? { ok: false, message: aggregate(errors) } : { ok: true, payload: new Map(files) };
}

/** The user that owns token files: every container's, when all run as the same one. */
export function podFsUser(pod: Pod): number | null {
  const { initContainers = [], containers, ephemeralContainers = [], securityContext } = pod.spec;
  const users = [...initContainers, ...containers, ...ephemeralContainers].map((container) => container.securityContext?.runAsUser ?? securityContext?.runAsUser ?? null);
  const first = users[0] ?? null;
  return users.every((user) => user === first) ? first : null;
}

function collect(volume: Volume, pod: Pod, facts: ApiDataFacts): Collected {
  const { secret, configMap, downwardAPI, projected } = volume;
  if (secret !== undefined) {
    const source = { name: secret.secretName ?? '', items: secret.items ?? [], defaultMode: secret.defaultMode ?? null, optional: secret.optional === true };
    return secretFiles(source, found(facts.secrets, source.name));
  }
  if (configMap !== undefined) {
    const source = { name: configMap.name ?? '', items: configMap.items ?? [], defaultMode: configMap.defaultMode ?? null, optional: configMap.optional === true };
    return configMapFiles(source, found(facts.configMaps, source.name));
  }
  if (downwardAPI !== undefined) return downwardFiles(downwardAPI.items ?? [], downwardAPI.defaultMode ?? null, pod, facts.nodeAllocatable);
  assert(projected !== undefined, 'a volume of API data has such a source');
  return projected.defaultMode === undefined ? { files: [], errors: [noDefaultMode] } : projectedFiles(projected.sources ?? [], projected.defaultMode, pod, facts);
}

/** Every source is collected, so that all errors are reported together. */
function projectedFiles(sources: readonly VolumeProjection[], defaultMode: number, pod: Pod, facts: ApiDataFacts): Collected {
  const all: Collected[] = [];
  let nextToken = 0;
  let nextCertificate = 0;
  for (const source of sources) {
    if (sourceKind(source) === 'podCertificate') {
      all.push(certificateFiles(source.podCertificate as unknown as PodCertificateSource, defaultMode, facts, facts.certificates?.[nextCertificate++]));
      continue;
    }
    const token = sourceKind(source) === 'serviceAccountToken' ? facts.tokens[nextToken++] : undefined;
    all.push(sourceFiles(source, defaultMode, pod, facts, token));
  }
  return { files: all.flatMap(({ files }) => files), errors: all.flatMap(({ errors }) => errors) };
}

type SourceKind = 'secret' | 'downwardAPI' | 'configMap' | 'serviceAccountToken' | 'clusterTrustBundle' | 'podCertificate';
const sourceKinds: readonly SourceKind[] = ['secret', 'downwardAPI', 'configMap', 'serviceAccountToken', 'clusterTrustBundle', 'podCertificate'];

function sourceKind(source: VolumeProjection): SourceKind | null {
  return sourceKinds.find((kind) => source[kind] !== undefined) ?? null;
}

function sourceFiles(source: VolumeProjection, defaultMode: number, pod: Pod, facts: ApiDataFacts, token: TokenLookup | undefined): Collected {
  const objectSource = ({ name = '', items = [], optional = false }: Partial<ObjectSource>): ObjectSource => ({ name, items, defaultMode, optional });
  switch (sourceKind(source)) {
    case 'secret':
      return secretFiles(objectSource(source.secret!), found(facts.secrets, source.secret!.name ?? ''));
    case 'configMap':
      return configMapFiles(objectSource(source.configMap!), found(facts.configMaps, source.configMap!.name ?? ''));
    case 'downwardAPI':
      return downwardFiles(source.downwardAPI!.items ?? [], defaultMode, pod, facts.nodeAllocatable);
    case 'serviceAccountToken': {
      assert(token !== undefined, 'each token request has an answer');
      if (!token.ok) return { files: [], errors: [token.message] };
      const mode = facts.fsUser === null && facts.fsGroup === null ? defaultMode : restrictedTokenMode;
      return { files: [[source.serviceAccountToken!.path, file(utf8Encode(token.token), mode, facts.fsUser)]], errors: [] };
    }
    case 'clusterTrustBundle':
      return trustBundleFiles(source.clusterTrustBundle as unknown as TrustBundleSource, defaultMode, facts);
    default:
      return { files: [], errors: [] };
  }
}

function certificateFiles(source: PodCertificateSource, defaultMode: number, { fsUser, fsGroup }: ApiDataFacts, answer: PodCertificateAnswer | undefined): Collected {
  if (answer?.kind !== 'found') return { files: [], errors: [answer?.message ?? noPodCertificates] };
  const mode = fsUser === null && fsGroup === null ? defaultMode : restrictedTokenMode;
  const chain = certificateBlocks(answer.chain).join('');
  const { credentialBundlePath = '', keyPath = '', certificateChainPath = '' } = source;
  const texts: readonly (readonly [string, string])[] = [
    [credentialBundlePath, answer.privateKey + chain],
    [keyPath, answer.privateKey],
    [certificateChainPath, chain],
  ];
  return { files: texts.filter(([path]) => path !== '').map(([path, text]) => [path, file(utf8Encode(text), mode, fsUser)]), errors: [] };
}

function trustBundleFiles(source: TrustBundleSource, defaultMode: number, { trustBundles = null, fsUser, fsGroup }: ApiDataFacts): Collected {
  const made = trustBundles === null ? { ok: false as const, message: noTrustBundles } : trustBundleText(source, trustBundles);
  if (!made.ok) return { files: [], errors: [made.message] };
  const mode = fsUser === null && fsGroup === null ? defaultMode : restrictedTokenMode;
  return { files: [[source.path, file(utf8Encode(made.text), mode, fsUser)]], errors: [] };
}

/** Whether the volume shows the cluster's trust bundles. */
export function showsTrustBundles(volume: Volume): boolean {
  return (volume.projected?.sources ?? []).some((source) => sourceKind(source) === 'clusterTrustBundle');
}

function found<T>(objects: ReadonlyMap<string, Lookup<T>>, name: string): Lookup<T> {
  return objects.get(name) ?? { kind: 'absent' };
}

/** One error unchanged; several different ones as a list. */
function aggregate(errors: readonly string[]): string {
  const distinct = [...new Set(errors)];
  return distinct.length === 1 ? distinct[0]! : `[${distinct.join(', ')}]`;
}
