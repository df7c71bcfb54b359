// The OOM watch, with its file of the last reported record below the root directory.
import { join } from 'node:path';
import { StateDirectory } from '../../adapters/storage/index.js';
import type { OomKill } from '../../domain/oom/oom-parser.js';
import { type ReportedOomKills, type ReportedOomKillsFile, watchForOom } from '../../domain/oom/oom-watch.js';
import type { Logger } from '../../ports/outbound/logger.js';
import type { Resolver } from '../bind-to.js';
import { tokens } from '../tokens.js';
import type { DaemonContext } from './daemon-context.js';
import type { Teardown } from './teardown.js';

const directoryName = 'kernel-log';
const directoryMode = 0o750;
const fileMode = 0o640;
const fileName = 'oom_events_told';

export async function openOomWatch({ loaded, native, logger }: DaemonContext, resolver: Resolver, teardown: Teardown, killed: (kill: OomKill) => void): Promise<void> {
  const file = openReportedOomKills(loaded.options.rootDir, teardown, logger);
  const { bootId } = await resolver.get(tokens.ports).machine.read(null, { signal: new AbortController().signal, timeoutMicros: null });
  teardown.add('kernel log', watchForOom({ log: native.openKernelLog(), file, bootId, logger, killed }));
}

/** Logs an unusable file once; kills are still reported. */
function openReportedOomKills(rootDirectory: string, teardown: Teardown, logger: Logger): ReportedOomKillsFile {
  const failed = (error: unknown): void =>
    logger.log('warn', 'The last reported OOM kill cannot be stored', {
      file: join(rootDirectory, directoryName, fileName),
      err: error instanceof Error ? error.message : String(error),
    });
  let directory: StateDirectory;
  try {
    directory = StateDirectory.open(join(rootDirectory, directoryName), directoryMode);
  } catch (error) {
    failed(error);
    return { read: () => null, write: () => {} };
  }
  teardown.add('file of the last reported OOM kill', () => directory.close());
  return {
    read: () => {
      try {
        return parsed(directory.read(fileName));
      } catch (error) {
        failed(error);
        return null;
      }
    },
    write: (reported) => {
      directory.write(fileName, `${JSON.stringify(reported)}\n`, fileMode).catch(failed);
    },
  };
}

/** Throws the parse error. */
function parsed(content: Uint8Array | null): ReportedOomKills | null {
  if (content === null) return null;
  const { bootId, sequence } = JSON.parse(Buffer.from(content).toString('utf8')) as Partial<ReportedOomKills>;
  if (typeof bootId !== 'string' || !Number.isSafeInteger(sequence)) throw new Error('expected an object with bootId, a text, and sequence, a whole number');
  return { bootId, sequence: sequence as number };
}
