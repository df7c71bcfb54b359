// Pull policies on a real containerd without a registry: a present image is used, an absent one is reported, with the Go kubelet's reasons and events.
import t from 'tap';
import { isRunning } from './kubelet-process.js';
import { skipWithoutContainerd } from './private-containerd.js';
import { testNode } from './test-node.js';

t.setTimeout(240_000);

t.test('pull policies', { skip: skipWithoutContainerd() }, async (t) => {
  const { apply, containerd, kubelet } = await testNode(t);
  const { pause } = containerd.images;
  const absent = 'registry.invalid/team/app:1';
  const put = (name: string, image: string, imagePullPolicy: string) => apply(name, { containers: [{ name: 'main', image, imagePullPolicy }] });
  put('never-absent', absent, 'Never');
  put('never-present', pause, 'Never');
  put('present', pause, 'IfNotPresent');
  put('always', absent, 'Always');
  put('bad-name', 'Registry/App:1', 'IfNotPresent');

  for (const name of ['never-present', 'present']) await kubelet.untilPod(name, isRunning, 'runs');
  const waits = (name: string, reason: string) => kubelet.untilPod(name, ({ status }) => status?.containerStatuses?.[0]?.state?.waiting?.reason === reason, `waits with ${reason}`);
  const messageOf = async (name: string, reason: string) => (await waits(name, reason)).status?.containerStatuses?.[0]?.state?.waiting?.message ?? '';
  t.equal(await messageOf('never-absent', 'ErrImageNeverPull'), `Container image "${absent}" is not present with pull policy of Never`);
  t.match(await messageOf('bad-name', 'InvalidImageName'), /^Failed to apply default image tag "Registry\/App:1": couldn't parse image name "Registry\/App:1": /);
  t.match(await messageOf('always', 'ImagePullBackOff'), new RegExp(`^Back-off pulling image "${absent}": ErrImagePull: .*registry\\.invalid`));

  const said = (name: string) => kubelet.events(name).map((line) => `${line.type} ${line.reason} ${line.message}`);
  const expected: readonly (readonly [string, readonly RegExp[]])[] = [
    ['never-absent', [/^Warning ErrImageNeverPull Container image ".*" is not present with pull policy of Never$/, /^Warning Failed Error: ErrImageNeverPull$/]],
    ['present', [/^Normal Pulled Container image ".*" already present on machine and can be accessed by the pod$/, /^Normal Started /]],
    [
      'always',
      [
        /^Normal Pulling Pulling image "registry\.invalid\/team\/app:1"$/,
        /^Warning Failed Failed to pull image "registry\.invalid\/team\/app:1": .*registry\.invalid/,
        /^Warning Failed Error: ErrImagePull$/,
        /^Normal BackOff Back-off pulling image "registry\.invalid\/team\/app:1"$/,
        /^Warning Failed Error: ImagePullBackOff$/,
      ],
    ],
    ['bad-name', [/^Warning InspectFailed Failed to apply default image tag /, /^Warning Failed Error: InvalidImageName$/]],
  ];
  for (const [name, events] of expected)
    for (const event of events)
      t.ok(
        said(name).some((text) => event.test(text)),
        `${name}: ${event} in ${said(name).join(' | ')}`,
      );
  t.notOk(
    said('never-absent').some((text) => text.includes('Pulling')),
    'nothing is pulled that must not be',
  );
});
