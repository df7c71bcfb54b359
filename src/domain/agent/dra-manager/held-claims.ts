// Claims that drivers hold for pods.
import { claimsKeptFor } from '../../dra-manager/dra-state.js';
import type { AgentView } from '../agent-view.js';

/** The pod must not be removed from the API while a driver still holds a claim for it. */
export function hasClaims({ dra }: AgentView, uid: string): boolean {
  return dra !== null && dra.claims.size > 0 && claimsKeptFor(dra, uid).length > 0;
}
