// Finds and loads the addon. One build serves every Node that has Node-API 9 (20, 22, 24).
// Invariant: an unusable file is never skipped silently, and one of another ABI is never used.
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { NativeBinding } from './binding.d.ts';

/** Must equal kAbi in native/addon.cc. */
export const nativeAbi = 6;

const fileName = 'kubelet_native.node';

export type LoadedBinding = { readonly kind: 'addon'; readonly binding: NativeBinding; readonly path: string } | { readonly kind: 'absent'; readonly reason: string };

/** Beside this module (a bundle), then in the package it belongs to: a build of this checkout, or one that came with the package. */
export function bindingCandidates(moduleDirectory: string): string[] {
  const candidates = [join(moduleDirectory, fileName)];
  for (let directory = moduleDirectory; ; directory = dirname(directory)) {
    if (existsSync(join(directory, 'package.json'))) {
      candidates.push(join(directory, 'build/Release', fileName));
      candidates.push(join(directory, `prebuilds/linux-${process.arch}`, fileName));
      return candidates;
    }
    if (dirname(directory) === directory) return candidates;
  }
}

/** Loads the first of `candidates` that exists. */
export function loadBindingFrom(candidates: readonly string[]): LoadedBinding {
  const path = candidates.find((candidate) => existsSync(candidate));
  if (path === undefined) return { kind: 'absent', reason: `no addon at ${candidates.join(' or ')}; build it with: node scripts/install-native.mjs` };
  let loaded: unknown;
  try {
    loaded = createRequire(import.meta.url)(path);
  } catch (error) {
    return { kind: 'absent', reason: `${path} can't be loaded: ${error instanceof Error ? error.message : String(error)}` };
  }
  const abi = typeof loaded === 'object' && loaded !== null && 'abi' in loaded ? loaded.abi : null;
  if (abi !== nativeAbi) return { kind: 'absent', reason: `${path} has ABI ${String(abi)}, this version needs ${nativeAbi}; build it again with: node scripts/install-native.mjs` };
  return { kind: 'addon', binding: loaded as NativeBinding, path };
}

/** The addon of this installation. With `required` (or REQUIRE_NATIVE=1 in the environment) its absence is an error. */
export function loadBinding(required: boolean): LoadedBinding {
  const loaded = loadBindingFrom(bindingCandidates(dirname(fileURLToPath(import.meta.url))));
  if (loaded.kind === 'absent' && (required || process.env.REQUIRE_NATIVE === '1')) throw new Error(`the native addon is required: ${loaded.reason}`);
  return loaded;
}
