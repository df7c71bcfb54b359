// Hosts on which the agent refuses to start, unless configured to: swap, kernel tunables, missing rights.
// Invariant: pure; the adapters describe the host, the messages are the ones that users search for.
import { goQuote } from '../values/go-text.js';
import type { KubeletConfiguration } from './schema.js';

export interface HostFacts {
  /** Swap devices in use, not counting those that live in memory. */
  readonly swapOn: boolean;
  readonly cgroupVersion: 1 | 2;
  readonly effectiveUserId: number;
  /** Values of the tunables of `requiredTunables`; null for one that the host lacks. */
  readonly tunables: Readonly<Record<string, number | null>>;
}

/** Kernel settings that the agent needs: out-of-memory kills instead of panics, and a reboot after an oops. */
export const requiredTunables: Readonly<Record<string, number>> = {
  'vm/overcommit_memory': 1,
  'vm/panic_on_oom': 0,
  'kernel/panic': 10,
  'kernel/panic_on_oops': 1,
  'kernel/keys/root_maxkeys': 1_000_000,
  'kernel/keys/root_maxbytes': 25_000_000,
};

/** Why the agent must not start on this host; null when it may. */
export function swapRefusal({ failSwapOn, memorySwap }: Pick<KubeletConfiguration, 'failSwapOn' | 'memorySwap'>, host: HostFacts): string | null {
  if (host.swapOn && failSwapOn) return 'running with swap on is not supported, please disable swap or set --fail-swap-on flag to false';
  if (memorySwap.swapBehavior === 'LimitedSwap' && host.cgroupVersion === 1) return 'swap feature is enabled and LimitedSwap but it is only supported with cgroupv2';
  return null;
}

export type TunablePlan =
  /** With protectKernelDefaults: one message for all differences. */
  | { readonly kind: 'refuse'; readonly error: string }
  /** Without: these are to be written. */
  | { readonly kind: 'set'; readonly values: Readonly<Record<string, number>> };

export function planTunables({ protectKernelDefaults }: Pick<KubeletConfiguration, 'protectKernelDefaults'>, host: HostFacts): TunablePlan {
  const differing = Object.entries(requiredTunables).filter(([name, wanted]) => (host.tunables[name] ?? null) !== wanted);
  if (!protectKernelDefaults || differing.length === 0) return { kind: 'set', values: Object.fromEntries(differing) };
  const problems = differing.map(([name, wanted]) => {
    const actual = host.tunables[name] ?? null;
    return actual === null ? `kernel flag ${goQuote(name)} is missing` : `invalid kernel flag: ${name}, expected value: ${wanted}, actual value: ${actual}`;
  });
  return { kind: 'refuse', error: problems.length === 1 ? (problems[0] as string) : `[${problems.join(', ')}]` };
}

/** Logged as an error; the agent continues, since a user namespace may give it the required rights. null for root. */
export function privilegeWarning(host: HostFacts): string | null {
  return host.effectiveUserId === 0 ? null : 'Kubelet running with insufficient permissions';
}

/** The runtime found no built-in support for a cloud. null when --cloud-provider is fine. */
export function cloudProviderRefusal(cloudProvider: string): string | null {
  if (cloudProvider === '' || cloudProvider === 'external') return null;
  const advice = 'but built-in cloud providers are disabled. Please set --cloud-provider=external and migrate to an external cloud provider';
  return `failed to create kubelet: cloud provider ${goQuote(cloudProvider)} was specified, ${advice}`;
}

/** How the process ends. */
export const exitCodes = { stopped: 0, failed: 1, secondSignal: 1, lockContention: 0 } as const;
