// CSI drivers as their volumes see them: where a driver is called, and what the API says of it.
import type { CSIDriver } from '../../ports/model/storage.js';
import type { CsiDriverRecord } from './plugin-manager-state.js';

export interface CsiView {
  /** null: it isn't registered at this node. */
  driver(name: string): CsiDriverRecord | null;
  /** Has the driver's count of volumes read anew; `allocatableUpdated` tells the volumes of its end. False: the driver isn't registered. */
  updateAllocatable(name: string): boolean;
  /** `synced` false: the API has not been read yet; whoever waits is told (`csiDriversChanged`). Standalone there are no such objects. */
  driverObject(name: string): { readonly synced: boolean; readonly object: CSIDriver | null };
}
