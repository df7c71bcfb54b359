// The daemon from its command line to its exit code.
//
// | ends by                                            | exit code |
// |----------------------------------------------------|-----------|
// | the first SIGTERM or SIGINT; containers keep running | 0       |
// | a second signal during the stop                    | 1         |
// | another process wants the lock file                | 0         |
// | a refusal, a failed assertion, any uncaught error  | 1         |

import { FileConfigurationSource } from '../../adapters/config-files/index.js';
import { readHost } from '../../adapters/linux/index.js';
import { PinoLogger, RepeatLimitingLogger, standardDestinations, standardErrorDestination } from '../../adapters/logging/index.js';
import { type NativeLinux, openNativeLinux, serviceEnvironmentOf } from '../../adapters/native-linux/index.js';
import { WallAnchoredClock } from '../../adapters/time/index.js';
import { type LoadedConfiguration, loadConfiguration } from '../../domain/configuration/load-configuration.js';
import { exitCodes } from '../../domain/configuration/startup-refusals.js';
import { nanosPerMillisecond } from '../../domain/values/go-duration.js';
import { epochMicros } from '../../domain/values/instant.js';
import { mustParseQuantity, quantityValue } from '../../domain/values/quantity.js';
import { microsPerSecond } from '../../domain/values/time.js';
import type { Logger } from '../../ports/outbound/logger.js';
import { StartRefusal } from '../../ports/start-refusal.js';
import { kubeletProfile } from '../daemon/daemon-profile.js';
import { readOwnSettings } from '../daemon/own-settings.js';
import { type Daemon, startDaemon } from '../daemon/start-daemon.js';
import { helpText } from './help-text.js';
import { logProcessWarnings } from './process-warnings.js';
import { reportedVersion, versionText } from './version.js';

const kernelLogPath = '/dev/kmsg';
/** After this time the process ends even if something still hangs. */
const stopMillis = 2_800;
/** The limit of messages queued for standard output, independent of the configuration. */
const bufferBytesMax = 64 * 1024 * 1024;
const timerMillisMax = 2 ** 31 - 1;

/** Resolves to the exit code when the daemon has ended. */
export async function runKubelet(words: readonly string[]): Promise<number> {
  let logger: Logger | null = null;
  const clock = new WallAnchoredClock(({ direction, by }) => logger?.log('warn', 'The wall clock was set', { direction, seconds: by / microsPerSecond }));
  const early = stderrLogger(clock, 'text', 0);
  logProcessWarnings(() => logger ?? early);
  const loaded = loadConfiguration(words, new FileConfigurationSource(), { cgroupVersion: readHost().cgroupVersion });
  switch (loaded.kind) {
    case 'help':
      process.stdout.write(helpText('kubelet-ts'));
      return 0;
    case 'version':
      process.stdout.write(versionText(loaded.format));
      return 0;
    case 'refused':
      return refused(early, loaded.error);
    case 'loaded':
      break;
  }
  for (const line of loaded.deprecations) process.stderr.write(`${line}\n`);
  const running = configuredLogger(clock, loaded.configuration.logging);
  logger = running;
  return run(loaded, running, clock);
}

async function run(loaded: LoadedConfiguration, logger: PinoLogger, clock: WallAnchoredClock): Promise<number> {
  const signals = listenForSignals();
  process.on('uncaughtException', (error) => failed(logger, error));
  process.on('unhandledRejection', (error) => failed(logger, error));
  try {
    const daemon = await started(loaded, logger, clock, signals.first);
    return daemon === null ? exitCodes.stopped : await supervised(daemon, logger, signals.first);
  } catch (error) {
    if (error instanceof StartRefusal) return refused(logger, error.message);
    throw error;
  }
}

/** null: a signal came before it was up. */
async function started(loaded: LoadedConfiguration, logger: PinoLogger, clock: WallAnchoredClock, signalled: Promise<void>): Promise<Daemon | null> {
  const own = readOwnSettings(process.env.KUBELET_TS_CONFIG);
  logger.log('info', 'Kubelet version', { kubeletVersion: reportedVersion(), node: process.version });
  const { rootDir, kubeconfig, bootstrapKubeconfig } = loaded.options;
  const native = openNative(own.nativeAddonRequired);
  const profile = kubeletProfile({ rootDirectory: rootDir, joinsCluster: kubeconfig !== '' || bootstrapKubeconfig !== '' }, own);
  const setVerbosity = (level: number): void => logger.setVerbosity(level);
  const logFailure = (): string | null => logger.failure;
  const limited = RepeatLimitingLogger.around(logger, () => clock.now());
  const starting = startDaemon({ loaded, profile, logger: limited, setVerbosity, logFailure, clock, native, environment: process.env });
  const outcome = await Promise.race([starting, signalled.then(() => null)]);
  if (outcome === null) starting.then((daemon) => daemon.stop()).catch(() => {});
  return outcome;
}

function openNative(isRequired: boolean): NativeLinux {
  try {
    return openNativeLinux({ kernelLogPath, service: serviceEnvironmentOf(process.env) }, isRequired);
  } catch (error) {
    throw new StartRefusal(`failed to run Kubelet: ${error instanceof Error ? error.message : String(error)}`);
  }
}

async function supervised(daemon: Daemon, logger: Logger, signalled: Promise<void>): Promise<number> {
  const end = await Promise.race([daemon.ended, signalled.then(() => ({ kind: 'signalled' }) as const)]);
  if (end.kind === 'failed') return exitCodes.failed;
  logger.log('info', end.kind === 'contended' ? 'Another process wants the lock file, stopping' : 'Stopping, containers keep running');
  setTimeout(() => process.exit(exitCodes.stopped), stopMillis).unref();
  await daemon.stop();
  return end.kind === 'contended' ? exitCodes.lockContention : exitCodes.stopped;
}

function listenForSignals(): { readonly first: Promise<void> } {
  let came = false;
  const first = new Promise<void>((resolve) => {
    const signal = (): void => {
      if (came) process.exit(exitCodes.secondSignal);
      came = true;
      resolve();
    };
    process.on('SIGTERM', signal);
    process.on('SIGINT', signal);
  });
  return { first };
}

function failed(logger: Logger, error: unknown): void {
  logger.log('error', 'Uncaught error, the daemon ends', { err: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  process.exit(exitCodes.failed);
}

function refused(logger: Logger, error: string): number {
  logger.log('error', 'command failed', { err: error });
  return exitCodes.failed;
}

function configuredLogger(clock: WallAnchoredClock, { format, verbosity, vmodule, flushFrequency, options }: LoadedConfiguration['configuration']['logging']): PinoLogger {
  const own = format === 'json' ? 'json' : 'text';
  const { splitStream, infoBufferSize } = options[own];
  const flushMillis = Math.max(1, Math.min(flushFrequency.nanos / nanosPerMillisecond, timerMillisMax));
  const split = splitStream ? { bufferBytes: Math.min(Number(quantityValue(mustParseQuantity(infoBufferSize))), bufferBytesMax), flushMillis } : null;
  const { errors, others } = standardDestinations(split, () => {});
  return PinoLogger.create({ format: own, verbosity, vmodule, now: () => epochMicros(clock.wall()), pid: process.pid, destination: errors, othersTo: others }, 'kubelet-ts');
}

function stderrLogger(clock: WallAnchoredClock, format: 'text' | 'json', verbosity: number): PinoLogger {
  const ignored = (): void => {};
  return PinoLogger.create({ format, verbosity, now: () => epochMicros(clock.wall()), pid: process.pid, destination: standardErrorDestination(ignored) }, 'kubelet-ts');
}
