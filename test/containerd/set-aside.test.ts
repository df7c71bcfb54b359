// A pod whose input ends the agent, on a real runtime, with something that starts the agent again: the node and all other pods live.
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { setAsideAnnotation } from '../../src/domain/agent/set-aside/set-aside-state.js';
import type { Node } from '../../src/ports/model/node.js';
import type { Pod } from '../../src/ports/model/pod.js';
import { Program } from '../app/programs.js';
import { idOf, isRunning, type KubeletProcess, manifest, nodeName, pausing } from './kubelet-process.js';
import { skipWithoutContainerd } from './private-containerd.js';
import { clusterNode, type TestNode, testNode } from './test-node.js';

t.setTimeout(480_000);
const skip = skipWithoutContainerd();
const hook = new URL('./deadly-pod.js', import.meta.url).href;
const program = fileURLToPath(new URL('../../src/app/cli/kubelet-ts.js', import.meta.url));
/** As a service manager has it between an end and the next start. */
const restartMillis = 500;

/** Starts the agent again whenever it ends by itself. */
class Supervisor {
  ends = 0;
  private stopped = false;
  private readonly running: Promise<void>;

  constructor(private readonly kubelet: KubeletProcess) {
    this.running = this.run();
  }

  private async run(): Promise<void> {
    for (;;) {
      this.kubelet.spawn();
      await this.kubelet.ended();
      if (this.stopped) return;
      this.ends++;
      await delay(restartMillis);
    }
  }

  async stop(): Promise<void> {
    this.stopped = true;
    await this.kubelet.kill();
    await this.running;
  }
}

function plant(t: Test, { kubelet, containerd }: TestNode, operation: string, pod: string) {
  const armed = join(containerd.directory, 'deadly');
  kubelet.program = program;
  Object.assign(kubelet.environment, { NODE_OPTIONS: `--import ${hook}`, DEADLY_OPERATION: operation, DEADLY_POD: pod, DEADLY_ARMED: armed });
  const supervisor = new Supervisor(kubelet);
  t.teardown(() => supervisor.stop());
  return { supervisor, arm: () => writeFileSync(armed, ''), disarm: () => rmSync(armed) };
}

/** The directory of what ended it. */
const recordsOf = ({ root }: KubeletProcess): string => join(root, 'ended-steps');

function recordsIn(kubelet: KubeletProcess): string[] {
  try {
    return readdirSync(recordsOf(kubelet)).sort();
  } catch {
    return [];
  }
}

async function ps(kubelet: KubeletProcess): Promise<string> {
  const listed = new Program('kubelet-ctl', ['ps', '--agent', kubelet.url]);
  await listed.end();
  return listed.out;
}

const secret = 'hunter2-of-the-planted-pod';

t.test('pods of the API', { skip }, async (t) => {
  const node = await clusterNode(t);
  const { kubelet, admin, containerd, runtime } = node;
  const { supervisor, arm, disarm } = plant(t, node, 'apiWriter.patch', 'bad');
  const create = (name: string, more: object = {}) =>
    admin.create('pods', 'default', manifest(name, { nodeName, automountServiceAccountToken: false, containers: [{ ...pausing(containerd), ...more }] }) as never);
  const pod = async (name: string) => (await admin.get('pods', 'default', name)) as Pod | null;
  const untilRuns = (name: string) =>
    kubelet.until(`${name} runs`, async () => {
      const found = await pod(name);
      return found !== null && isRunning(found);
    });
  const isReady = async () => {
    const found = (await admin.get('nodes', null, nodeName)) as Node | null;
    return found?.status?.conditions?.find(({ type }) => type === 'Ready')?.status === 'True';
  };
  await kubelet.until('the node is ready', isReady);
  await create('bad', { env: [{ name: 'PASSWORD', value: secret }] });
  await create('good');
  await untilRuns('bad');
  await untilRuns('good');
  const ids = { bad: idOf((await pod('bad')) as Pod), good: idOf((await pod('good')) as Pod) };
  arm();
  await admin.patch('pods', 'default', 'bad', { metadata: { labels: { changed: 'once' } }, status: { conditions: [] } }, 'status');
  await admin.patch('pods', 'default', 'bad', { status: { phase: 'Pending' } }, 'status');
  await kubelet.until('the agent has ended twice', () => supervisor.ends >= 2);
  const begun = Date.now();
  await kubelet.until('the agent is well', async () => (await kubelet.health()) === 200);
  await kubelet.until('the node is ready', isReady);
  await create('later');
  await untilRuns('later');
  t.comment(`the node is ready and a new pod runs after ${Date.now() - begun} ms`);
  t.equal(idOf((await pod('good')) as Pod), ids.good, 'the other pod runs on');
  const running = (await runtime.runningContainers()).map(({ id }) => id);
  t.ok(running.includes(ids.bad), 'the containers of the pod run on');
  t.equal(supervisor.ends, 2, 'it does not end any more');
  const records = recordsIn(kubelet);
  t.equal(records.length, 2);
  const record = readFileSync(join(recordsOf(kubelet), records[1] as string), 'utf8');
  t.match(record, /reading 'length'/, 'the stack');
  t.match(JSON.parse(record), { pod: { name: 'bad', namespace: 'default' }, step: { type: String, machine: String } });
  t.notOk(record.includes(secret), 'no value of a variable');
  t.equal(statSync(join(recordsOf(kubelet), records[1] as string)).mode & 0o777, 0o600);
  t.ok(
    kubelet.logLines().some(({ msg, pod, file }) => msg === 'A pod is set aside' && pod === 'default/bad' && typeof file === 'string'),
    'said in the log',
  );
  const events = async () => (await admin.list('events', 'default')) as unknown as readonly { readonly reason: string; readonly involvedObject: { readonly kind: string } }[];
  await kubelet.until('events say so', async () => {
    const kinds = (await events()).filter(({ reason }) => reason === 'PodSetAside').map(({ involvedObject }) => involvedObject.kind);
    return kinds.includes('Pod') && kinds.includes('Node');
  });
  const shown = await ps(kubelet);
  t.match(shown, /bad .*set aside/);
  t.ok(shown.includes(join(recordsOf(kubelet), records[1] as string)), 'it names the file');
  t.match((await kubelet.pods()).find(({ metadata }) => metadata.name === 'bad')?.metadata.annotations, { [setAsideAnnotation]: String });
  disarm();
  await admin.patch('pods', 'default', 'bad', { metadata: { labels: { changed: 'twice' } } });
  await kubelet.until('its status is written again', async () => (await pod('bad'))?.status?.phase === 'Running');
  t.equal(idOf((await pod('bad')) as Pod), ids.bad, 'with the container that ran all the time');
});

t.test('static pods', { skip }, async (t) => {
  const node = await testNode(t, false);
  const { kubelet, containerd, runtime } = node;
  const { supervisor, arm, disarm } = plant(t, node, 'podCgroups.ensure', `bad-${nodeName}`);
  node.apply('bad', { containers: [pausing(containerd)] });
  node.apply('good', { containers: [pausing(containerd)] });
  const id = idOf(await kubelet.untilRunning('bad'));
  arm();
  // The next agent makes sure of its cgroup.
  await kubelet.kill();
  await kubelet.until('the agent has ended twice', () => supervisor.ends >= 3);
  node.apply('later', { containers: [pausing(containerd)] });
  await kubelet.untilRunning('later');
  await kubelet.untilRunning('good');
  t.ok(
    (await runtime.runningContainers()).some((container) => container.id === id),
    'the containers of the pod run on',
  );
  const { ends } = supervisor;
  t.match(await ps(kubelet), /bad-node-under-test .*set aside/);
  await kubelet.kill();
  await kubelet.until('the next agent is well', async () => supervisor.ends === ends + 1 && (await kubelet.health()) === 200);
  await kubelet.untilRunning('later');
  t.match(await ps(kubelet), /bad-node-under-test .*set aside/, 'a further start keeps it aside');
  disarm();
  kubelet.withdraw('bad.json');
  await kubelet.until('nothing of it runs', async () => !(await runtime.runningContainers()).some((container) => container.id === id));
});
