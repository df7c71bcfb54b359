// Every port of the native adapter, on the addon and on the fallback.
import t, { type Test } from 'tap';
import { fallbackNativeLinux } from '../../src/adapters/native-linux/fallback.js';
import { addonNativeLinux, type NativeLinux, type NativeLinuxOptions, serviceEnvironmentOf } from '../../src/adapters/native-linux/index.js';
import { loadBinding } from '../../src/adapters/native-linux/loader.js';
import { fileBatchReaderContract } from '../ports/file-batch-reader.contract.js';
import { fileStepsContract } from '../ports/file-steps.contract.js';
import { fileWatchContract } from '../ports/file-watch.contract.js';
import { kernelLogContract } from '../ports/kernel-log.contract.js';
import { mountsContract } from '../ports/mounts.contract.js';
import { openBeneathContract } from '../ports/open-beneath.contract.js';
import { fileLockContract, resourceLimitsContract } from '../ports/process-controls.contract.js';

// Mounting is seen by the whole machine: only root may, and only below the test's directory.
const canMount = process.getuid?.() === 0;

const options = (kernelLogPath: string): NativeLinuxOptions => ({ kernelLogPath, service: serviceEnvironmentOf({}) });

async function allContracts(t: Test, open: (options: NativeLinuxOptions) => NativeLinux, burstEntries: number): Promise<void> {
  const native = open(options('/dev/kmsg'));
  await t.test('FileWatch', (t) => fileWatchContract(t, native.openFileWatch, burstEntries));
  await t.test('KernelLog', (t) => kernelLogContract(t, (path) => open(options(path)).openKernelLog()));
  await t.test('FileBatchReader', (t) => fileBatchReaderContract(t, native.openFileBatch));
  await t.test('FileSteps', (t) => fileStepsContract(t, native.fileSteps, canMount));
  await t.test('Mounts and the use of file systems', { skip: canMount ? false : 'needs root' }, (t) => mountsContract(t, native.mounts, native.filesystemUsage));
  await t.test('FileLock', (t) => fileLockContract(t, native.fileLock));
  await t.test('ResourceLimits', (t) => resourceLimitsContract(t, native.resourceLimits));
  await t.test('OpenBeneath', (t) => openBeneathContract(t, native.openBeneath));
}

// The whole file's bound, in place of tap's 30 s: floods and workers take longer on a busy machine.
t.setTimeout(540_000);

const loaded = loadBinding(false);

await t.test('addon', { skip: loaded.kind === 'addon' ? false : `SKIPPED, the addon is not built: ${loaded.reason}`, timeout: 600_000 }, async (t) => {
  if (loaded.kind === 'addon') await allContracts(t, (options) => addonNativeLinux(loaded.binding, options), 100_000);
});

await t.test('fallback', { timeout: 600_000 }, async (t) => {
  t.ok(fallbackNativeLinux(options('/dev/kmsg'), 'wanted by the test').degradations.length > 0, 'it says what is degraded');
  await allContracts(t, (options) => fallbackNativeLinux(options, 'wanted by the test'), 10_000);
});
