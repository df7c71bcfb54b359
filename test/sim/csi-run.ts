// A node of a simulated cluster with a CSI driver beside it, for scenes of its volumes.
import type { SimPlugin } from '../../src/sim/host/host-state.js';
import { VolumeRun } from './volume-run.js';

export const driver = 'csi.example.com';
/** Volumes of a pod: one of the claim `c`. */
export const claimed = [{ name: 'd', persistentVolumeClaim: { claimName: 'c' } }];

export class CsiRun extends VolumeRun {
  constructor() {
    super({ settings: { takesPlugins: true } });
  }

  plugin(more: Partial<SimPlugin> = {}): SimPlugin {
    return this.host.csi.put('example-reg.sock', { name: driver, ...more });
  }

  registered(more: Partial<SimPlugin> = {}): SimPlugin {
    const plugin = this.plugin(more);
    this.until('it is told that it is registered', () => plugin.notified?.registered === true);
    return plugin;
  }

  object(spec: object): void {
    const made = this.admin.create('csidrivers', { apiVersion: 'storage.k8s.io/v1', kind: 'CSIDriver', metadata: { name: driver }, spec }, null);
    if (made.code !== 201) throw new Error(JSON.stringify(made.body));
  }

  csiVolume(csi: object = {}, more: object = {}): void {
    this.volume('pv', { csi: { driver, volumeHandle: 'h1', fsType: 'ext4', ...csi } }, this.claim('c', 'pv'), more);
  }

  csiNode(): unknown {
    return (this.admin.get('csinodes', 'n1', null).body.spec as { readonly drivers?: unknown } | undefined)?.drivers;
  }

  node(): { readonly annotations?: Readonly<Record<string, string>>; readonly labels?: Readonly<Record<string, string>> } {
    return this.admin.get('nodes', 'n1', null).body.metadata as never;
  }
}
