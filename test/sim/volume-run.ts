// A node of a cluster and an administrator, for scenes about volumes.
import { AssertionFailed } from '../../src/domain/kernel/assert.js';
import type { PodSpec } from '../../src/ports/model/pod.js';
import { SimCluster, type SimClusterOptions } from '../../src/sim/index.js';
import { ApiCaller } from './api-caller.js';

const second = 1_000_000;
export const minute = 60 * second;

type Body = Readonly<Record<string, unknown>>;

/** A node of a cluster, and an administrator who binds claims as a controller would. */
export class VolumeRun {
  readonly cluster: SimCluster;
  readonly admin: ApiCaller;

  constructor(options: Partial<SimClusterOptions> = {}) {
    const cluster = new SimCluster({ seed: 5, nodes: ['n1'], node: {}, apiserver: { auditLimit: 20_000 }, ...options });
    this.cluster = cluster;
    const clock = {
      get now() {
        return cluster.now;
      },
      set now(_: number) {},
    };
    this.admin = new ApiCaller(cluster.apiserver, undefined, clock);
    cluster.run(5 * second);
  }

  get host() {
    return this.cluster.node().host;
  }

  pod(name: string, volumes: PodSpec['volumes'], more: Partial<PodSpec> = {}, mount: object = {}): string {
    const volumeMounts = (volumes ?? []).map((volume) => ({ name: volume.name, mountPath: `/${volume.name}`, ...mount }));
    const containers = [{ name: 'main', image: 'app:1', volumeMounts }];
    const spec = { nodeName: 'n1', automountServiceAccountToken: false, terminationGracePeriodSeconds: 1, containers, ...more, volumes };
    return this.made(this.admin.create('pods', { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'default' }, spec }));
  }

  claim(name: string, volumeName: string, phase = 'Bound', metadata: object = {}): string {
    const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, volumeName };
    const uid = this.made(
      this.admin.create('persistentvolumeclaims', { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name, namespace: 'default', ...metadata }, spec }),
    );
    this.admin.patch('persistentvolumeclaims', name, { status: { phase } }, 'status');
    return uid;
  }

  volume(name: string, source: object, claimUid: string, more: object = {}, annotations: object = {}): void {
    const claimRef = { namespace: 'default', name: 'c', uid: claimUid };
    const spec = { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], claimRef, persistentVolumeReclaimPolicy: 'Retain', ...more, ...source };
    this.made(this.admin.create('persistentvolumes', { apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name, annotations }, spec }, null));
  }

  private made({ code, body }: { readonly code: number; readonly body: Body }): string {
    if (code !== 201) throw new AssertionFailed(`${code} ${String(body.message)}`);
    return (body.metadata as { readonly uid: string }).uid;
  }

  phase(name: string): string {
    return (this.admin.get('pods', name).body.status as { readonly phase?: string } | undefined)?.phase ?? '';
  }

  run(micros: number): void {
    this.cluster.run(micros);
  }

  until(what: string, holds: () => boolean, atMost = 2 * minute): boolean {
    return this.cluster.runUntil(holds, atMost) || assertNever(what);
  }

  said(name: string, reason = 'FailedMount'): string[] {
    const records = this.cluster
      .node()
      .events(name)
      .filter(({ record }) => record.reason === reason);
    return [...new Set(records.map(({ record }) => record.message))];
  }

  mounts(): string[] {
    return [...this.host.state.volumeMounts].map(([path, { shown, options }]) => `${path.slice('/var/lib/kubelet/'.length)} ${shown} ${options.join(',')}`);
  }

  gone(name: string, uid: string): void {
    this.admin.remove('pods', name, {});
    this.until('the pod is gone', () => this.admin.get('pods', name).code === 404);
    this.until('its directory is gone', () => !this.host.state.podDirectories.has(uid));
  }
}

function assertNever(what: string): never {
  throw new AssertionFailed(`it did not come about: ${what}`);
}
