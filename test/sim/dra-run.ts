// A node of a cluster with DRA drivers beside it, and a scheduler that allocates devices to claims.
import type { Container } from '../../src/ports/model/container.js';
import type { PodSpec } from '../../src/ports/model/pod.js';
import { allCheckers } from '../../src/sim/checkers/all-checkers.js';
import type { SimPlugin } from '../../src/sim/host/host-state.js';
import type { SimClusterOptions } from '../../src/sim/index.js';
import { VolumeRun } from './volume-run.js';

export const gpu = 'gpu.example.com';
export const nic = 'nic.example.com';
const reservedFor = (uids: readonly string[]) => uids.map((uid) => ({ resource: 'pods', name: 'p', uid }));

export class DraRun extends VolumeRun {
  /** Calls of drivers, as `prepare a,b` with the names of the claims. */
  readonly calls: string[] = [];
  private readonly users = new Map<string, string[]>();

  constructor(options: Partial<SimClusterOptions> = {}) {
    const calls: string[] = [];
    super({
      claims: true,
      settings: { takesPlugins: true },
      ...options,
      checkers: [
        ...allCheckers,
        {
          name: 'calls of drivers',
          fresh: () => null,
          look: (_memory, what) => {
            if (what.kind !== 'command' || !what.command.op.startsWith('draPlugin.')) return;
            const { claims } = what.command.request as { readonly claims: readonly { readonly name: string }[] };
            calls.push(`${what.command.op.slice(10)} ${claims.map(({ name }) => name).join()}`);
          },
        },
      ],
    });
    this.calls = calls;
  }

  driver(name = gpu, more: Partial<SimPlugin> = {}): SimPlugin {
    const plugin = this.host.csi.put(`${name}-reg.sock`, { name, type: 'DRAPlugin', supportedVersions: ['v1.DRAPlugin'], ...more });
    this.until('it is told of its registration', () => plugin.notified !== null);
    return plugin;
  }

  /** A claim with a device of each driver. */
  deviceClaim(name: string, drivers: readonly string[] = [gpu], metadata: object = {}): string {
    const spec = { devices: { requests: drivers.map((_driver, i) => ({ name: `r${i}`, exactly: { deviceClassName: 'c' } })) } };
    const made = this.admin.create('resourceclaims', { apiVersion: 'resource.k8s.io/v1', kind: 'ResourceClaim', metadata: { name, namespace: 'default', ...metadata }, spec });
    if (made.code !== 201) throw new Error(JSON.stringify(made.body));
    const results = drivers.map((driver, i) => ({ request: `r${i}`, driver, pool: 'pool', device: name }));
    this.setClaim(name, { allocation: { devices: { results } } });
    return (made.body.metadata as { readonly uid: string }).uid;
  }

  setClaim(name: string, status: object): void {
    const answer = this.admin.patch('resourceclaims', name, { status }, 'status');
    if (answer.code !== 200) throw new Error(JSON.stringify(answer.body));
  }

  /** A pod whose container `main` uses these claims, which are reserved for it. */
  claimingPod(name: string, claims: readonly string[], more: Partial<PodSpec> = {}, uses: NonNullable<Container['resources']> = {}, reserved = claims): string {
    const resourceClaims = claims.map((claim) => ({ name: `c-${claim}`, resourceClaimName: claim }));
    const resources = { claims: claims.map((claim) => ({ name: `c-${claim}` })), ...uses };
    const containers = [{ name: 'main', image: 'app:1', resources }];
    const uid = this.pod(name, [], { resourceClaims, containers, ...more });
    for (const claim of reserved) {
      const uids = [...(this.users.get(claim) ?? []), uid];
      this.users.set(claim, uids);
      this.setClaim(claim, { reservedFor: reservedFor(uids) });
    }
    return uid;
  }

  runs(name: string): void {
    this.until(`${name} runs`, () => this.phase(name) === 'Running');
  }

  goes(name: string): void {
    this.admin.remove('pods', name, {});
    this.until(`${name} is gone`, () => this.admin.get('pods', name).code === 404);
  }

  events(reason = 'FailedPrepareDynamicResources', name = 'a'): string[] {
    return this.said(name, reason);
  }

  /** The claims in the state file: `<name>: <pod>, <pod>; <driver>=<cdi>,<cdi>`. */
  saved(): string[] {
    const text = this.host.state.stateFiles.get('dra_manager_state');
    if (text === undefined) return ['no file'];
    const { ClaimInfoStateList: list } = JSON.parse((JSON.parse(text) as { readonly Data: string }).Data) as { readonly ClaimInfoStateList: readonly SavedClaim[] | null };
    return (list ?? []).map(({ ClaimName, PodUIDs, DriverState }) => {
      const devices = Object.entries(DriverState).map(([driver, { Devices }]) => `${driver}=${(Devices ?? []).flatMap(({ CDIDeviceIDs }) => CDIDeviceIDs ?? []).join()}`);
      return `${ClaimName}: ${Object.keys(PodUIDs).length} pods; ${devices.join(' ')}`;
    });
  }

  cdiDevices(uid: string): (readonly string[])[] {
    return this.cluster
      .node()
      .containers(uid)
      .map(({ config }) => config.cdiDevices ?? []);
  }

  preparedBy(driver = gpu): string[] {
    return [...(this.host.state.draClaims.get(driver)?.values() ?? [])].map(({ name }) => name).sort();
  }
}

interface SavedClaim {
  readonly ClaimName: string;
  readonly PodUIDs: object;
  readonly DriverState: Readonly<Record<string, { readonly Devices: readonly { readonly CDIDeviceIDs: readonly string[] | null }[] | null }>>;
}
