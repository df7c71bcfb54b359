// Workloads of the built-in controllers, driven with kubectl.
import type { Test } from 'tap';
import type { Json } from './admin-client.js';
import { type Flow, shell, template, waiting } from './flow.js';
import type { PeerStand } from './peer-stand.js';

const selector = (app: string): object => ({ matchLabels: { app } });

async function deployment(t: Test, stand: PeerStand): Promise<void> {
  const version = (text: string, ready: string) =>
    template('web', [shell(`echo ${text} > /tmp/version; ${waiting}`, { readinessProbe: { exec: { command: ['sh', '-c', ready] }, periodSeconds: 1, timeoutSeconds: 20 } })]);
  const object = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web' },
    spec: { replicas: 3, selector: selector('web'), template: version('one', 'test -f /tmp/version') },
  };
  await stand.create(object);
  await stand.ok(['rollout', 'status', 'deployment/web', '--timeout=240s']);
  const first = await stand.pods('app=web');
  t.equal(first.length, 3);
  await stand.ok(['patch', 'deployment', 'web', '--patch', JSON.stringify({ spec: { template: version('two', 'test -f /tmp/version') } })]);
  await stand.ok(['rollout', 'status', 'deployment/web', '--timeout=240s']);
  t.equal((await stand.ok(['exec', 'deployment/web', '--', 'cat', '/tmp/version'])).trim(), 'two');
  await stand.ok(['patch', 'deployment', 'web', '--patch', JSON.stringify({ spec: { template: version('three', 'false') } })]);
  await stand.until('a pod of the third version runs and is not ready', async () => {
    const pods = await stand.pods('app=web');
    return pods.some(
      (pod: Json) => pod.spec.containers[0].command[2].includes('three') && pod.status.containerStatuses?.[0]?.started === true && pod.status.containerStatuses[0].ready === false,
    );
  });
  t.match(await stand.kubectl(['rollout', 'status', 'deployment/web', '--timeout=3s']), { code: 1, err: /timed out waiting/ }, 'a version that is never ready does not roll out');
  await stand.ok(['rollout', 'undo', 'deployment/web']);
  await stand.ok(['rollout', 'status', 'deployment/web', '--timeout=240s']);
  await stand.until('the pods of the third version are gone', async () => (await stand.pods('app=web')).length === 3);
  t.equal((await stand.ok(['exec', 'deployment/web', '--', 'cat', '/tmp/version'])).trim(), 'two');
  await stand.ok(['scale', 'deployment/web', '--replicas=0']);
  await stand.until('scaled to nothing', async () => (await stand.pods('app=web')).length === 0);
}

async function statefulSet(t: Test, stand: PeerStand): Promise<void> {
  const set = { replicas: 3, serviceName: 'db', selector: selector('db'), template: template('db', [shell(`hostname > /tmp/name; ${waiting}`)], { subdomain: 'db' }) };
  await stand.create({ apiVersion: 'apps/v1', kind: 'StatefulSet', metadata: { name: 'db' }, spec: set });
  await stand.ok(['rollout', 'status', 'statefulset/db', '--timeout=240s']);
  const before = await stand.pods('app=db');
  const times = before.map((pod: Json) => [pod.metadata.name, pod.status.startTime] as const).sort();
  t.strictSame(
    times.map(([name]) => name),
    ['db-0', 'db-1', 'db-2'],
  );
  t.strictSame(
    times.map(([, start]) => start),
    times.map(([, start]) => start).sort(),
    'one after the other',
  );
  t.equal((await stand.ok(['exec', 'db-1', '--', 'cat', '/tmp/name'])).trim(), 'db-1');
  t.match(await stand.ok(['exec', 'db-1', '--', 'cat', '/etc/hosts']), /\tdb-1\.db\.default\.svc\.cluster\.local\tdb-1\n/);
  const uid = before.find((pod: Json) => pod.metadata.name === 'db-1').metadata.uid;
  await stand.ok(['delete', 'pod', 'db-1', '--wait=false']);
  await stand.untilPod('db-1', 'is another of that name', (pod) => pod.metadata.uid !== uid && pod.status.phase === 'Running');
  await stand.ok(['delete', 'pod', 'db-2', '--grace-period=0', '--force']);
  await stand.untilPod('db-2', 'runs again after a forced deletion', (pod) => pod.metadata.deletionTimestamp === undefined && pod.status.phase === 'Running');
  await stand.ok(['delete', 'statefulset', 'db']);
  await stand.until('its pods are gone', async () => (await stand.pods('app=db')).length === 0);
}

async function daemonSet(t: Test, stand: PeerStand): Promise<void> {
  const set = (version: string) => ({ selector: selector('agent'), template: template('agent', [shell(`echo ${version}; ${waiting}`)], { hostNetwork: true }) });
  await stand.create({ apiVersion: 'apps/v1', kind: 'DaemonSet', metadata: { name: 'agent' }, spec: set('one') });
  await stand.ok(['rollout', 'status', 'daemonset/agent', '--timeout=240s']);
  // Before the controller has counted the node the roll-out of nothing is complete.
  await stand.until('its pod has an address', async () => (await stand.pods('app=agent'))[0]?.status.podIP !== undefined);
  const [pod] = await stand.pods('app=agent');
  t.match(pod.status, { podIP: '10.90.0.1', hostIP: '10.90.0.1', podIPs: [{ ip: '10.90.0.1' }] });
  await stand.ok(['patch', 'daemonset', 'agent', '--patch', JSON.stringify({ spec: set('two') })]);
  await stand.ok(['rollout', 'status', 'daemonset/agent', '--timeout=240s']);
  t.equal(await stand.ok(['logs', 'daemonset/agent']), 'two\n');
  await stand.ok(['delete', 'daemonset', 'agent']);
  await stand.until('its pods are gone', async () => (await stand.pods('app=agent')).length === 0);
}

async function job(t: Test, stand: PeerStand): Promise<void> {
  const object = (name: string, script: string, spec: object) => ({
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name },
    spec: { template: template(name, [shell(script)], { restartPolicy: 'Never' }), ...spec },
  });
  await stand.create(
    object('sums', 'echo $JOB_COMPLETION_INDEX', { completions: 4, parallelism: 2, completionMode: 'Indexed' }),
    object('fails', 'exit 3', { backoffLimit: 1 }),
    object('ignored', 'exit 42', { backoffLimit: 4, podFailurePolicy: { rules: [{ action: 'FailJob', onExitCodes: { containerName: 'main', operator: 'In', values: [42] } }] } }),
    object('late', waiting, { activeDeadlineSeconds: 3 }),
  );
  await stand.ok(['wait', 'job/sums', '--for=condition=Complete', '--timeout=240s']);
  const indices = await Promise.all((await stand.pods('job-name=sums')).map((pod: Json) => stand.ok(['logs', pod.metadata.name])));
  t.strictSame(indices.map((text) => text.trim()).sort(), ['0', '1', '2', '3']);
  for (const [name, reason, pods] of [
    ['fails', 'BackoffLimitExceeded', 2],
    ['ignored', 'PodFailurePolicy', 1],
    ['late', 'DeadlineExceeded', 0],
  ] as const) {
    await stand.ok(['wait', `job/${name}`, '--for=condition=Failed', '--timeout=240s']);
    const failed = await stand.client.get(`/apis/batch/v1/namespaces/default/jobs/${name}`);
    t.match(
      failed.status.conditions.find((one: Json) => one.type === 'Failed'),
      { reason },
    );
    await stand.until(`${name} has its pods left`, async () => (await stand.pods(`job-name=${name}`)).length === pods);
  }
  await stand.ok(['delete', 'jobs', '--all']);
  await stand.until('no pod keeps its finalizer', async () => (await stand.pods('job-name')).length === 0);
}

async function cronJob(t: Test, stand: PeerStand): Promise<void> {
  const jobTemplate = { spec: { template: template('ticks', [shell('date')], { restartPolicy: 'OnFailure' }) } };
  await stand.create({ apiVersion: 'batch/v1', kind: 'CronJob', metadata: { name: 'ticks' }, spec: { schedule: '* * * * *', jobTemplate } });
  await stand.until('a pod of the cron job has succeeded', async () => (await stand.pods('app=ticks')).some((pod: Json) => pod.status.phase === 'Succeeded'));
  await stand.until('the cron job has seen it', async () => (await stand.client.get('/apis/batch/v1/namespaces/default/cronjobs/ticks')).status.lastSuccessfulTime !== undefined);
  await stand.ok(['delete', 'cronjob', 'ticks']);
  await stand.until('its pods are gone', async () => (await stand.pods('app=ticks')).length === 0);
  t.pass('it ran on time');
}

export const workloadFlows: readonly Flow[] = [
  { name: 'a deployment rolls out, does not roll out what is never ready, and is undone', run: deployment },
  { name: 'a stateful set begins its pods in order and replaces them by name', run: statefulSet },
  { name: 'a daemon set on the host network is updated', run: daemonSet },
  { name: 'jobs complete, fail by their limits and policies, and are deleted', run: job },
  { name: 'a cron job runs', run: cronJob },
];
