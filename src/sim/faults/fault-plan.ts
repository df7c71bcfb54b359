// Faults as data: which calls of which operation go wrong, how, and when. One plan serves the world and the daemon's fault-injecting
// decorator, and the same plan, seed and calls always give the same faults.
import { assert } from '../../domain/kernel/assert.js';
import { draw, streamOf } from '../../domain/kernel/random.js';
import type { Micros } from '../../ports/micros.js';
import type { PortErrorKind } from '../../ports/port-error.js';

/** All given conditions must hold. Without any: every call. */
export interface FaultTrigger {
  /** The n-th call of the operation since the plan began, counted from 1. */
  readonly nth?: number;
  /** How likely each call is hit, 0 to 1. */
  readonly probability?: number;
  /** Window of time, from and until (not including) that long after the plan's start. */
  readonly fromMicros?: Micros;
  readonly untilMicros?: Micros;
  /** How often the rule fires at most. */
  readonly times?: number;
}

/** `before`: the operation is not performed until then, or not at all. `after`: it was performed, only the caller does not hear of it. */
export type FaultMoment = 'before' | 'after';

export type FaultAction =
  | { readonly kind: 'error'; readonly moment: FaultMoment; readonly error: PortErrorKind; readonly message: string }
  | { readonly kind: 'delay'; readonly moment: FaultMoment; readonly micros: Micros }
  /** No answer, until the caller gives up. */
  | { readonly kind: 'hang'; readonly moment: FaultMoment };

export interface FaultRule<Action = FaultAction> {
  /** `sandboxes.run`, `sandboxes.*` or `*`. */
  readonly operation: string;
  readonly trigger: FaultTrigger;
  readonly action: Action;
}

/** A plan with its counters, as data. */
export interface FaultPlanData<Action = FaultAction> {
  readonly rules: readonly FaultRule<Action>[];
  readonly seed: number;
  readonly start: Micros;
  readonly calls: ReadonlyMap<string, number>;
  readonly fired: readonly number[];
}

export class FaultPlan<Action = FaultAction> {
  private readonly calls: Map<string, number>;
  private readonly fired: number[];

  constructor(
    private readonly rules: readonly FaultRule<Action>[],
    private readonly seed: number,
    private readonly start: Micros,
    counted: Pick<FaultPlanData<Action>, 'calls' | 'fired'> = { calls: new Map(), fired: rules.map(() => 0) },
  ) {
    this.calls = new Map(counted.calls);
    this.fired = [...counted.fired];
    for (const { trigger } of rules) {
      const { nth = 1, probability = 1 } = trigger;
      assert(Number.isInteger(nth) && nth >= 1 && probability >= 0 && probability <= 1, `fault trigger ${JSON.stringify(trigger)} can't be`);
    }
  }

  /** Counts a call, and returns the actions of every rule that fires, in the order of the rules. */
  strike(operation: string, now: Micros): readonly Action[] {
    const nth = (this.calls.get(operation) ?? 0) + 1;
    this.calls.set(operation, nth);
    const actions: Action[] = [];
    for (const [i, rule] of this.rules.entries()) {
      if (!concerns(rule.operation, operation) || !this.fires(rule.trigger, i, operation, nth, now - this.start)) continue;
      this.fired[i] = (this.fired[i] ?? 0) + 1;
      actions.push(rule.action);
    }
    return actions;
  }

  data(): FaultPlanData<Action> {
    return { rules: this.rules, seed: this.seed, start: this.start, calls: this.calls, fired: this.fired };
  }

  /** How often each rule fired, in the order of the rules: a rule at 0 tested nothing. */
  get counts(): readonly number[] {
    return this.fired;
  }

  private fires(trigger: FaultTrigger, rule: number, operation: string, nth: number, since: Micros): boolean {
    if (trigger.nth !== undefined && trigger.nth !== nth) return false;
    if (trigger.times !== undefined && (this.fired[rule] ?? 0) >= trigger.times) return false;
    if (since < (trigger.fromMicros ?? 0) || since >= (trigger.untilMicros ?? Number.POSITIVE_INFINITY)) return false;
    // By call, not by draw: a rule added in front doesn't change other rules' chances.
    return trigger.probability === undefined || draw(streamOf(this.seed, `fault/${rule}`, operation), nth) < trigger.probability;
  }
}

function concerns(pattern: string, operation: string): boolean {
  return pattern === '*' || pattern === operation || (pattern.endsWith('.*') && operation.startsWith(pattern.slice(0, -1)));
}
