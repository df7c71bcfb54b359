// The certificates of a swarm's pods: a signer that issues what is asked for sooner or later, loses a request now and then, and denies one; what pods that
// have one show.
// Invariant: a pod shows what was issued for it, and never what was issued for another.
import { instantOf } from '../../src/domain/values/instant.js';
import { formatRfc3339 } from '../../src/domain/values/time.js';
import { utf8Decode } from '../../src/domain/values/utf8.js';
import type { Container } from '../../src/ports/model/container.js';
import type { Pod } from '../../src/ports/model/pod.js';
import type { Volume } from '../../src/ports/model/volume.js';
import type { SimCluster, SimClusterNode } from '../../src/sim/index.js';
import type { ApiCaller } from './api-caller.js';
import type { Dice } from './dice.js';
import { minute } from './sim-pods.js';
import { administrator } from './swarm-objects.js';

const signerName = 'example.com/swarm';
const plural = 'podcertificaterequests';
const volume: Volume = {
  name: 'identity',
  projected: { sources: [{ podCertificate: { signerName, keyType: 'ECDSAP256', credentialBundlePath: 'all.pem', certificateChainPath: 'chain.pem' } }] },
};
/** Several times in a seed a pod's certificate is replaced. */
const refreshAfter = 4 * minute;
const lifetime = 60 * minute;

interface Request {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly podName: string; readonly podUID: string };
  readonly status?: { readonly conditions?: readonly object[] };
}

export class SwarmCertificates {
  private readonly admin: ApiCaller;
  /** By the pod's uid: each chain that was issued for it. */
  private readonly issued = new Map<string, Set<string>>();
  private count = 0;

  constructor(private readonly cluster: SimCluster) {
    this.admin = administrator(cluster);
  }

  /** Something becomes of what waits. @returns names of pods that won't get any */
  act(dice: Dice): string[] {
    const denied: string[] = [];
    for (const request of this.waiting()) {
      const roll = dice.next();
      if (roll < 0.6) this.issue(request);
      else if (roll < 0.65) this.admin.remove(plural, request.metadata.name, {});
      else if (roll < 0.68) {
        this.answer(request, { conditions: [{ type: 'Denied', status: 'True', reason: 'No', message: 'planned denial' }] });
        denied.push(request.spec.podName);
      }
    }
    return denied;
  }

  issueAll(): void {
    for (const request of this.waiting()) this.issue(request);
  }

  private waiting(): Request[] {
    const all = [...this.cluster.apiserver.store.all('podcertificaterequests.certificates.k8s.io')] as unknown as Request[];
    return all.filter(({ status }) => (status?.conditions ?? []).length === 0);
  }

  private issue(request: Request): void {
    const { podUID } = request.spec;
    const at = (after: number): string => formatRfc3339(instantOf(this.cluster.now + after));
    const certificateChain = `-----BEGIN CERTIFICATE-----\n${btoa(`${podUID} ${this.count++}`)}\n-----END CERTIFICATE-----\n`;
    const conditions = [{ type: 'Issued', status: 'True', reason: 'Yes', message: 'planned' }];
    this.answer(request, { conditions, certificateChain, notBefore: at(0), beginRefreshAt: at(refreshAfter), notAfter: at(lifetime) });
    const ofPod = this.issued.get(podUID) ?? new Set();
    this.issued.set(podUID, ofPod.add(certificateChain));
  }

  private answer({ metadata: { name } }: Request, status: object): void {
    const common = { resource: this.admin.resource(plural), namespace: 'default', subresource: 'status', verb: 'patch', patch: 'merge-patch' } as const;
    const { code, body } = this.admin.ask({ ...common, name, body: { status } });
    if (code !== 200) throw new Error(`${name}: ${code} ${String(body.message)}`);
  }

  /** A running pod shows no certificate, or one that isn't its own. */
  differences({ host }: SimClusterNode, uid: string, { spec }: Pod): string[] {
    if (spec.volumes?.some(({ name }) => name === volume.name) !== true) return [];
    const nodes = host.state.podDirectories.get(uid)?.volumes.get(`kubernetes.io~projected/${volume.name}`)?.nodes;
    const data = nodes?.get('..data');
    const file = data?.kind === 'symlink' ? nodes?.get(`${data.target}/chain.pem`) : undefined;
    const shown = file?.kind === 'file' ? utf8Decode(file.bytes) : null;
    return shown !== null && this.issued.get(uid)?.has(shown) === true ? [] : [`shows the certificate ${JSON.stringify(shown)}, which is none of its own`];
  }
}

/** The pod with a certificate, drawn apart from everything else. */
export function withCertificate({ metadata, spec }: Pod, dice: Dice): Pod {
  if (!dice.chance(0.25)) return { metadata, spec };
  const using = (container: Container): Container => ({ ...container, volumeMounts: [...(container.volumeMounts ?? []), { name: volume.name, mountPath: '/identity' }] });
  const { containers, initContainers } = spec;
  const inits = initContainers === undefined ? {} : { initContainers: initContainers.map(using) };
  return { metadata, spec: { ...spec, volumes: [...(spec.volumes ?? []), volume], containers: containers.map(using), ...inits } };
}
