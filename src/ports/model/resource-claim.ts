// A claim for devices, as the scheduler has settled it.
import type { ApiObject } from './api-object.js';

export interface DeviceAllocationResult {
  readonly request: string;
  readonly driver: string;
  readonly pool: string;
  readonly device: string;
  readonly adminAccess?: boolean;
  readonly shareID?: string;
}

export interface ResourceClaim extends ApiObject {
  readonly status?: {
    /** Absent: not allocated yet. */
    readonly allocation?: { readonly devices?: { readonly results?: readonly DeviceAllocationResult[] } };
    /** The pods that may use it. */
    readonly reservedFor?: readonly { readonly apiGroup?: string; readonly resource: string; readonly name: string; readonly uid: string }[];
  };
}
