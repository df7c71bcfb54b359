// CSI drivers as their volumes see them: the endpoint of a driver, and its API object.
import type { CSIDriver } from '../../ports/model/storage.js';
import type { CsiDriverRecord } from './plugin-manager-state.js';

export interface CsiView {
  /** null: it isn't registered at this node. */
  driver(name: string): CsiDriverRecord | null;
  /** Updates the driver's volume count; `allocatableUpdated` notifies the volumes of its end. False: the driver isn't registered. */
  updateAllocatable(name: string): boolean;
  /** `synced` false: the API has not been read yet; `csiDriversChanged` notifies waiting volumes. A standalone node has no such objects. */
  driverObject(name: string): { readonly synced: boolean; readonly object: CSIDriver | null };
}
