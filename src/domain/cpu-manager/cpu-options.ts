// Options of the CPU manager's static policy: their values, their feature gates, and conflicts.
import { parseGoBool } from '../values/go-text.js';
import { byCodeUnits } from '../values/text-order.js';
import type { CpuTopology } from './cpu-topology.js';

export interface StaticPolicyOptions {
  /** full-pcpus-only: only whole cores, never shared between containers. */
  readonly fullPcpusOnly: boolean;
  /** distribute-cpus-across-numa */
  readonly distributeCpusAcrossNuma: boolean;
  /** align-by-socket: the affinity of hints is widened to whole sockets. */
  readonly alignBySocket: boolean;
  /** distribute-cpus-across-cores: single CPUs of many cores rather than whole cores. */
  readonly distributeCpusAcrossCores: boolean;
  /** strict-cpu-reservation: reserved CPUs are not in the shared pool either. */
  readonly strictCpuReservation: boolean;
  /** prefer-align-cpus-by-uncorecache */
  readonly preferAlignCpusByUncoreCache: boolean;
}

export interface CpuOptionGates {
  /** CPUManagerPolicyAlphaOptions */
  readonly alpha: boolean;
  /** CPUManagerPolicyBetaOptions */
  readonly beta: boolean;
}

export type CpuOptionsParse = { readonly ok: true; readonly options: StaticPolicyOptions } | { readonly ok: false; readonly error: string };

type Stage = 'alpha' | 'beta' | 'stable';
interface OptionInfo {
  readonly field: keyof StaticPolicyOptions;
  readonly stage: Stage;
}

const known: ReadonlyMap<string, OptionInfo> = new Map<string, OptionInfo>([
  ['full-pcpus-only', { field: 'fullPcpusOnly', stage: 'stable' }],
  ['strict-cpu-reservation', { field: 'strictCpuReservation', stage: 'stable' }],
  ['prefer-align-cpus-by-uncorecache', { field: 'preferAlignCpusByUncoreCache', stage: 'stable' }],
  ['distribute-cpus-across-numa', { field: 'distributeCpusAcrossNuma', stage: 'beta' }],
  ['align-by-socket', { field: 'alignBySocket', stage: 'alpha' }],
  ['distribute-cpus-across-cores', { field: 'distributeCpusAcrossCores', stage: 'alpha' }],
]);

const conflicts: readonly (readonly [string, string])[] = [
  ['full-pcpus-only', 'distribute-cpus-across-cores'],
  ['distribute-cpus-across-numa', 'distribute-cpus-across-cores'],
  ['prefer-align-cpus-by-uncorecache', 'distribute-cpus-across-cores'],
  ['prefer-align-cpus-by-uncorecache', 'distribute-cpus-across-numa'],
];

export const noCpuOptions: StaticPolicyOptions = {
  fullPcpusOnly: false,
  distributeCpusAcrossNuma: false,
  alignBySocket: false,
  distributeCpusAcrossCores: false,
  strictCpuReservation: false,
  preferAlignCpusByUncoreCache: false,
};

export function parseCpuOptions(given: Readonly<Record<string, string>>, gates: CpuOptionGates): CpuOptionsParse {
  let options = noCpuOptions;
  for (const name of Object.keys(given).sort(byCodeUnits)) {
    const info = known.get(name);
    if (info === undefined) return failed(`unknown CPU Manager Policy option: ${JSON.stringify(name)}`);
    if (info.stage === 'alpha' && !gates.alpha) return failed(gatedError('Alpha', name));
    if (info.stage === 'beta' && !gates.beta) return failed(gatedError('Beta', name));
    const parsed = parseGoBool(given[name]!);
    if (!parsed.ok) return failed(`bad value for option ${JSON.stringify(name)}: ${parsed.error}`);
    options = { ...options, [info.field]: parsed.value };
  }
  const isOn = (name: string): boolean => options[known.get(name)!.field];
  const conflict = conflicts.find(([a, b]) => isOn(a) && isOn(b));
  if (conflict !== undefined) return failed(`static policy options ${conflict[0]} and ${conflict[1]} can not be used at the same time`);
  return { ok: true, options };
}

/** null: the options go with the topology manager's policy and with the machine. */
export function cpuOptionsConflict(options: StaticPolicyOptions, topology: CpuTopology, topologyPolicy: string): string | null {
  if (!options.alignBySocket) return null;
  // The misspelling is the kubelet's, which log searches rely on.
  if (topologyPolicy === 'single-numa-node') return 'Topolgy manager single-numa-node policy is incompatible with CPUManager align-by-socket policy option';
  return topology.groups.socket.size > topology.groups.numaNode.size
    ? 'Align by socket is not compatible with hardware where number of sockets are more than number of NUMA'
    : null;
}

function failed(error: string): { readonly ok: false; readonly error: string } {
  return { ok: false, error };
}

function gatedError(stage: 'Alpha' | 'Beta', option: string): string {
  return `CPU Manager Policy ${stage}-level Options not enabled, but option ${JSON.stringify(option)} provided`;
}
