// What can go wrong with an apiserver, as a plan: by verb and collection, by the seed, by time. The plan is that of all faults of a world.
//
// | action  | does                                                                                        |
// |---------|---------------------------------------------------------------------------------------------|
// | error   | the request is refused with this status and nothing is done                                 |
// | lost    | it is done, and the connection breaks before the answer                                     |
// | latency | the answer takes that much longer                                                           |
// | stale   | a read that is content with any version (`resourceVersion=0`) is answered from an earlier one |
// | cut     | a watch that is opened breaks after that time                                               |
// | silent  | a watch that is opened hears nothing, not even bookmarks                                    |
import { streamOf } from '../../domain/kernel/random.js';
import type { Micros } from '../../ports/micros.js';
import { FaultPlan, type FaultPlanData, type FaultRule } from '../faults/fault-plan.js';
import { type ApiRefusal, refusal } from './api-status.js';

export type ApiFaultAction =
  | { readonly kind: 'error'; readonly code: number; readonly message: string; readonly retryAfterSeconds: number | null }
  | { readonly kind: 'lost' }
  | { readonly kind: 'latency'; readonly micros: Micros }
  | { readonly kind: 'stale'; readonly versions: number }
  | { readonly kind: 'cut'; readonly afterMicros: Micros }
  | { readonly kind: 'silent' };

/** `operation` is `verb.collection`, with the subresource if there is one: `patch.pods/status`, `list.*`, `*`. */
export type ApiFaultRule = FaultRule<ApiFaultAction>;

export interface Struck {
  readonly refusal: ApiRefusal | null;
  readonly lost: boolean;
  readonly latencyMicros: Micros;
  readonly staleVersions: number;
  readonly cutAfterMicros: Micros | null;
  readonly silent: boolean;
}

/** A request without a fault. */
export const unstruck: Struck = { refusal: null, lost: false, latencyMicros: 0, staleVersions: 0, cutAfterMicros: null, silent: false };

const reasons: Readonly<Record<number, string>> = {
  401: 'Unauthorized',
  403: 'Forbidden',
  409: 'Conflict',
  410: 'Expired',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};

export class ApiFaults {
  private plan: FaultPlan<ApiFaultAction>;

  constructor(
    private readonly seed: number,
    from: FaultPlanData<ApiFaultAction>,
  ) {
    this.plan = new FaultPlan(from.rules, from.seed, from.start, from);
  }

  static none(seed: number): FaultPlanData<ApiFaultAction> {
    return new FaultPlan<ApiFaultAction>([], seed, 0).data();
  }

  /** Replaces the rules from now on. */
  set(rules: readonly ApiFaultRule[], now: Micros): void {
    this.plan = new FaultPlan(rules, streamOf(this.seed, 'api faults', String(now)), now);
  }

  data(): FaultPlanData<ApiFaultAction> {
    return this.plan.data();
  }

  /** How often each rule fired, in their order. */
  get counts(): readonly number[] {
    return this.plan.counts;
  }

  strike(operation: string, now: Micros): Struck {
    let struck = unstruck;
    for (const action of this.plan.strike(operation, now)) struck = withAction(struck, action);
    return struck;
  }
}

function withAction(struck: Struck, action: ApiFaultAction): Struck {
  switch (action.kind) {
    case 'error': {
      const details = action.retryAfterSeconds === null ? null : { retryAfterSeconds: action.retryAfterSeconds };
      return { ...struck, refusal: struck.refusal ?? refusal(action.code, reasons[action.code] ?? 'Unknown', action.message, details) };
    }
    case 'lost':
      return { ...struck, lost: true };
    case 'latency':
      return { ...struck, latencyMicros: struck.latencyMicros + action.micros };
    case 'stale':
      return { ...struck, staleVersions: Math.max(struck.staleVersions, action.versions) };
    case 'cut':
      return { ...struck, cutAfterMicros: Math.min(struck.cutAfterMicros ?? Number.POSITIVE_INFINITY, action.afterMicros) };
    case 'silent':
      return { ...struck, silent: true };
  }
}
