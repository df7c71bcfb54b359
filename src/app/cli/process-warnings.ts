// Warnings of the Node.js process, such as too many listeners of one emitter, go to the log as errors: each is a fault of this program or of a
// library, and Node would write it to standard error in a format of its own.
import type { Logger } from '../../ports/outbound/logger.js';

/** @param logger the log at the time of the warning */
export function logProcessWarnings(logger: () => Logger): void {
  // Node's own listener, which writes to standard error.
  process.removeAllListeners('warning');
  process.on('warning', (warning) => {
    const { name, message, stack, code } = warning as Error & { readonly code?: string };
    logger().log('error', 'Warning of the Node.js process', { warning: name, ...(code === undefined ? {} : { code }), err: message, stack });
  });
}
