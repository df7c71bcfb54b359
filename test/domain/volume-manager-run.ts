// The volume manager alone, run as a machine: the test answers its commands and records its reports.
import type { ApiData } from '../../src/domain/api-data/api-data.js';
import { nodeFacts } from '../../src/domain/containers/default-node-facts.js';
import type { NodeFacts } from '../../src/domain/containers/node-facts.js';
import type { Machine, Reply, Wake } from '../../src/domain/kernel/machine.js';
import type { CsiView } from '../../src/domain/plugins/csi-view.js';
import { claimReplied, wantVolumes } from '../../src/domain/volume-manager/desired-volumes.js';
import { stagedReplied, surveyReplied } from '../../src/domain/volume-manager/found-volumes.js';
import { reconcileVolumes } from '../../src/domain/volume-manager/reconcile-volumes.js';
import { releaseReplied, releaseVolumes, settleRelease } from '../../src/domain/volume-manager/release-volumes.js';
import type { VolumeContext } from '../../src/domain/volume-manager/volume-kind.js';
import { newVolumeManager, type VolumeManager } from '../../src/domain/volume-manager/volume-manager-state.js';
import { volumeReplied, volumeWoken } from '../../src/domain/volume-manager/volume-operations.js';
import type { Node } from '../../src/ports/model/node.js';
import type { Pod } from '../../src/ports/model/pod.js';
import type { Volume } from '../../src/ports/model/volume.js';
import type { AgentOperations } from '../../src/ports/outbound/outbound-ports.js';
import { failure, MachineRun, ok } from './machine-run.js';

export const second = 1_000_000;
export type Doing = (manager: VolumeManager, context: VolumeContext) => void;
interface Do {
  readonly type: 'do';
  readonly work: Doing;
}

export class Manager {
  readonly state = newVolumeManager();
  readonly told: string[] = [];
  readonly worked: string[] = [];
  node: Node | null = null;
  apiData: ApiData | null = null;
  facts: Partial<NodeFacts> = {};
  /** Of every CSI driver. */
  capabilities: readonly string[] = [];
  /** Objects of the API, by `plural/name`. */
  readonly objects = new Map<string, object>();
  /** Pods whose volumes have changed. */
  readonly changed: string[] = [];
  csi: CsiView = { driver: () => null, updateAllocatable: () => false, driverObject: () => ({ synced: true, object: null }) };
  readonly run: MachineRun<VolumeManager, Do, AgentOperations>;
  /** Operations that fail, with their message. */
  readonly failing = new Map<string, string>();
  /** Operations that are not answered. */
  readonly silent = new Set<string>();
  readonly left: { plugin: string; volume: string; data: string | null; isDevice?: boolean }[] = [];

  constructor() {
    const machine: Machine<VolumeManager, Do, AgentOperations> = { step: (_state, input, turn) => this.step(input, turn) };
    this.run = new MachineRun(machine, this.state, ({ op, request }) => {
      if (this.silent.has(op)) return null;
      const message = this.failing.get(op);
      if (message !== undefined) return failure('unavailable', message);
      if (op === 'apiReader.get') return this.read(request as AgentOperations['apiReader.get']['request']);
      if (op === 'csiNode.capabilities') return ok(this.capabilities);
      if (op === 'blockDevices.users') return ok([]);
      if (op === 'podVolumes.read') return ok({ entries: [], generationPaths: null, readings: [] });
      if (op === 'podVolumes.list') return ok({ volumes: this.left.splice(0).map((volume) => ({ isDevice: false, ...volume })), subPaths: [] });
      return op === 'volumeMounts.mount' ? ok('mounted') : ok(null);
    });
  }

  private step(input: Do | Reply<AgentOperations> | Wake, turn: VolumeContext['turn']): void {
    const context: VolumeContext = {
      turn,
      ...{ nodeFacts: nodeFacts(this.facts), nodeName: 'n', node: this.node, apiData: this.apiData, csi: this.csi },
      syncFrequency: 60_000_000,
      forPod: (_uid, work) => work(),
      event: (pod, _container, type, reason, message) => this.told.push(`${pod.metadata.name} ${type} ${reason} ${message}`),
      claimEvent: () => undefined,
      volumesChanged: (uid) => {
        this.changed.push(uid);
        settleRelease(this.state, uid);
      },
      volumesWorkedOn: (uid, _pod, outdated) => this.worked.push(`${uid} ${outdated}`),
    };
    if (input.type === 'do') input.work(this.state, context);
    else if (input.type === 'wake' && input.address.machine === 'volume') volumeWoken(this.state, input.address.key, context);
    else if (input.type === 'wake') return;
    else if (input.address.machine === 'volume') volumeReplied(this.state, input.address.key, input, context);
    else if (input.address.machine === 'volume-claim' && input.op === 'apiReader.get') claimReplied(this.state, input.address.key, input, context);
    else if (input.op === 'volumeMounts.survey') surveyReplied(this.state, input, context);
    else if (input.op === 'csiFiles.staged') stagedReplied(this.state, input, context);
    else if (input.op === 'podVolumes.list') releaseReplied(this.state, input.address.key, input, context);
    reconcileVolumes(this.state, context);
    for (const uid of this.state.releases.keys()) settleRelease(this.state, uid);
  }

  private read({ resource, name }: AgentOperations['apiReader.get']['request']): ReturnType<typeof ok> {
    const object = this.objects.get(`${resource.plural}/${name}`);
    return object === undefined ? failure('not-found', `${resource.plural} "${name}" not found`) : ok(object);
  }

  do(work: Doing): this {
    this.run.feed({ type: 'do', work });
    return this;
  }

  want(uid: string, ...volumes: readonly Volume[]): this {
    return this.do((manager, context) => wantVolumes(manager, uid, podOf(uid, volumes), context));
  }

  release(uid: string): this {
    return this.do((manager, context) => releaseVolumes(manager, uid, context));
  }

  asked(): string[] {
    return this.run.asked.splice(0);
  }

  times(op: string): number[] {
    const all = this.run.commands.filter(({ command }) => command.op === op).map(({ at }) => at);
    return all.slice(1).map((at, i) => (at - (all[i] ?? 0)) / second);
  }
}

export function podOf(uid: string, volumes: readonly Volume[]): Pod {
  const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/${name}` }));
  return { metadata: { name: uid, namespace: 'ns', uid }, spec: { containers: [{ name: 'c', image: 'i', volumeMounts }], volumes } };
}
