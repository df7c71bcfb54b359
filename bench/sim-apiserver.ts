// The simulated apiserver alone: requests a second with a thousand nodes watching, and what a change costs by how many watch something else.
import { type ApiUser, nodeUser, SimApiserver, wholeList } from '../src/sim/index.js';

const pods = { group: '', version: 'v1', plural: 'pods' };
const admin: ApiUser = { name: 'admin', groups: ['system:masters'] };
const requests = 3_000;

/** Microseconds for one call, the best of three rounds. */
function cost(count: number, call: (i: number) => void): number {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 3; round++) {
    const begin = performance.now();
    for (let i = 0; i < count; i++) call(round * count + i);
    best = Math.min(best, ((performance.now() - begin) * 1000) / count);
  }
  return best;
}

function world(nodes: number) {
  let now = 1_800_000_000_000_000;
  const server = new SimApiserver({ controllers: [] }, now);
  const target = { resource: pods, namespace: null, name: null, subresource: null };
  const watch = { labelSelector: null, resourceVersion: null, bookmarks: true, sendInitialEvents: false, timeoutSeconds: 600 };
  const open = (node: string) => server.watch(node, { user: nodeUser(node), target, fieldSelector: `spec.nodeName=${node}`, ...watch }, now);
  const watches = Array.from({ length: nodes }, (_, i) => open(`n${i}`));
  const ask = (request: Omit<Parameters<SimApiserver['handle']>[0], 'user' | 'namespace' | 'resource'>, user = admin) => {
    now += 100;
    const answer = server.handle({ user, resource: pods, namespace: 'default', ...request }, now);
    if (answer.code >= 400) throw new Error(String(answer.body.message));
  };
  const take = (i: number): void => {
    const opened = watches[i % nodes];
    if (opened !== undefined && 'watch' in opened) server.watches.take(opened.watch);
  };
  const spec = (node: string) => ({ nodeName: node, containers: [{ name: 'c', image: 'busybox:1', resources: { requests: { cpu: '100m' } } }] });
  return {
    create(i: number): void {
      ask({ verb: 'create', name: null, subresource: null, body: { metadata: { name: `p${i}` }, spec: spec(`n${i % nodes}`) } });
      take(i);
    },
    status(i: number): void {
      const conditions = [{ type: 'Ready', status: 'True', message: String(i) }];
      ask(
        { verb: 'patch', patch: 'strategic-merge-patch', name: `p${i % requests}`, subresource: 'status', body: { status: { phase: 'Running', conditions } } },
        nodeUser(`n${(i % requests) % nodes}`),
      );
      take(i);
    },
    list(i: number): void {
      ask({ verb: 'list', name: null, subresource: null, options: { ...wholeList, fieldSelector: `spec.nodeName=n${i % nodes}` } }, nodeUser(`n${i % nodes}`));
    },
  };
}

for (const nodes of [10, 1_000]) {
  const { create, status, list } = world(nodes);
  const figures = { create: cost(requests, create), statusPatch: cost(requests, status), listOfNode: cost(300, list) };
  for (const [name, micros] of Object.entries(figures)) {
    console.log(JSON.stringify({ bench: 'sim-apiserver', what: name, watchers: nodes, micros: Math.round(micros * 10) / 10, perSecond: Math.round(1e6 / micros) }));
  }
}
