// DRA drivers of a simulated node: what each has prepared, which outlives its process, as the hardware's state does.
// Invariant: a claim gets the devices that a scenario has named for it, else one that is named after it, always the same.
import type { DraCall, DraClaimName, DraDevice, DraPluginOperations } from '../../ports/outbound/dra-plugin.js';
import type { ModelOf } from './host-ports.js';
import type { SimHostState } from './host-state.js';
import type { SimCsi } from './sim-csi.js';

export class SimDra implements ModelOf<DraPluginOperations> {
  constructor(
    private readonly state: SimHostState,
    private readonly plugins: SimCsi,
  ) {}

  prepare({ endpoint, claims }: DraCall): DraPluginOperations['prepare']['reply'] {
    const { name: driver, claimErrors } = this.plugins.called(endpoint, 'prepare');
    const answers = new Map<string, { readonly devices: readonly DraDevice[]; readonly error: string }>();
    for (const claim of claims) {
      const error = claimErrors.get(claim.name) ?? '';
      if (error === '') this.preparedBy(driver).set(claim.uid, { namespace: claim.namespace, name: claim.name, uid: claim.uid });
      answers.set(claim.uid, { devices: error === '' ? this.devicesOf(driver, claim) : [], error });
    }
    return { claims: answers };
  }

  unprepare({ endpoint, claims }: DraCall): DraPluginOperations['unprepare']['reply'] {
    const { name: driver, claimErrors } = this.plugins.called(endpoint, 'unprepare');
    const answers = new Map<string, string>();
    for (const { name, uid } of claims) {
      const error = claimErrors.get(name) ?? '';
      if (error === '') this.preparedBy(driver).delete(uid);
      answers.set(uid, error);
    }
    return { claims: answers };
  }

  private preparedBy(driver: string): Map<string, DraClaimName> {
    const known = this.state.draClaims.get(driver) ?? new Map<string, DraClaimName>();
    this.state.draClaims.set(driver, known);
    return known;
  }

  private devicesOf(driver: string, { name, uid }: DraClaimName): readonly DraDevice[] {
    const named = this.state.draDevices.get(name);
    return named ?? [{ requestNames: [], poolName: 'pool', deviceName: name, cdiDeviceIds: [`${driver}/device=${uid}`], shareId: null }];
  }
}
