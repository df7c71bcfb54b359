// The agent's clock and the apiserver's say different times: the node is alive all the same, tokens are good by the server's clock, grace
// periods are as long as they were asked for.

import t from 'tap';
import { epochMicros, instantOf } from '../../src/domain/values/instant.js';
import { parseRfc3339 } from '../../src/domain/values/time.js';
import { utf8Decode } from '../../src/domain/values/utf8.js';
import type { Lease } from '../../src/ports/model/lease.js';
import type { Node } from '../../src/ports/model/node.js';
import { scene } from './api-scene.js';
import type { ApiWorld } from './api-world.js';
import { minute, podOf, second } from './sim-pods.js';

t.setTimeout(600_000);

const leases = { group: 'coordination.k8s.io', version: 'v1', plural: 'leases' };
const nodes = { group: '', version: 'v1', plural: 'nodes' };

const rows: readonly (readonly [sentence: string, serverAhead: number])[] = [
  ['the agent is two days behind', 2 * 24 * 60 * minute],
  ['the agent is an hour behind', 60 * minute],
  ['the agent is five seconds behind', 5 * second],
  ['the agent is five seconds ahead', -5 * second],
  ['the agent is an hour ahead', -60 * minute],
  ['the agent is two days ahead', -2 * 24 * 60 * minute],
];

function leaseOf(world: ApiWorld): Lease {
  return world.cluster.apiserver.object(leases, 'kube-node-lease', world.node.name) as unknown as Lease;
}

function readyOf(world: ApiWorld) {
  const node = world.cluster.apiserver.object(nodes, null, world.node.name) as unknown as Node;
  return node.status?.conditions?.find(({ type }) => type === 'Ready');
}

/** What the pod reads; null: nothing yet. */
function tokenOf(world: ApiWorld, uid: string): string | null {
  const files = world.node.host.state.podDirectories.get(uid)?.volumes.get('kubernetes.io~projected/v')?.nodes;
  const data = files?.get('..data');
  const file = data?.kind === 'symlink' ? files?.get(`${data.target}/token`) : undefined;
  return file?.kind === 'file' ? utf8Decode(file.bytes) : null;
}

function tokenRequests(world: ApiWorld): number {
  return world.cluster.apiserver.audit.entries.filter(({ resource, verb }) => verb === 'create' && resource.startsWith('serviceaccounts')).length;
}

for (const [sentence, clockOffsetMicros] of rows) {
  scene(
    sentence,
    (world, t) => {
      const pod = podOf('a', { grace: 20, containers: { c: 'ignore-term' } });
      const volumes = [{ name: 'v', projected: { sources: [{ serviceAccountToken: { path: 'token', expirationSeconds: 600 } }] } }];
      const containers = pod.spec.containers.map((container) => ({ ...container, volumeMounts: [{ name: 'v', mountPath: '/v' }] }));
      world.createPod({ ...pod, spec: { ...pod.spec, containers, volumes } }, world.node.name);
      world.untilReady('a');
      const uid = world.get('a')?.metadata.uid ?? '';
      const heartbeats = new Set<string | null | undefined>();
      let renewals = 0;
      let last = '';
      for (let i = 0; i < 40 * 60; i += 5) {
        world.run(5 * second);
        const renewed = leaseOf(world).spec.renewTime ?? '';
        if (renewed !== last) renewals++;
        last = renewed;
        const ready = readyOf(world);
        if (ready?.status !== 'True') t.fail(`the node is ${ready?.status} after ${i} s`);
        heartbeats.add(ready?.lastHeartbeatTime);
        const token = tokenOf(world, uid);
        const verified = token === null ? 'no token' : world.cluster.apiserver.authenticate(token);
        if (typeof verified === 'string') t.fail(`the pod's token after ${i} s: ${verified}`);
      }
      t.ok(renewals >= 228 && renewals <= 241, `the lease each ten seconds: ${renewals} in 40 minutes`);
      t.ok(heartbeats.size >= 7 && heartbeats.size <= 10, `the status each five minutes: ${heartbeats.size}`);
      const asked = tokenRequests(world);
      t.ok(asked >= 5 && asked <= 8, `a token each eight minutes: ${asked} in 40 minutes`);
      const renewed = parseRfc3339(leaseOf(world).spec.renewTime ?? '') ?? instantOf(0);
      t.ok(Math.abs(epochMicros(renewed) - world.cluster.now) < 11 * second, 'what the agent writes is by its own clock');
      world.remove('a');
      world.run(18 * second);
      t.equal(world.running(uid), 1, 'its grace is not over');
      world.untilGone('a', 20 * second);
    },
    { apiserver: { clockOffsetMicros, auditLimit: 100_000 } },
  );
}
