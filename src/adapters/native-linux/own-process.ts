// The agent's own place on its node: open files, the out-of-memory order, and the kernel's tunables. Failing here is logged and no more:
// in a container or a user namespace it isn't the agent's to decide.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from '../../ports/outbound/logger.js';
import type { NativeLinux } from './native-linux.js';

export function settleProcess(
  configuration: { readonly oomScoreAdj: number; readonly maxOpenFiles: number },
  tunables: Readonly<Record<string, number>>,
  native: NativeLinux,
  logger: Logger,
): void {
  for (const [name, value] of Object.entries(tunables)) {
    attempt(logger, 'Failed to set kernel tunable', { tunable: name, value }, () => writeFileSync(join('/proc/sys', name), String(value)));
  }
  attempt(logger, 'Failed to set oom_score_adj', { value: configuration.oomScoreAdj }, () => writeFileSync('/proc/self/oom_score_adj', String(configuration.oomScoreAdj)));
  raiseOpenFiles(configuration.maxOpenFiles, native, logger);
}

function raiseOpenFiles(wanted: number, native: NativeLinux, logger: Logger): void {
  attempt(logger, 'Failed to set rlimit on max file handles', { value: wanted }, () => {
    const value = BigInt(wanted);
    const { soft, hard } = native.resourceLimits.limit('nofile');
    if (soft !== null && soft >= value) return;
    native.resourceLimits.setLimit('nofile', { soft: value, hard: hard === null || hard >= value ? hard : value });
  });
}

function attempt(logger: Logger, failure: string, fields: Readonly<Record<string, unknown>>, act: () => void): void {
  try {
    act();
  } catch (error) {
    logger.log('warn', failure, { ...fields, err: error instanceof Error ? error.message : String(error) });
  }
}
