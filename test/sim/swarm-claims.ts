// Resource claims in a swarm: two of each node, of two DRA drivers that restart, disappear, return and fail; pods that share them; and a scheduler that
// reserves them.
import type { Container } from '../../src/ports/model/container.js';
import type { Pod } from '../../src/ports/model/pod.js';
import type { SimCluster, SimClusterNode } from '../../src/sim/index.js';
import type { ApiCaller } from './api-caller.js';
import type { Dice } from './dice.js';
import { administrator } from './swarm-objects.js';

const drivers = ['gpu.example.com', 'nic.example.com'] as const;
/** Name -> its drivers. */
const claims = { shared: [drivers[0]], pair: drivers } as const;
type Claim = keyof typeof claims;
const names: readonly Claim[] = ['shared', 'pair'];
const calls = ['prepare', 'unprepare'] as const;
const calledWith = ['unavailable', 'internal', 'deadline-exceeded'] as const;

export const claimOperations = ['draPlugin.prepare', 'draPlugin.unprepare', 'stateFiles.write'] as const;

const idOf = (claim: Claim, node: string): string => `${claim}-${node}`;
const socketOf = (driver: string): string => `${driver}-dra.sock`;

export class SwarmClaims {
  private readonly admin: ApiCaller;
  /** Claim -> its uid. */
  private readonly uids = new Map<string, string>();

  constructor(private readonly cluster: SimCluster) {
    this.admin = administrator(cluster);
    for (const node of cluster.nodeNames) {
      for (const claim of names) this.make(claim, node);
      for (const driver of drivers) this.put(cluster.node(node), driver);
    }
  }

  private make(claim: Claim, node: string): void {
    const name = idOf(claim, node);
    const requests = claims[claim].map((_driver, i) => ({ name: `r${i}`, exactly: { deviceClassName: 'class' } }));
    const { body } = this.admin.create('resourceclaims', {
      apiVersion: 'resource.k8s.io/v1',
      kind: 'ResourceClaim',
      metadata: { name, namespace: 'default' },
      spec: { devices: { requests } },
    });
    this.uids.set(name, (body.metadata as { readonly uid: string }).uid);
    const results = claims[claim].map((driver, i) => ({ request: `r${i}`, driver, pool: 'pool', device: name }));
    this.admin.patch('resourceclaims', name, { status: { allocation: { devices: { results } } } }, 'status');
  }

  private put(node: SimClusterNode, name: string): void {
    node.host.csi.put(socketOf(name), { name, type: 'DRAPlugin', supportedVersions: ['v1.DRAPlugin'] });
  }

  /** The same pod, whose containers use these claims. */
  claiming(pod: Pod, node: string, used: readonly Claim[]): Pod {
    if (used.length === 0) return pod;
    const using = (container: Container): Container => ({ ...container, resources: { ...container.resources, claims: used.map((name) => ({ name })) } });
    const { containers, initContainers } = pod.spec;
    const all = { containers: containers.map(using), ...(initContainers === undefined ? {} : { initContainers: initContainers.map(using) }) };
    return { ...pod, spec: { ...pod.spec, ...all, resourceClaims: used.map((name) => ({ name, resourceClaimName: idOf(name, node) })) } };
  }

  /** As `claiming`, of none, one or both. */
  withClaims(pod: Pod, node: string, dice: Dice): Pod {
    return this.claiming(pod, node, dice.chance(0.6) ? [] : dice.of([['shared'], ['pair'], ['shared', 'pair']]));
  }

  /** Claims are reserved for the pods that use them. Before any time passes: no node is given a pod whose claims aren't. */
  schedule(): void {
    const pods = (this.admin.list('pods').body.items ?? []) as readonly Pod[];
    for (const name of this.uids.keys()) {
      const users = pods.filter(({ spec }) => spec.resourceClaims?.some(({ resourceClaimName }) => resourceClaimName === name) === true);
      const reservedFor = users.map(({ metadata }) => ({ resource: 'pods', name: metadata.name, uid: metadata.uid }));
      this.admin.patch('resourceclaims', name, { status: { reservedFor } }, 'status', 'default');
    }
  }

  /** Something happens to a driver of the node. */
  act(node: SimClusterNode, dice: Dice): void {
    const driver = dice.of(drivers);
    const roll = dice.next();
    const plugin = [...node.host.state.plugins.values()].find(({ name }) => name === driver);
    if (roll < 0.3) node.host.csi.remove(socketOf(driver));
    else if (roll < 0.6 || plugin === undefined) this.put(node, driver);
    else if (roll < 0.8) {
      const claim = idOf(dice.of(names), node.name);
      if (!plugin.claimErrors.delete(claim)) plugin.claimErrors.set(claim, 'planned failure');
    } else plugin.failures.push({ call: dice.of(calls), kind: dice.of(calledWith), message: 'rpc error: code = Unknown desc = planned failure' });
  }

  /** Drivers run again, without faults. */
  restore(): void {
    for (const name of this.cluster.nodeNames) for (const driver of drivers) this.put(this.cluster.node(name), driver);
  }

  /** Missing claim devices of a running pod. */
  differences(node: SimClusterNode, uid: string, { spec }: Pod): string[] {
    const wanted = (spec.resourceClaims ?? []).flatMap(({ name, resourceClaimName = '' }) =>
      claims[name as Claim].map((driver) => `${driver}/device=${this.uids.get(resourceClaimName)}`),
    );
    const running = node.containers(uid).filter(({ state, config }) => state === 'running' && !config.metadata.name.startsWith('debug-'));
    const lacking = running.flatMap(({ id, config }) => wanted.filter((device) => config.cdiDevices?.includes(device) !== true).map((device) => `runs ${id} without ${device}`));
    const file = node.host.state.stateFiles.get('dra_manager_state') ?? '';
    return [...lacking, ...(wanted.length > 0 && !file.includes(uid) ? ['is not in the state file of claims'] : [])];
  }
}

/** Nodes' leftovers of claims of removed pods. */
export function claimLeftovers({ agent, host }: SimClusterNode): Record<string, number> {
  const { dra } = agent;
  const prepared = [...host.state.draClaims.values()].reduce((sum, { size }) => sum + size, 0);
  return { 'prepared claims': prepared, 'claims of pods': dra?.claims.size ?? 0, 'work on claims': dra?.tasks.size ?? 0, 'pods without their claims': dra?.failedPods.size ?? 0 };
}
