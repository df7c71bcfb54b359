// After the wall clock was set forward, or the host slept, checks data with an outside expiry: tokens and certificates of pods,
// since the clock of wake-ups did not advance.
// Invariant: renews only what is due by `nowOutside`.
import { wallOffset } from '../values/instant.js';
import { microsPerSecond } from '../values/time.js';
import { tokenRefreshMachine } from './object-manager/api-data.js';
import type { ContextOf } from './ownership.js';
import { podCertificateMachine } from './pod-certificate-manager/pod-certificates.js';

/** Less is slewing. */
const stepMin = microsPerSecond;

export function noteWallClock({ state, turn }: ContextOf<'agent'>): void {
  const offset = wallOffset(turn);
  const before = state.wallOffset;
  if (before !== null && Math.abs(offset - before) < stepMin) return;
  state.wallOffset = offset;
  if (before === null || offset < before || state.api === null) return;
  for (const uid of new Set([...state.api.tokens.tokens.values()].map(({ podUid }) => podUid))) turn.wakeAt({ machine: tokenRefreshMachine, key: uid }, turn.now);
  for (const key of state.api.podCertificates.keys()) turn.wakeAt({ machine: podCertificateMachine, key }, turn.now);
}
