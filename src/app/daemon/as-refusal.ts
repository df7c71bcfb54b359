// Errors of a start that are no programmer errors.
import { EndpointError } from '../../adapters/cri/index.js';
import { PortError } from '../../ports/port-error.js';
import { StartRefusal } from '../../ports/start-refusal.js';

/** A refusal of the runtime, the file system or the endpoint's text, as the line that the process ends with; programmer errors stay unchanged. */
export function asRefusal(error: unknown): unknown {
  const isOutside = error instanceof PortError || error instanceof EndpointError || (error instanceof Error && 'syscall' in error);
  return isOutside ? new StartRefusal(`failed to run Kubelet: ${error.message}`) : error;
}
