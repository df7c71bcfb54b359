// Which redirects a request to a workload follows: another host's answer is not the workload's.

export type RedirectDecision = { readonly decision: 'follow' | 'useThisResponse' } | { readonly decision: 'fail'; readonly error: string };

/** Redirects are followed on the same host, on any port and scheme. @param requestsSoFar requests of this probe */
export function redirectDecision(firstUrl: string, redirectUrl: string, requestsSoFar: number): RedirectDecision {
  if (hostName(firstUrl) !== hostName(redirectUrl)) return { decision: 'useThisResponse' };
  return requestsSoFar >= 10 ? { decision: 'fail', error: 'stopped after 10 redirects' } : { decision: 'follow' };
}

function hostName(url: string): string {
  const authority = /^[a-zA-Z][a-zA-Z0-9+.-]*:\/\/(?:[^/?#]*@)?([^/?#]*)/.exec(url)?.[1] ?? '';
  return authority.startsWith('[') ? authority.slice(1, Math.max(1, authority.indexOf(']'))) : authority.replace(/:[0-9]*$/, '');
}
