// Values that a pod takes from its Node, while no Node is known: a static pod that starts before the apiserver answers has those that the Node will have.
import t from 'tap';
import type { EnvVar } from '../../src/ports/model/container.js';
import type { Node } from '../../src/ports/model/node.js';
import { type FaultRule, SimCluster } from '../../src/sim/index.js';
import { minute, podOf, second } from './sim-pods.js';

const resources = ['limits.cpu', 'limits.memory', 'limits.ephemeral-storage'];
const addresses = ['status.hostIP', 'status.hostIPs', 'status.podIP', 'status.podIPs'];
const env: EnvVar[] = [
  ...resources.map((resource) => ({ name: resource, valueFrom: { resourceFieldRef: { resource } } })),
  ...addresses.map((fieldPath) => ({ name: fieldPath, valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath } } })),
];
const items = resources.map((resource) => ({ path: resource, resourceFieldRef: { containerName: 'c', resource } }));

for (const hostNetwork of [false, true]) {
  t.test(`a static pod ${hostNetwork ? 'on the network of the host' : 'with a network of its own'}`, async (t) => {
    const cluster = new SimCluster({ seed: 3, apiserver: {}, node: {} });
    const node = cluster.node();
    const away = (operation: string): FaultRule => ({ operation, trigger: {}, action: { kind: 'error', moment: 'before', error: 'unavailable', message: 'connection refused' } });
    node.setFaults([away('apiReader.*'), away('apiWriter.*')]);
    const spec = { hostNetwork, containers: [{ name: 'c', image: 'i', env, volumeMounts: [{ name: 'd', mountPath: '/d' }] }], volumes: [{ name: 'd', downwardAPI: { items } }] };
    node.put('a.yaml', podOf('a', { uid: 'a', spec }));
    t.ok(
      cluster.runUntil(() => node.containers('a').some(({ state }) => state === 'running'), minute),
      'it starts',
    );
    const seen = (): Record<string, string> => Object.fromEntries((node.containers('a').at(-1)?.config.envs ?? []).map(({ key, value }) => [key, String(value)]));
    const registered = (): Node | undefined => [...(cluster.apiserver?.store.all('nodes') ?? [])][0] as unknown as Node | undefined;
    const first = seen();
    t.equal(registered(), undefined, 'no Node is there');
    const files = () => node.host.state.podDirectories.get('a')?.volumes.get('kubernetes.io~downward-api/d')?.nodes;
    const textOf = (name: string): string => {
      for (const [path, file] of files() ?? []) if (path.endsWith(`/${name}`) && file.kind === 'file') return new TextDecoder().decode(file.bytes);
      return '';
    };
    const written = resources.map(textOf);

    node.setFaults([]);
    t.ok(
      cluster.runUntil(() => registered() !== undefined, 2 * minute),
      'the node is registered',
    );
    cluster.run(30 * second);
    const { status } = registered() ?? {};
    node.runtime.killContainer(node.containers('a').at(-1)?.id ?? '', cluster.now);
    cluster.world.refresh(node.name);
    t.ok(
      cluster.runUntil(() => node.containers('a').at(-1)?.state === 'running' && node.containers('a').at(-1)?.config.metadata.attempt === 1, minute),
      'it is started again',
    );
    t.strictSame(first, seen(), 'the variables are those of the Node');
    const ip = status?.addresses?.find(({ type }) => type === 'InternalIP')?.address;
    t.equal(first['status.hostIP'], ip);
    t.ok(Number(first['limits.memory']) > 0 && Number(first['limits.cpu']) > 0 && Number(first['limits.ephemeral-storage']) > 0, JSON.stringify(first));
    t.ok((first['status.podIP'] ?? '') !== '');
    if (hostNetwork) t.equal(first['status.podIP'], ip);
    t.strictSame(
      written,
      resources.map((name) => first[name] ?? ''),
      'and so are the files of the volume',
    );
  });
}
