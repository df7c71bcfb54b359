// A process that assigns and clears projects until it is killed, or has done it so many times; a line on its standard output for each.
import { openNativeLinux, serviceEnvironmentOf } from '../../src/adapters/native-linux/index.js';
import { FileProjectQuotas } from '../../src/adapters/storage/index.js';
import { quietCall } from '../ports/pod-volumes.contract.js';
import { quotaPlace } from '../ports/project-quotas.contract.js';
import { FakeProjects } from './fake-projects.js';

const [, , rootDirectory = '', filesDirectory = '', uid = '', volumes = '0', times = '0'] = process.argv;
const native = openNativeLinux({ kernelLogPath: '/dev/null', service: serviceEnvironmentOf({}) }, false);
const quotas = new FileProjectQuotas({ rootDirectory, filesDirectory, lockPatienceMillis: 60_000 }, new FakeProjects(), native.fileLock);
const places = Array.from({ length: Number(volumes) }, (_, i) => quotaPlace(uid, `v${i}`));

for (let time = 0; time < Number(times); time++) {
  const half = places.filter((_, i) => (i + time) % 2 === 0);
  await Promise.all(half.map((place) => quotas.assign(place, quietCall)));
  process.stdout.write(`assigned ${time}\n`);
  await Promise.all(half.map((place) => quotas.clear(place, quietCall)));
  process.stdout.write(`cleared ${time}\n`);
}
