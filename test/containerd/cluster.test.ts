import t, { type Test } from 'tap';
import type { Pod } from '../../src/ports/model/pod.js';
import { kubectl, type Said, skipWithoutKubectl } from './kubectl.js';
import { manifest, nodeName, pausing, scripted } from './kubelet-process.js';
import { skipWithoutContainerd } from './private-containerd.js';
import { type ClusterNode, clusterNode } from './test-node.js';

t.setTimeout(300_000);
const skip = skipWithoutContainerd() || skipWithoutKubectl();

interface Cluster extends ClusterNode {
  /** Words are split at spaces. */
  run(words: string, input?: object): Promise<Said>;
  pod(name: string): Promise<Pod | null>;
}

async function testCluster(t: Test): Promise<Cluster> {
  const node = await clusterNode(t);
  const { kubelet, admin, kubeconfig } = node;
  kubelet.flags.push('--node-labels=team=a');
  await kubelet.start();
  return {
    ...node,
    run: (words, input) => kubectl(kubeconfig, words.split(' '), input === undefined ? '' : JSON.stringify(input)),
    pod: async (name) => (await admin.get('pods', 'default', name)) as Pod | null,
  };
}

function apiPod(name: string, spec: object): object {
  return manifest(name, { automountServiceAccountToken: false, ...spec });
}

async function node(t: Test, { run, kubelet }: Cluster): Promise<void> {
  t.match(await run(`wait node/${nodeName} --for=condition=Ready --timeout=60s`), { code: 0, text: /condition met/ });
  t.match(await run('get nodes'), { text: new RegExp(`${nodeName} +Ready +<none> +\\S+ +v1\\.36`) });
  const described = (await run(`describe node ${nodeName}`)).text;
  t.match(described, /team=a[\s\S]*Lease:\n +HolderIdentity: +node-under-test[\s\S]*Ready +True[\s\S]*KubeletReady[\s\S]*Container Runtime Version: +containerd:\/\//);
  await kubelet.until('its events are shown with it', async () => / NodeHasSufficientMemory /.test((await run(`describe node ${nodeName}`)).text));
}

async function life(t: Test, { run, admin, containerd, runtime, kubelet }: Cluster): Promise<void> {
  const seen = await admin.follow('pods', 'default');
  const containers = [scripted(containerd, 'main', 'trap "sleep 1; exit 0" TERM; while :; do sleep 0.1; done')];
  t.match(await run('apply -f -', apiPod('life', { terminationGracePeriodSeconds: 20, containers })), { text: /pod\/life created/ });
  t.match(await run('wait pod/life --for=condition=Ready --timeout=60s'), { code: 0 });
  t.match(await run('get pod life'), { text: /life +1\/1 +Running +0/ });
  const described = (await run('describe pod life')).text;
  t.match(described, /Scheduled[\s\S]*Created[\s\S]*Started/, 'its events');
  t.match(described, /Container ID: +containerd:\/\/[\s\S]*State: +Running/);
  const begun = Date.now();
  t.match(await run('delete pod life --timeout=60s'), { code: 0, text: /pod "life" deleted/ });
  t.ok(Date.now() - begun < 15_000, 'as soon as it has ended, not after its whole grace period');
  await kubelet.until('nothing of it runs', async () => !(await runtime.runningContainers()).some(({ labels }) => labels['io.kubernetes.pod.name'] === 'life'));
  const own = seen.filter(({ object }) => object.metadata.name === 'life');
  const rank = ({ type, object }: (typeof own)[number]): number =>
    type === 'DELETED' ? 3 : ['Pending', 'Running', 'Succeeded'].indexOf((object as Pod).status?.phase ?? 'Pending');
  const ranks = own.map(rank);
  t.same(
    ranks,
    ranks.toSorted((a, b) => a - b),
    'no step back',
  );
  t.ok(ranks.includes(0) && ranks.includes(1) && ranks.at(-1) === 3);
  const texts = own.map(({ object }) => JSON.stringify((object as Pod).status));
  t.ok(
    texts.every((text, i) => i === 0 || text !== texts[i - 1] || own[i]?.type === 'DELETED' || own[i]?.object.metadata.deletionTimestamp !== undefined),
    'no status is written twice',
  );
}

async function force(t: Test, { run, containerd, runtime, kubelet }: Cluster): Promise<void> {
  const containers = [scripted(containerd, 'main', 'trap "" TERM; while :; do sleep 0.1; done')];
  await run('apply -f -', apiPod('stubborn', { terminationGracePeriodSeconds: 3, containers }));
  t.match(await run('wait pod/stubborn --for=condition=Ready --timeout=60s'), { code: 0 });
  t.match(await run('delete pod stubborn --grace-period=0 --force'), { code: 0 });
  t.match(await run('get pod stubborn'), { text: /NotFound/ });
  await kubelet.until('nothing of it runs', async () => !(await runtime.runningContainers()).some(({ labels }) => labels['io.kubernetes.pod.name'] === 'stubborn'));
}

async function ends(t: Test, { run, containerd }: Cluster): Promise<void> {
  const containers = [scripted(containerd, 'main', 'echo because > /dev/termination-log; exit 3')];
  await run('apply -f -', apiPod('fails', { restartPolicy: 'Never', containers }));
  t.match(await run('wait pod/fails --for=jsonpath={.status.phase}=Failed --timeout=60s'), { code: 0 });
  t.match(await run('get pod fails -o jsonpath={.status.containerStatuses[0].state.terminated.exitCode}:{.status.containerStatuses[0].state.terminated.message}'), {
    text: /^3:because/,
  });
  t.match(await run('delete pod fails --timeout=60s'), { code: 0 });
}

async function mirror(t: Test, { run, apply, containerd, kubelet, pod }: Cluster): Promise<void> {
  apply('static', { containers: [pausing(containerd)] });
  const name = `static-${nodeName}`;
  await kubelet.until('its mirror runs', async () => (await pod(name))?.status?.phase === 'Running');
  const before = await kubelet.untilRunning('static');
  const uid = (await pod(name))?.metadata.uid;
  // kubectl would wait for an end that it missed when the next mirror is there before it looks.
  t.match(await run(`delete pod ${name} --wait=false`), { code: 0 });
  await kubelet.until('there is another mirror', async () => ![undefined, uid].includes((await pod(name))?.metadata.uid));
  const after = await kubelet.untilRunning('static');
  t.equal(after.status?.containerStatuses?.[0]?.containerID, before.status?.containerStatuses?.[0]?.containerID, 'nothing restarted');
  kubelet.withdraw('static.json');
  await kubelet.until('and none when the manifest goes', async () => (await pod(name)) === null);
}

async function restart(t: Test, { run, admin, containerd, kubelet, pod }: Cluster): Promise<void> {
  for (const name of ['stays', 'goes']) await run('apply -f -', apiPod(name, { containers: [pausing(containerd)] }));
  t.match(await run('wait pod/stays pod/goes --for=condition=Ready --timeout=60s'), { code: 0 });
  const before = (await pod('stays'))?.status?.containerStatuses?.[0];
  await kubelet.kill();
  await run('apply -f -', apiPod('comes', { containers: [pausing(containerd)] }));
  await run('delete pod goes --wait=false');
  const seen = await admin.follow('pods', 'default');
  await kubelet.start();
  t.match(await run('wait pod/comes --for=condition=Ready --timeout=60s'), { code: 0 });
  await kubelet.until('what was deleted meanwhile is gone', async () => (await pod('goes')) === null);
  t.match((await pod('stays'))?.status?.containerStatuses?.[0], { containerID: before?.containerID, restartCount: 0 });
  const statuses = seen.flatMap(({ object }) => (object.metadata.name === 'stays' ? [(object as Pod).status] : []));
  t.ok(
    statuses.every((status) => status?.phase === 'Running' && status.containerStatuses?.[0]?.ready === true),
    'no status steps back',
  );
}

async function objects(t: Test, { run, containerd, kubelet }: Cluster): Promise<void> {
  await run('apply -f -', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings' }, data: { colour: 'blue' } });
  await run('apply -f -', { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'hidden' }, stringData: { word: 'sesame-word' } });
  const env = [
    { name: 'COLOUR', valueFrom: { configMapKeyRef: { name: 'settings', key: 'colour' } } },
    { name: 'WORD', valueFrom: { secretKeyRef: { name: 'hidden', key: 'word' } } },
  ];
  const look = 'cat /settings/colour; echo " $COLOUR $WORD"; test -s /var/run/secrets/kubernetes.io/serviceaccount/token && echo token';
  const script = `(${look}) > /dev/termination-log; while [ "$(cat /settings/colour)" = blue ]; do sleep 0.2; done`;
  const container = { ...scripted(containerd, 'main', script), env, volumeMounts: [{ name: 'settings', mountPath: '/settings' }] };
  const volumes = [{ name: 'settings', configMap: { name: 'settings' } }];
  t.match(await run('apply -f -', manifest('reads', { restartPolicy: 'Never', containers: [container], volumes })), { code: 0 });
  t.match(await run('wait pod/reads --for=condition=Ready --timeout=60s'), { code: 0 });
  await run('patch configmap settings -p {"data":{"colour":"green"}}');
  t.match(await run('wait pod/reads --for=jsonpath={.status.phase}=Succeeded --timeout=150s'), { code: 0 }, 'the volume follows its config map');
  const said = (await run('get pod reads -o jsonpath={.status.containerStatuses[0].state.terminated.message}')).text;
  t.match(said, /^blue blue sesame-word\ntoken/);
  t.notMatch(kubelet.log, /sesame-word/, 'a secret is in no log');
}

t.test('a cluster of one node', { skip }, async (t) => {
  const cluster = await testCluster(t);
  await t.test('the node', (t) => node(t, cluster));
  await t.test('the life of a pod', (t) => life(t, cluster));
  await t.test('a pod that is forced out', (t) => force(t, cluster));
  await t.test('a pod that ends', (t) => ends(t, cluster));
  await t.test('what pods read of the API', (t) => objects(t, cluster));
  await t.test('a static pod and its mirror', (t) => mirror(t, cluster));
  await t.test('the agent is killed and comes back', (t) => restart(t, cluster));
});
