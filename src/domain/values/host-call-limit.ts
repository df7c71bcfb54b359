// How long the agent waits for a removal or a listing on the host's own file systems. These take milliseconds, or hang in the kernel, in systemd or on a dead
// server behind a mount: the limit gives the pod's work back, so that it is reported and retried. An adapter lets the retry wait for a call that still hangs.
import type { Micros } from '../../ports/micros.js';
import { microsPerMinute } from './time.js';

export const hostCallLimit: Micros = 2 * microsPerMinute;
