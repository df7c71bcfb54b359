// The SELinux label of directories for the sockets of containerized plugins, set at the start as by the Go kubelet: by chcon(1), with an
// argument list. A policy may already allow the access, so a failure is logged and the start continues.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Logger } from '../../ports/outbound/logger.js';
import type { LabelledDirectory } from '../storage/index.js';

const pluginsLabel = 'system_u:object_r:container_file_t:s0';
const programEnvironment = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' };
const timeoutMillis = 10_000;
const run = promisify(execFile);

/** @param selinuxEnabled whether the host has SELinux; without it nothing is done */
export async function labelPluginDirectories(directories: readonly LabelledDirectory[], selinuxEnabled: boolean, logger: Logger): Promise<void> {
  if (!selinuxEnabled) return;
  for (const { path, what } of directories) {
    try {
      await run('chcon', [pluginsLabel, path], { env: programEnvironment, timeout: timeoutMillis, killSignal: 'SIGKILL' });
    } catch (error) {
      const { message, stderr } = error as Error & { readonly stderr?: string };
      logger.log('info', `Unprivileged containerized plugins might not work, could not set selinux context on ${what}`, { path, err: stderr?.trim() || message });
    }
  }
}
