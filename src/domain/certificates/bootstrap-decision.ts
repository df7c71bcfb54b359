// The credentials of a kubelet's start: the existing kubeconfig, or the bootstrap one and a new certificate.

import type { Instant } from '../../ports/instant.js';
import type { KubeconfigState } from '../../ports/outbound/certificates.js';

export type BootstrapDecision =
  | { readonly kind: 'use-kubeconfig' }
  /** Uses the bootstrap kubeconfig; `blocking`: before anything else is started. */
  | { readonly kind: 'bootstrap'; readonly blocking: boolean }
  | { readonly kind: 'refuse'; readonly error: string };

/**
 * @param rotates rotateCertificates
 * @param bootstrap null: no bootstrap kubeconfig; otherwise its problem, or null
 */
export function bootstrapDecision(kubeconfig: KubeconfigState, rotates: boolean, bootstrap: { readonly problem: string | null } | null, wall: Instant): BootstrapDecision {
  if (bootstrap === null) {
    if (kubeconfig.kind === 'loaded') return { kind: 'use-kubeconfig' };
    return { kind: 'refuse', error: `${rotates ? 'unable to load kubeconfig' : 'invalid kubeconfig'}: ${kubeconfig.reason}` };
  }
  if (kubeconfig.kind === 'loaded' && isValid(kubeconfig.pair, wall)) return { kind: 'use-kubeconfig' };
  if (bootstrap.problem !== null) return { kind: 'refuse', error: `unable to load bootstrap kubeconfig: ${bootstrap.problem}` };
  return { kind: 'bootstrap', blocking: !rotates };
}

/** One that begins later counts as none, too: the server would refuse it. */
function isValid(pair: (KubeconfigState & { readonly kind: 'loaded' })['pair'], wall: Instant): boolean {
  return pair !== null && pair !== 'broken' && pair.length > 0 && pair.every(({ notBefore, notAfter }) => notBefore <= wall && wall < notAfter);
}
