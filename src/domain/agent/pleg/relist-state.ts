// The listings and inspections of the runtime that are in progress or requested.
import type { Micros } from '../../../ports/micros.js';
import type { RuntimeListing } from '../../../ports/model/runtime-listing.js';
import type { PodRuntimeStatus } from '../../../ports/model/runtime-status.js';

/** The result of inspecting one pod; null: the runtime doesn't have it. */
export interface PodRelist {
  readonly uid: string;
  readonly askedAt: Micros;
  readonly found: PodRuntimeStatus | null;
}

export interface RelistState {
  /** A listing of everything is in progress. */
  listing: boolean;
  /** Another listing follows at once, since this one may be older than the latest change. */
  again: boolean;
  /** Inspections of single pods in progress, by uid: when the runtime was asked. */
  readonly looks: Map<string, Micros>;
  /** On-demand requests, by uid: when each was made. */
  readonly requests: Map<string, Micros>;
  /** Failed inspections, by uid, until one succeeds: the number in a row, and the time of the next automatic retry. */
  readonly failures: Map<string, { readonly count: number; readonly nextAt: Micros }>;
  /** By uid: sandboxes and containers that the listings have and an inspection did not find, until a listing omits them. */
  readonly denied: Map<string, ReadonlySet<string>>;
  /** How often in a row everything could not be listed. */
  failedLists: number;
  /** The newest listing of everything. */
  newest: RuntimeListing | null;
}

export function newRelist(): RelistState {
  return { listing: false, again: false, looks: new Map(), requests: new Map(), failures: new Map(), denied: new Map(), failedLists: 0, newest: null };
}
