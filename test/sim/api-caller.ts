// Asks a simulated apiserver as a person would: one call, one answer, on a clock that the test moves.
import type { Micros } from '../../src/ports/micros.js';
import { type ApiResponse, type ApiUser, type ListOptions, SimApiserver, wholeList } from '../../src/sim/index.js';

type Answer = Omit<ApiResponse, 'body'> & { readonly body: Record<string, unknown> };
const groups: Readonly<Record<string, string>> = {
  leases: 'coordination.k8s.io',
  tokenreviews: 'authentication.k8s.io',
  subjectaccessreviews: 'authorization.k8s.io',
  selfsubjectaccessreviews: 'authorization.k8s.io',
  certificatesigningrequests: 'certificates.k8s.io',
  csidrivers: 'storage.k8s.io',
  csinodes: 'storage.k8s.io',
  volumeattachments: 'storage.k8s.io',
  runtimeclasses: 'node.k8s.io',
  priorityclasses: 'scheduling.k8s.io',
  storageclasses: 'storage.k8s.io',
  clustertrustbundles: 'certificates.k8s.io',
  podcertificaterequests: 'certificates.k8s.io',
  resourceclaims: 'resource.k8s.io',
  resourceclaimtemplates: 'resource.k8s.io',
  resourceslices: 'resource.k8s.io',
  deviceclasses: 'resource.k8s.io',
  selfsubjectreviews: 'authentication.k8s.io',
};
const versions: Readonly<Record<string, string>> = { clustertrustbundles: 'v1beta1', podcertificaterequests: 'v1beta1' };
const start: Micros = 1_800_000_000_000_000;

export class ApiCaller {
  constructor(
    readonly server: SimApiserver = new SimApiserver({}, start),
    readonly user: ApiUser = { name: 'admin', groups: ['system:masters', 'system:authenticated'] },
    private readonly clock: { now: Micros } = { now: start },
  ) {}

  get now(): Micros {
    return this.clock.now;
  }

  as(user: ApiUser): ApiCaller {
    return new ApiCaller(this.server, user, this.clock);
  }

  /** Lets time pass, and what is due in it happen. */
  pass(micros: Micros): void {
    const end = this.clock.now + micros;
    for (let next = this.server.nextAt(); next !== null && next <= end; next = this.server.nextAt()) {
      this.clock.now = Math.max(this.clock.now, next);
      this.server.advance(this.clock.now);
    }
    this.clock.now = end;
  }

  resource(plural: string) {
    return { group: groups[plural] ?? '', version: versions[plural] ?? 'v1', plural };
  }

  create(plural: string, body: object, namespace: string | null = 'default'): Answer {
    return this.ask({ verb: 'create', resource: this.resource(plural), namespace, name: null, subresource: null, body });
  }

  post(plural: string, name: string, subresource: string, body: object): Answer {
    return this.ask({ verb: 'create', resource: this.resource(plural), namespace: 'default', name, subresource, body });
  }

  get(plural: string, name: string, namespace: string | null = 'default'): Answer {
    return this.ask({ verb: 'get', resource: this.resource(plural), namespace, name, subresource: null });
  }

  list(plural: string, options: Partial<ListOptions> = {}, namespace: string | null = 'default'): Answer {
    return this.ask({ verb: 'list', resource: this.resource(plural), namespace, name: null, subresource: null, options: { ...wholeList, ...options } });
  }

  patch(plural: string, name: string, body: unknown, subresource: string | null = null, namespace: string | null = 'default'): Answer {
    return this.ask({ verb: 'patch', patch: 'strategic-merge-patch', resource: this.resource(plural), namespace, name, subresource, body });
  }

  remove(plural: string, name: string, body: object, namespace: string | null = 'default'): Answer {
    return this.ask({ verb: 'delete', resource: this.resource(plural), namespace, name, subresource: null, body });
  }

  ask(request: Omit<Parameters<SimApiserver['handle']>[0], 'user'>): Answer {
    return this.server.handle({ user: this.user, ...request }, this.clock.now) as unknown as Answer;
  }
}
