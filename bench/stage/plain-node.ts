// The baseline of benchmarks of a node in a cluster: a program of node:https and @grpc/grpc-js with the minimal work of any node
// agent. It lists and watches the pods of its node and keeps them, renews a lease every 10 s, and lists the runtime's
// sandboxes and containers every second. It decides nothing, starts nothing and ignores errors: less than an agent may cost.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:https';
import { fileURLToPath } from 'node:url';
import { Client, credentials, Metadata } from '@grpc/grpc-js';
import { criProtocol } from '../../src/adapters/cri/index.js';
import { measurable } from './loop-delay.js';

const leaseMs = 10_000;
const relistMs = 1_000;

interface Wanted {
  readonly kubeconfig: string;
  readonly nodeName: string;
  readonly runtime: string;
}

interface Listed {
  readonly metadata: { readonly uid?: string; readonly resourceVersion?: string };
}

/** Starts it, and waits until it has seen its pods. */
export async function startPlainNode(wanted: Wanted, loopDelayFile: string): Promise<ChildProcess> {
  const child = fork(fileURLToPath(import.meta.url), [], { env: { ...process.env, ...measurable(loopDelayFile), PLAIN_NODE: JSON.stringify(wanted) }, execArgv: [] });
  await once(child, 'message');
  return child;
}

async function run({ kubeconfig, nodeName, runtime }: Wanted): Promise<void> {
  const config = JSON.parse(kubeconfig) as { clusters: [{ cluster: Record<string, string> }]; users: [{ user: Record<string, string> }] };
  const { cluster } = config.clusters[0];
  const { user } = config.users[0];
  const text = (value: string | undefined): string => Buffer.from(value ?? '', 'base64').toString('utf8');
  const agent = new Agent({
    keepAlive: true,
    cert: text(user['client-certificate-data']),
    key: text(user['client-key-data']),
    ca: text(cluster['certificate-authority-data']),
  });
  const ask = (method: string, path: string, body: string | null, onData: (text: string) => void): Promise<void> =>
    new Promise((resolve, reject) => {
      const headers = body === null ? {} : { 'Content-Type': 'application/merge-patch+json', 'Content-Length': Buffer.byteLength(body) };
      const sent = request(`${cluster.server}${path}`, { method, agent, headers }, (response) => {
        response.setEncoding('utf8');
        response.on('data', onData);
        response.on('end', resolve);
      });
      sent.on('error', reject);
      sent.end(body ?? undefined);
    });
  const pods = new Map<string, Listed>();
  const path = `/api/v1/pods?fieldSelector=spec.nodeName%3D${nodeName}`;
  let listed = '';
  await ask('GET', path, null, (part) => (listed += part));
  const list = JSON.parse(listed) as { readonly metadata: { readonly resourceVersion: string }; readonly items: readonly Listed[] };
  for (const pod of list.items) pods.set(pod.metadata.uid ?? '', pod);
  listed = '';
  let rest = '';
  const seen = (part: string): void => {
    const lines = (rest + part).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const { object } = JSON.parse(line) as { readonly object: Listed };
      pods.set(object.metadata.uid ?? '', object);
    }
  };
  void ask('GET', `${path}&watch=true&resourceVersion=${list.metadata.resourceVersion}`, null, seen).catch(() => {});
  const lease = `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${nodeName}`;
  const renew = (): void => void ask('PATCH', lease, JSON.stringify({ spec: { renewTime: `${new Date().toISOString().slice(0, -1)}000Z` } }), () => {}).catch(() => {});
  setInterval(renew, leaseMs);
  relistEvery(runtime);
  process.once('disconnect', () => process.exit(0));
  process.send?.({ pods: pods.size });
}

function relistEvery(runtime: string): void {
  const client = new Client(runtime, credentials.createInsecure(), { 'grpc.enable_channelz': 0 });
  const { listPodSandbox, listContainers } = criProtocol.RuntimeServiceService;
  setInterval(() => {
    const nothing = new Metadata();
    client.makeUnaryRequest(listPodSandbox.path, listPodSandbox.requestSerialize, listPodSandbox.responseDeserialize, { filter: undefined }, nothing, () => {});
    client.makeUnaryRequest(listContainers.path, listContainers.requestSerialize, listContainers.responseDeserialize, { filter: undefined }, nothing, () => {});
  }, relistMs);
}

const wanted = process.env.PLAIN_NODE;
if (wanted !== undefined && process.send !== undefined) await run(JSON.parse(wanted) as Wanted);
