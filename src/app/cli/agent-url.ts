// The kubelet's loopback listener, as the commands of kubelet-ctl address it.

/** The base URL of a kubelet's loopback listener: with or without its scheme and last slash in the input. */
export function agentUrl(given: string): string {
  return (given.includes('://') ? given : `http://${given}`).replace(/\/+$/, '');
}

/** Why a reachable listener serves no pods. @param instead the alternative */
export function guardedPods(instead: string): string {
  return `404 Not Found: this kubelet serves its pods on its own port only, to authenticated clients; ${instead}`;
}
