// The inputs of a daemon's start, besides the host.
import type { NativeLinux } from '../../adapters/native-linux/index.js';
import type { LoadedConfiguration } from '../../domain/configuration/load-configuration.js';
import type { Logger } from '../../ports/outbound/logger.js';
import type { Clock } from '../clock.js';
import type { DaemonProfile } from './daemon-profile.js';

export interface DaemonContext {
  readonly loaded: LoadedConfiguration;
  readonly profile: DaemonProfile;
  readonly logger: Logger;
  /** How much is logged from now on. */
  readonly setVerbosity: (level: number) => void;
  /** Why the last line of the log could not be written; null: it was. */
  readonly logFailure: () => string | null;
  readonly clock: Clock;
  readonly native: NativeLinux;
  readonly environment: Readonly<Record<string, string | undefined>>;
}
