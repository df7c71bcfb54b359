// secret-configmap-payload: what secret, configMap, downwardAPI and projected volumes show.
import { instantOf } from '../../../src/domain/values/instant.js';
import { type ApiDataFacts, apiDataPayload, type TokenRequest, tokenRequests } from '../../../src/domain/volumes/api-data-volume.js';
import { generationName } from '../../../src/domain/volumes/atomic-writer.js';
import type { Lookup } from '../../../src/domain/volumes/object-payload.js';
import type { ConfigMap, Secret } from '../../../src/ports/model/config-objects.js';
import type { ResourceList } from '../../../src/ports/model/container.js';
import type { Pod } from '../../../src/ports/model/pod.js';
import type { Volume } from '../../../src/ports/model/volume.js';
import type { VectorDriver } from '../driver.js';
import { ModelFileSystem, octal } from '../model-file-system.js';
import { carryOut, planFor } from '../model-volume.js';
import { contentOf } from './atomic-writer.js';

interface Input {
  readonly volume: Volume;
  readonly pod: Pod;
  readonly secrets?: readonly Secret[];
  readonly configMaps?: readonly ConfigMap[];
  readonly nodeAllocatable?: ResourceList;
  readonly fsGroup?: number;
  readonly fsUser?: number;
}

const volumePath = '/vol';

function lookups<T extends Secret | ConfigMap>(objects: readonly T[] | undefined, namespace: string | undefined): ReadonlyMap<string, Lookup<T>> {
  return new Map((objects ?? []).filter(({ metadata }) => metadata.namespace === namespace).map((object) => [object.metadata.name, { kind: 'found', object }]));
}

function tokenFor({ serviceAccountName, audiences }: TokenRequest): ApiDataFacts['tokens'][number] {
  if (serviceAccountName === 'missing') return { ok: false, message: 'serviceaccounts "missing" not found' };
  return { ok: true, token: `token-for-${(audiences ?? []).join('+')}` };
}

function requestText({ serviceAccountName, audiences, expirationSeconds, podName, podUid }: TokenRequest): unknown {
  return { serviceAccount: serviceAccountName, audiences, ...(expirationSeconds === null ? {} : { expirationSeconds }), boundTo: `Pod/${podName}/${podUid}` };
}

export const driver: VectorDriver = {
  run({ volume, pod, secrets, configMaps, nodeAllocatable = {}, fsGroup, fsUser }: Input) {
    const requests = tokenRequests(volume, pod);
    const { namespace } = pod.metadata;
    const facts: ApiDataFacts = {
      secrets: lookups(secrets, namespace),
      configMaps: lookups(configMaps, namespace),
      tokens: requests.map(tokenFor),
      nodeAllocatable,
      fsGroup: fsGroup ?? null,
      fsUser: fsUser ?? null,
    };
    const result = apiDataPayload(volume, pod, facts);
    if (!result.ok) return { error: result.message };
    const files = ModelFileSystem.of(volumePath, []);
    files.entries.get(volumePath)!.mode = 0o777;
    const plan = planFor(files, volumePath, result.payload, generationName(instantOf(0), '1'), facts.fsGroup);
    if (plan.kind === 'refused') return { error: plan.message };
    for (const step of plan.steps) carryOut(files, volumePath, step);
    const data = files.resolve(`${volumePath}/..data`);
    if (data.kind !== 'found') throw new Error('the data link leads nowhere');
    const shown = files.below(data.path).filter((path) => files.entries.get(path)!.type === 'file');
    const visible = files.children(volumePath).filter((name) => !name.startsWith('..'));
    return {
      files: Object.fromEntries(
        shown.map((path) => {
          const { bytes, mode, uid, gid } = files.entries.get(path)!;
          return [path.slice(data.path.length + 1), { ...contentOf(bytes), mode: octal(mode), ...(uid === 0 ? {} : { uid }), ...(gid === 0 ? {} : { gid }) }];
        }),
      ),
      visible,
      directoryMode: octal(files.entries.get(volumePath)!.mode),
      ...(requests.length === 0 ? {} : { tokenRequests: requests.map(requestText) }),
    };
  },
};
