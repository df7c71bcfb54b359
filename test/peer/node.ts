// The suite of what happens to a node, in namespaces of its own: see node.alone.test.ts.
import t from 'tap';
import { certificateFlow, joinCluster, shortCertificates, useLastingCertificates } from './certificate-flow.js';
import { drainFlow } from './drain-flow.js';
import { allOf, oneByOne } from './flow.js';
import { restrictionFlow } from './node-restriction-flow.js';
import { outageFlows } from './outage-flows.js';
import { PeerStand } from './peer-stand.js';
import { staticPodFlow } from './static-pod-flow.js';
import { rebootFlow, takeoverFlow } from './takeover-flows.js';

t.setTimeout(900_000);
t.jobs = 3;

const stand = PeerStand.up({}, { KCM_ARGS: `--node-monitor-grace-period=20s --node-monitor-period=2s ${shortCertificates}` });
t.teardown(() => stand.down());
await t.test('a node joins with a bootstrap token', (t) => joinCluster(t, stand));
// While certificates are replaced, all else works.
await allOf(t, stand, [certificateFlow, staticPodFlow, drainFlow]);
await t.test('the kubelet restarts with the certificates of its kubeconfig', async (t) => {
  await useLastingCertificates(stand);
  t.pass('its node is ready with them');
});
await oneByOne(t, stand, [restrictionFlow, ...outageFlows, takeoverFlow, rebootFlow]);
