// `kubelet-ctl mock-csi`: the mock CSI driver as a program of its own.
import { join } from 'node:path';
import { MockCsiDriver, mockCsiDefaults } from '../../adapters/mock-plugins/index.js';
import { openNativeLinux, serviceEnvironmentOf } from '../../adapters/native-linux/index.js';
import type { ViewOutput } from '../dev/pod-view.js';

const usage = `usage: kubelet-ctl mock-csi --driver NAME --plugins DIR [--data DIR] [--node-id ID] [--no-stage] [--no-mounts]

A CSI driver of the node service: a volume is a directory of its own below --data, shown to pods by bind mounts; or the file system in the file
HANDLE.image there, which is grown with the volume (ext4, xfs). It registers with the kubelet that watches --plugins (ROOT/plugins_registry), and takes
its socket away when it ends; volumes stay as they are.

  --driver NAME     the driver's name, as persistent volumes have it
  --plugins DIR     where the kubelet looks for plugins
  --data DIR        where the files of volumes are (default DIR of --plugins, beside it: mock-csi-data)
  --node-id ID      what the driver calls this node (default mock-node)
  --no-stage        volumes are published only, without STAGE_UNSTAGE_VOLUME
  --no-mounts       without root: a volume is shown by a directory with a marker file in it, and holds no data
`;

export async function mockCsi(words: readonly string[], output: ViewOutput, error: ViewOutput): Promise<number> {
  if (words.includes('--help') || words.includes('-h')) {
    output.write(usage);
    return 0;
  }
  const given = parse(words);
  if (typeof given === 'string') {
    error.write(`kubelet-ctl mock-csi: ${given}\n\n${usage}`);
    return 2;
  }
  const ended = new Promise<void>((resolve) => {
    process.once('SIGINT', () => resolve());
    process.once('SIGTERM', () => resolve());
  });
  try {
    const native = given.mounts ? openNativeLinux({ kernelLogPath: '/dev/null', service: serviceEnvironmentOf({}) }, false) : null;
    const driver = new MockCsiDriver({
      ...mockCsiDefaults,
      driver: given.driver,
      pluginsDirectory: given.plugins,
      dataDirectory: given.data === '' ? join(given.plugins, '..', 'mock-csi-data') : given.data,
      nodeId: given.nodeId,
      capabilities: [...(given.stages ? ['STAGE_UNSTAGE_VOLUME'] : []), 'EXPAND_VOLUME', 'GET_VOLUME_STATS'],
      mounts: native?.mounts ?? null,
    });
    await driver.start();
    output.write(`listening on unix://${driver.socket}\n`);
    await ended;
    await driver.stop();
    return 0;
  } catch (failure) {
    error.write(`kubelet-ctl mock-csi: ${failure instanceof Error ? failure.message : String(failure)}\n`);
    return 1;
  }
}

interface Given {
  driver: string;
  plugins: string;
  data: string;
  nodeId: string;
  stages: boolean;
  mounts: boolean;
}

/** A text: the error. */
function parse(words: readonly string[]): Given | string {
  const given: Given = { driver: '', plugins: '', data: '', nodeId: mockCsiDefaults.nodeId, stages: true, mounts: true };
  const rest = words.flatMap((word) => (/^--[a-z-]+=/.test(word) ? [word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)] : [word])).reverse();
  for (let word = rest.pop(); word !== undefined; word = rest.pop()) {
    if (word === '--no-stage') given.stages = false;
    else if (word === '--no-mounts') given.mounts = false;
    else if (word === '--driver') given.driver = rest.pop() ?? '';
    else if (word === '--plugins') given.plugins = rest.pop() ?? '';
    else if (word === '--data') given.data = rest.pop() ?? '';
    else if (word === '--node-id') given.nodeId = rest.pop() ?? '';
    else return `unknown argument ${word}`;
  }
  if (!/^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$/.test(given.driver)) return '--driver needs a name of at most 63 characters, such as csi.example.com';
  return given.plugins === '' ? '--plugins is needed' : given;
}
