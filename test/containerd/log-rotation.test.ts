// Rotation of a log that a real container writes through containerd: no line is lost, old files are compressed and limited in number.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import t from 'tap';
import { idOf, nodeName, scripted, statusOf } from './kubelet-process.js';
import { skipWithoutContainerd } from './private-containerd.js';
import { testNode } from './test-node.js';

t.setTimeout(240_000);

t.test('the log of a running container', { skip: skipWithoutContainerd() }, async (t) => {
  const { apply, containerd, kubelet } = await testNode(t, false);
  kubelet.configure({ containerLogMaxSize: '4Ki', containerLogMaxFiles: 5, containerLogMonitorInterval: '3s' });
  await kubelet.start();
  apply('talker', { containers: [scripted(containerd, 'main', 'i=0; while :; do i=$((i+1)); echo line $i; sleep 0.02; done')] });
  const pod = await kubelet.untilRunning('talker');
  const directory = join(kubelet.podLogs, `default_talker-${nodeName}_${pod.metadata.uid}`, 'main');
  const rotated = () => readdirSync(directory).filter((name) => name !== '0.log');
  await kubelet.until('it was rotated three times', () => rotated().length === 3 && rotated().filter((name) => name.endsWith('.gz')).length === 2);
  await kubelet.stop();
  const names = readdirSync(directory).sort();
  t.match(names, [/^0\.log$/, /^0\.log\.\d{8}-\d{6}\.gz$/, /^0\.log\.\d{8}-\d{6}\.gz$/, /^0\.log\.\d{8}-\d{6}$/]);
  // Oldest first, the log that is being written last.
  const texts = [...names.slice(1), '0.log'].map((name) => {
    const bytes = readFileSync(join(directory, name));
    return (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString();
  });
  const numbers = texts
    .join('')
    .split('\n')
    .slice(0, -1)
    .map((line) => Number(/ stdout F line (\d+)$/.exec(line)?.[1]));
  t.strictSame(
    numbers,
    numbers.map((_, i) => i + 1),
    `${numbers.length} lines, none lost and none twice`,
  );
  t.equal(statusOf(pod, 'main').restartCount, 0);
  t.ok(idOf(pod) !== '');
});
