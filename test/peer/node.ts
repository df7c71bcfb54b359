// The suite of what happens to a node, one after the other, in namespaces of its own: see node.alone.test.ts.
import t from 'tap';
import { certificateFlow, shortCertificates } from './certificate-flow.js';
import { oneByOne } from './flow.js';
import { PeerStand } from './peer-stand.js';
import { staticPodFlow } from './static-pod-flow.js';
import { takeoverFlows } from './takeover-flows.js';

t.setTimeout(900_000);

const stand = PeerStand.up({}, { KCM_ARGS: `--node-monitor-grace-period=20s --node-monitor-period=2s ${shortCertificates}` });
t.teardown(() => stand.down());
await stand.start();
await oneByOne(t, stand, [certificateFlow, staticPodFlow, ...takeoverFlows]);
