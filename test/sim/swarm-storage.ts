// Volumes of a swarm that outlive pods: claims bound to disks of two CSI drivers, one that needs no attaching and one that does, to an old in-tree disk
// that a third driver has taken over, and to a disk of the node; the same as raw devices; and inline volumes of a driver. Those of drivers
// are expanded while pods are added and removed, and are measured. The drivers restart, disappear, return and fail.

import { measuredVolumes } from '../../src/domain/volume-manager/measured-volumes.js';
import { csiAttachmentName } from '../../src/domain/volumes/csi-volume.js';
import type { Container } from '../../src/ports/model/container.js';
import type { Pod } from '../../src/ports/model/pod.js';
import type { Volume } from '../../src/ports/model/volume.js';
import type { CsiNodeOperations } from '../../src/ports/outbound/csi-node.js';
import type { SimCluster, SimClusterNode } from '../../src/sim/index.js';
import type { ApiCaller } from './api-caller.js';
import type { Dice } from './dice.js';
import { administrator } from './swarm-objects.js';

export const plainDriver = 'plain.csi.example.com';
export const attachedDriver = 'attached.csi.example.com';
/** Of the disks that were in-tree. */
const oldDriver = 'pd.csi.storage.gke.io';
const drivers = [plainDriver, attachedDriver, oldDriver] as const;
type Driver = (typeof drivers)[number];
/** What is claimed, by the name of the volume in a pod. */
const claims = ['plain', 'attached', 'old', 'local'] as const;
const devices = ['raw', 'device'] as const;
type Claim = (typeof claims)[number] | (typeof devices)[number];
/** Those of drivers. */
const growing = ['plain', 'attached', 'old', 'raw'] as const;
const calls: readonly (keyof CsiNodeOperations)[] = ['info', 'capabilities', 'stage', 'publish', 'unpublish', 'unstage', 'expand', 'expand'];
const capabilities = ['STAGE_UNSTAGE_VOLUME', 'EXPAND_VOLUME', 'GET_VOLUME_STATS'];
const calledWith = ['unavailable', 'internal', 'deadline-exceeded', 'invalid-argument'] as const;

interface ClaimStatus {
  readonly capacity?: Readonly<Record<string, string>>;
  readonly allocatedResources?: object;
  readonly allocatedResourceStatuses?: Readonly<Record<string, string>>;
}

const idOf = (claim: Claim, node: string): string => `${claim}-${node}`;

export class SwarmStorage {
  private readonly admin: ApiCaller;
  private readonly attached = new Set<string>();
  /** By name: of how many GiB a claim's volume is. */
  private readonly sizes = new Map<string, number>();

  constructor(private readonly cluster: SimCluster) {
    this.admin = administrator(cluster);
    this.driverObject(plainDriver, { attachRequired: false, volumeLifecycleModes: ['Persistent', 'Ephemeral'], requiresRepublish: true });
    this.driverObject(attachedDriver, { podInfoOnMount: true });
    this.driverObject(oldDriver, { attachRequired: false });
    for (const name of cluster.nodeNames) {
      const node = cluster.node(name);
      node.host.models.podVolumes.putHostPath('/mnt/disk', 'directory');
      node.host.models.podVolumes.putHostPath('/dev/disk', 'block-device');
      for (const driver of drivers) this.put(node, driver);
      for (const claim of [...claims, ...devices]) this.bind(claim, name);
    }
  }

  /** Something happens to a driver of the node, or a volume of it grows. */
  act(node: SimClusterNode, dice: Dice): void {
    this.attach();
    if (dice.chance(0.3)) {
      this.grow(idOf(dice.of(growing), node.name), dice.chance(0.8));
      return;
    }
    const driver = dice.of(drivers);
    const roll = dice.next();
    if (roll < 0.3) node.host.csi.remove(socketOf(driver));
    else if (roll < 0.6) this.put(node, driver);
    else {
      const plugin = [...node.host.state.plugins.values()].find(({ name }) => name === driver);
      const call = dice.of(calls);
      const kind = dice.of(calledWith);
      plugin?.failures.push({ call, kind, message: `rpc error: code = Unknown desc = planned failure of ${call}` });
    }
  }

  /** Drivers run again, without faults; refused expansions are requested again, as the resizer's recovery does. */
  restore(): void {
    for (const name of this.cluster.nodeNames) for (const driver of drivers) this.put(this.cluster.node(name), driver);
    for (const [claim] of this.sizes) if (this.claimStatus(claim).allocatedResourceStatuses?.['storage'] === 'NodeResizeInfeasible') this.isPending(claim);
  }

  /** The controller has made the disk larger, and leaves the rest to the node. @param isRecoverable the claim says what state it is in */
  private grow(name: string, isRecoverable: boolean): void {
    const size = (this.sizes.get(name) ?? 1) + 1;
    this.sizes.set(name, size);
    this.admin.patch('persistentvolumes', name, { spec: { capacity: { storage: `${size}Gi` } } }, null, null);
    // A controller of before the recovery writes nothing of the sort, unless a claim has it from another.
    if (isRecoverable || this.claimStatus(name).allocatedResources !== undefined) this.isPending(name);
  }

  private isPending(name: string): void {
    const conditions = [{ type: 'FileSystemResizePending', status: 'True' }];
    const allocatedResources = { storage: `${this.sizes.get(name)}Gi` };
    const { code, body } = this.admin.patch(
      'persistentvolumeclaims',
      name,
      { status: { allocatedResources, allocatedResourceStatuses: { storage: 'NodeResizePending' }, conditions } },
      'status',
    );
    if (code !== 200) throw new Error(`${name}: ${code} ${String(body.message)}`);
  }

  private claimStatus(name: string): ClaimStatus {
    return (this.admin.get('persistentvolumeclaims', name).body.status ?? {}) as ClaimStatus;
  }

  /** What the attach controller does for a node that has registered: its disk is there from then on. */
  attach(): void {
    for (const name of this.cluster.nodeNames) {
      if (this.attached.has(name) || this.admin.get('nodes', name, null).code !== 200) continue;
      const volume = `kubernetes.io/csi/${attachedDriver}^${idOf('attached', name)}`;
      this.admin.patch('nodes', name, { status: { volumesAttached: [{ name: volume, devicePath: '' }] } }, 'status', null);
      this.attached.add(name);
    }
  }

  /** What a running pod should have mounted, as large as it is, and has not. */
  differences(node: SimClusterNode, uid: string, pod: Pod): string[] {
    const grown = (pod.spec.volumes ?? []).flatMap(({ persistentVolumeClaim }) => {
      const claim = persistentVolumeClaim?.claimName ?? '';
      const [size, said] = [this.sizes.get(claim), this.claimStatus(claim)];
      return size === undefined || said.capacity?.['storage'] === `${size}Gi` ? [] : [`has ${claim} of ${size}Gi, of which is said ${JSON.stringify(said)}`];
    });
    return [...this.absent(node, uid, pod), ...grown, ...unmeasured(node, uid)];
  }

  private absent({ name, host }: SimClusterNode, uid: string, { spec }: Pod): string[] {
    return (spec.volumes ?? []).flatMap(({ name: volume, persistentVolumeClaim, csi }) => {
      if (persistentVolumeClaim === undefined && csi === undefined) return [];
      const claim = persistentVolumeClaim?.claimName ?? '';
      if (devices.some((device) => claim === idOf(device, name))) {
        const link = `kubernetes.io~${claim === idOf('raw', name) ? 'csi' : 'local-volume'}/${claim}`;
        return host.state.podDirectories.get(uid)?.deviceLinks.has(link) === true ? [] : [`has no ${volume}`];
      }
      const isDisk = persistentVolumeClaim?.claimName === idOf('local', name);
      const directory = isDisk ? `kubernetes.io~local-volume/${idOf('local', name)}` : `kubernetes.io~csi/${csi === undefined ? persistentVolumeClaim?.claimName : volume}/mount`;
      return host.state.volumeMounts.has(`/var/lib/kubelet/pods/${uid}/volumes/${directory}`) ? [] : [`has no ${volume}`];
    });
  }

  private put(node: SimClusterNode, name: Driver): void {
    node.host.csi.put(socketOf(name), { name, capabilities, nodeId: `${name}/${node.name}` });
  }

  private driverObject(name: string, spec: object): void {
    this.must('csidrivers', { metadata: { name }, spec }, null);
  }

  private bind(claim: Claim, node: string): void {
    const name = idOf(claim, node);
    const capacity = { storage: '1Gi' };
    const accessModes = ['ReadWriteOnce'];
    const uid = this.must('persistentvolumeclaims', {
      metadata: { name, namespace: 'default' },
      spec: { accessModes, resources: { requests: capacity }, volumeName: name, ...modeOf(claim) },
    });
    this.admin.patch('persistentvolumeclaims', name, { status: { phase: 'Bound', capacity } }, 'status');
    const claimRef = { namespace: 'default', name, uid };
    this.must(
      'persistentvolumes',
      { metadata: { name }, spec: { capacity, accessModes, claimRef, persistentVolumeReclaimPolicy: 'Retain', ...sourceOf(claim, node), ...modeOf(claim) } },
      null,
    );
    if (claim !== 'attached') return;
    const attachment = csiAttachmentName(name, attachedDriver, node);
    this.must('volumeattachments', { metadata: { name: attachment }, spec: { attacher: attachedDriver, nodeName: node, source: { persistentVolumeName: name } } }, null);
    this.admin.patch('volumeattachments', attachment, { status: { attached: true } }, 'status', null);
  }

  private must(plural: string, body: object, namespace: string | null = 'default'): string {
    const made = this.admin.create(plural, body, namespace);
    if (made.code !== 201) throw new Error(`${plural}: ${made.code} ${String(made.body.message)}`);
    return (made.body.metadata as { readonly uid: string }).uid;
  }
}

function socketOf(driver: Driver): string {
  return `${driver}-reg.sock`;
}

function sourceOf(claim: Claim, node: string): object {
  const onNode = { required: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'Exists' }] }] } };
  if (claim === 'local' || claim === 'device') return { local: { path: claim === 'local' ? '/mnt/disk' : '/dev/disk' }, nodeAffinity: onNode };
  if (claim === 'old') return { gcePersistentDisk: { pdName: idOf(claim, node), fsType: 'ext4' } };
  return { csi: { driver: claim === 'attached' ? attachedDriver : plainDriver, volumeHandle: idOf(claim, node), fsType: 'ext4' } };
}

/** Mounted volumes of a pod without measurable usage: the statistics need it. */
function unmeasured({ agent, host }: SimClusterNode, uid: string): string[] {
  return measuredVolumes(agent.volumes, uid, agent.nodeFacts).flatMap(({ name, path, how }) =>
    how !== 'driver' || host.state.volumeMounts.has(path) ? [] : [`measures ${name} at ${path}, where nothing is mounted`],
  );
}

function modeOf(claim: Claim): object {
  return devices.some((device) => device === claim) ? { volumeMode: 'Block' } : {};
}

/** The pod with some of them, drawn apart from everything else. */
export function withStorage({ metadata, spec }: Pod, node: string, dice: Dice): Pod {
  const volumes: Volume[] = claims.filter(() => dice.chance(0.35)).map((claim) => ({ name: claim, persistentVolumeClaim: { claimName: idOf(claim, node) } }));
  if (dice.chance(0.2)) volumes.push({ name: 'inline', csi: { driver: plainDriver, volumeAttributes: { size: 'small' } } });
  const raw = devices.filter(() => dice.chance(0.2)).map((device): Volume => ({ name: device, persistentVolumeClaim: { claimName: idOf(device, node) } }));
  if (volumes.length + raw.length === 0) return { metadata, spec };
  const readOnly = dice.chance(0.2) ? { readOnly: true } : {};
  const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/${name}`, ...readOnly }));
  const using = (container: Container): Container => ({
    ...container,
    volumeMounts: [...(container.volumeMounts ?? []), ...volumeMounts],
    volumeDevices: raw.map(({ name }) => ({ name, devicePath: `/dev/${name}` })),
  });
  const { containers, initContainers } = spec;
  const inits = initContainers === undefined ? {} : { initContainers: initContainers.map(using) };
  return { metadata, spec: { ...spec, volumes: [...(spec.volumes ?? []), ...volumes, ...raw], containers: containers.map(using), ...inits } };
}
