// A place for a daemon that is a node of a mock apiserver: both, an administrator, and everything gone afterwards.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type MockApiserver, type MockApiserverOptions, startMockApiserver } from '../../src/adapters/mock-apiserver/index.js';
import type { WallAnchoredClock } from '../../src/adapters/time/index.js';
import type { ApiObject } from '../../src/ports/model/api-object.js';
import type { Lease } from '../../src/ports/model/lease.js';
import type { Node } from '../../src/ports/model/node.js';
import type { Pod } from '../../src/ports/model/pod.js';
import { until } from '../support/until.js';
import { AdminClient } from './admin-client.js';
import { Stage } from './stage.js';

export const nodeUser = { name: 'system:node:n1', groups: ['system:nodes', 'system:authenticated'] };

export class ClusterStage {
  readonly kubeconfig: string;
  readonly admin: AdminClient;

  private constructor(
    readonly stage: Stage,
    readonly server: MockApiserver,
  ) {
    this.kubeconfig = join(stage.directory, 'kubelet.conf');
    this.admin = new AdminClient(join(stage.directory, 'admin.conf'), server.kubeconfig());
    stage.flags.push(`--kubeconfig=${this.kubeconfig}`);
    this.identify(JSON.parse(server.kubeconfig({ commonName: nodeUser.name, organizations: ['system:nodes'] })).users[0].user);
  }

  static async open(t: { readonly teardown: (run: () => unknown) => unknown }, options: MockApiserverOptions = {}, clock?: WallAnchoredClock): Promise<ClusterStage> {
    const place = new ClusterStage(await Stage.open({}, clock), await startMockApiserver(options));
    t.teardown(async () => {
      place.admin.close();
      await place.stage.close();
      await place.server.stop();
    });
    return place;
  }

  /** The kubeconfig of the agent says this of its user. */
  identify(user: Readonly<Record<string, unknown>>): void {
    const config = JSON.parse(this.server.kubeconfig()) as { readonly users: readonly [{ user: unknown }] };
    config.users[0].user = user;
    writeFileSync(this.kubeconfig, JSON.stringify(config), { mode: 0o600 });
  }

  async pod(name: string): Promise<Pod | null> {
    return (await this.admin.get('pods', 'default', name)) as Pod | null;
  }

  async createPod(name: string): Promise<void> {
    const containers = [{ name: 'c', image: 'busybox', imagePullPolicy: 'IfNotPresent' }];
    const spec = { nodeName: 'n1', automountServiceAccountToken: false, terminationGracePeriodSeconds: 1, containers };
    const metadata = { name, namespace: 'default', annotations: { 'sim.kubelet-ts/c': 'run=forever' } };
    await this.admin.create('pods', 'default', { apiVersion: 'v1', kind: 'Pod', metadata, spec } as ApiObject);
  }

  async untilReady(name: string): Promise<void> {
    await until(`${name} is ready`, async () => (await this.pod(name))?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True'));
  }

  async node(): Promise<Node | null> {
    return (await this.admin.get('nodes', null, 'n1')) as Node | null;
  }

  async condition(type: string) {
    return (await this.node())?.status?.conditions?.find((condition) => condition.type === type);
  }

  async renewTime(): Promise<string> {
    return ((await this.admin.get('leases', 'kube-node-lease', 'n1')) as Lease | null)?.spec.renewTime ?? '';
  }

  /** The lease is renewed so often from now on: with another stamp each time, not a later one, since the wall clock may be set back. */
  async untilRenewed(times = 2): Promise<void> {
    for (let i = 0; i < times; i++) {
      const before = await this.renewTime();
      await until('the lease is renewed', async () => (await this.renewTime()) !== before);
    }
  }
}
