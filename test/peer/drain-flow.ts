// kubectl drain: evictions, a budget that holds them up, what belongs to the node and stays.
import type { Test } from 'tap';
import type { Json } from './admin-client.js';
import { type Flow, flowPod, shell, template, waiting } from './flow.js';
import type { PeerStand } from './peer-stand.js';

async function drain(t: Test, stand: PeerStand): Promise<void> {
  await stand.create(
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'moves' },
      spec: { replicas: 2, selector: { matchLabels: { app: 'moves' } }, template: template('moves', [shell(waiting)]) },
    },
    { apiVersion: 'apps/v1', kind: 'DaemonSet', metadata: { name: 'keeps' }, spec: { selector: { matchLabels: { app: 'keeps' } }, template: template('keeps', [shell(waiting)]) } },
    { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata: { name: 'guarded' }, spec: { minAvailable: 1, selector: { matchLabels: { app: 'guarded' } } } },
    flowPod('guarded', [shell(waiting)], {}, { labels: { app: 'guarded' } }),
    flowPod('hooked', [shell(waiting, { lifecycle: { preStop: { exec: { command: ['sleep', '3'] } } } })], {
      terminationGracePeriodSeconds: 20,
      volumes: [{ name: 'v', emptyDir: {} }],
    }),
  );
  await stand.ok(['rollout', 'status', 'deployment/moves', '--timeout=240s']);
  await stand.ok(['rollout', 'status', 'daemonset/keeps', '--timeout=240s']);
  await stand.ok(['wait', 'pod', 'guarded', 'hooked', '--for=condition=Ready', '--timeout=240s']);
  await stand.until(
    'the budget has seen its pod',
    async () => (await stand.client.get('/apis/policy/v1/namespaces/default/poddisruptionbudgets/guarded')).status.currentHealthy === 1,
  );
  const words = ['drain', 'lab-node', '--ignore-daemonsets', '--delete-emptydir-data', '--force'];
  t.match(await stand.kubectl([...words, '--timeout=8s']), { code: 1, err: /Cannot evict pod as it would violate the pod's disruption budget/ });
  await stand.ok(['delete', 'pdb', 'guarded']);
  await stand.ok([...words, '--timeout=240s']);
  const isLeft = ({ spec, metadata }: Json): boolean => spec.nodeName !== undefined && metadata.annotations?.['kubernetes.io/config.mirror'] === undefined;
  const left = (await stand.pods('')).filter(isLeft).map((one: Json) => one.metadata.labels?.app);
  t.strictSame(left, ['keeps'], 'only what belongs to the node is left');
  await stand.ok(['uncordon', 'lab-node']);
  await stand.ok(['rollout', 'status', 'deployment/moves', '--timeout=240s']);
  await stand.ok(['delete', 'deployment/moves', 'daemonset/keeps']);
}

export const drainFlow: Flow = { name: 'a drain, held up by a budget', run: drain };
