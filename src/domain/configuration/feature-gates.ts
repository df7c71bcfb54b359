// Feature gates: the known ones, their defaults, and the allowed values.
// Invariant: an accepted set of gates has no locked gate off its default and no enabled gate whose dependencies are off.
import { type FeatureGate, type FeatureStage, gateTable } from './feature-gate-table.js';

/** Gates set explicitly, singly or through AllAlpha and AllBeta. */
export type FeatureGates = ReadonlyMap<string, boolean>;

export const noFeatureGates: FeatureGates = new Map();

const stageSwitches: Readonly<Record<string, FeatureStage>> = { AllAlpha: 'ALPHA', AllBeta: 'BETA' };

/** By name, ascending, including AllAlpha and AllBeta. */
export const knownFeatureGates: ReadonlyMap<string, FeatureGate> = new Map(
  [
    ...gateTable,
    { name: 'AllAlpha', stage: 'ALPHA' as const, enabledByDefault: false, locked: false, dependsOn: [] },
    { name: 'AllBeta', stage: 'BETA' as const, enabledByDefault: false, locked: false, dependsOn: [] },
  ]
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map((gate) => [gate.name, gate]),
);

export type SetGatesResult =
  | { readonly ok: true; readonly gates: FeatureGates /** One for each gate that no longer needs to be set. */; readonly warnings: readonly string[] }
  | { readonly ok: false; readonly error: string };

/** False for a name that doesn't exist. */
export function featureEnabled(gates: FeatureGates, name: string): boolean {
  return gates.get(name) ?? knownFeatureGates.get(name)?.enabledByDefault ?? false;
}

/** Sets gates on top of those in force. A gate named by itself wins over AllAlpha and AllBeta, whenever it was named. */
export function setFeatureGates(gates: FeatureGates, settings: Readonly<Record<string, boolean>>): SetGatesResult {
  const enabled = new Map(gates);
  const errors: string[] = [];
  const warnings: string[] = [];
  const names = Object.keys(settings).sort();
  for (const name of names) {
    const value = settings[name] as boolean;
    const gate = knownFeatureGates.get(name);
    if (gate === undefined) errors.push(`unrecognized feature gate: ${name}`);
    else if (gate.locked && gate.enabledByDefault !== value) errors.push(`cannot set feature gate ${name} to ${value}, feature is locked to ${gate.enabledByDefault}`);
    else {
      enabled.set(name, value);
      if (gate.stage === 'GA') warnings.push(`Setting GA feature gate ${name}=${value}. It will be removed in a future release.`);
      if (gate.stage === 'DEPRECATED') warnings.push(`Setting deprecated feature gate ${name}=${value}. It will be removed in a future release.`);
    }
  }
  if (errors.length > 0) return { ok: false, error: joinErrors(errors) };
  for (const name of names) if (Object.hasOwn(stageSwitches, name)) switchStage(enabled, stageSwitches[name] as FeatureStage, settings[name] as boolean);
  const unmet = unmetDependencies(enabled);
  return unmet.length > 0 ? { ok: false, error: joinErrors(unmet) } : { ok: true, gates: enabled, warnings };
}

function switchStage(enabled: Map<string, boolean>, stage: FeatureStage, value: boolean): void {
  for (const gate of knownFeatureGates.values()) {
    if (gate.stage === stage && !Object.hasOwn(stageSwitches, gate.name) && !enabled.has(gate.name)) enabled.set(gate.name, value);
  }
}

function unmetDependencies(enabled: FeatureGates): string[] {
  const problems: string[] = [];
  for (const gate of knownFeatureGates.values()) {
    if (!featureEnabled(enabled, gate.name)) continue;
    const off = gate.dependsOn.filter((name) => !featureEnabled(enabled, name));
    if (off.length > 0) problems.push(`${gate.name} is enabled, but depends on features that are disabled: [${off.join(' ')}]`);
  }
  return problems;
}

/** One message as itself, several in brackets, repeated ones once: how Kubernetes prints a list of errors. */
export function joinErrors(errors: readonly string[]): string {
  const distinct = [...new Set(errors)];
  return distinct.length === 1 ? (distinct[0] as string) : `[${distinct.join(', ')}]`;
}
