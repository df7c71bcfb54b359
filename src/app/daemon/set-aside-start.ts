// The pods to set aside, from the ends of earlier agents. An unreadable file never prevents a start.

import type { EndedSteps } from '../../adapters/flight-record/index.js';
import { type SetAsideSettings, setAsideFileName } from '../../domain/agent/set-aside/set-aside-state.js';
import type { Call } from '../../ports/operation.js';
import type { Logger } from '../../ports/outbound/logger.js';
import type { OutboundPorts } from '../../ports/outbound/outbound-ports.js';

export async function setAsideSettings({ ends }: EndedSteps, stateFiles: OutboundPorts['stateFiles'], logger: Logger, call: Call): Promise<SetAsideSettings> {
  try {
    return { ends, forgiven: ends.length === 0 ? null : await stateFiles.read({ name: setAsideFileName }, call) };
  } catch (error) {
    logger.log('warn', 'It cannot be read which pods are well again', { file: setAsideFileName, err: error instanceof Error ? error.message : String(error) });
    return { ends, forgiven: null };
  }
}
