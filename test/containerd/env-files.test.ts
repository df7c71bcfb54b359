// A variable from a file that an init container wrote into an emptyDir, seen from within the container; and a link that leads out of it.
import { readFileSync } from 'node:fs';
import t from 'tap';
import { idOf, scripted } from './kubelet-process.js';
import { skipWithoutContainerd } from './private-containerd.js';
import { testNode } from './test-node.js';

t.setTimeout(240_000);

t.test('env files', { skip: skipWithoutContainerd() }, async (t) => {
  const { apply, containerd, kubelet, runtime } = await testNode(t);
  const volumes = [{ name: 'shared', emptyDir: {} }];
  const volumeMounts = [{ name: 'shared', mountPath: '/shared' }];
  const env = [{ name: 'COLOUR', valueFrom: { fileKeyRef: { volumeName: 'shared', path: 'app.env', key: 'COLOUR' } } }];
  const pod = (write: string) => ({
    volumes,
    initContainers: [scripted(containerd, 'write', write, { volumeMounts })],
    containers: [scripted(containerd, 'main', 'exec sleep 1000', { volumeMounts, env })],
  });
  apply('fine', pod(`echo "COLOUR='deep blue'" > /shared/real; ln -s real /shared/app.env`));
  apply('leading-out', pod(`ln -s /etc/passwd /shared/app.env`));
  const fine = await kubelet.untilRunning('fine');
  const pid = runtime.processes().get(idOf(fine));
  t.ok(readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes('COLOUR=deep blue'), 'its first process has it');
  const refused = await kubelet.untilPod('leading-out', ({ status }) => status?.containerStatuses?.[0]?.state?.waiting?.reason === 'CreateContainerConfigError', 'is refused');
  t.match(refused.status?.containerStatuses?.[0]?.state?.waiting?.message, "couldn't parse env file");
});
