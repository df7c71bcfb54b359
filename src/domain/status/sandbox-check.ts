// Whether a pod can continue in its sandbox. Pod actions replace the sandbox on this answer, and the condition
// PodReadyToStartContainers is its negation, so both must come from here.
import type { Pod } from '../../ports/model/pod.js';
import type { PodRuntimeStatus } from '../../ports/model/runtime-status.js';

export interface SandboxCheck {
  readonly needsNew: boolean;
  /** The attempt number of the next sandbox when one is needed, else of the present one. */
  readonly attempt: number;
  /** The sandbox to use or to replace; `''` if none. */
  readonly sandboxId: string;
}

export function checkSandbox(pod: Pod, status: PodRuntimeStatus): SandboxCheck {
  const newest = status.sandboxes[0];
  if (newest === undefined) return { needsNew: true, attempt: 0, sandboxId: '' };
  const replaced = { needsNew: true, attempt: newest.attempt + 1, sandboxId: newest.id };
  const readyCount = status.sandboxes.filter((sandbox) => sandbox.state === 'ready').length;
  if (readyCount > 1 || newest.state !== 'ready') return replaced;
  const hostNetwork = pod.spec.hostNetwork === true;
  // A sandbox in the wrong network namespace isn't named, so that no SandboxChanged event is recorded for it.
  if (newest.networkMode !== (hostNetwork ? 'node' : 'pod')) return { ...replaced, sandboxId: '' };
  if (!hostNetwork && newest.hasNetwork && newest.ip === '') return replaced;
  return { needsNew: false, attempt: newest.attempt, sandboxId: newest.id };
}
