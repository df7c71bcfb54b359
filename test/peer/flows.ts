// The suite of flows, in namespaces of its own: see flows.alone.test.ts.
import t from 'tap';
import { allOf } from './flow.js';
import { objectFlows } from './object-flows.js';
import { PeerStand } from './peer-stand.js';
import { streamFlows } from './stream-flows.js';
import { workloadFlows } from './workload-flows.js';

t.setTimeout(600_000);
t.jobs = 8;

const stand = PeerStand.up();
t.teardown(() => stand.down());
await stand.start();
await allOf(t, stand, [...workloadFlows, ...streamFlows, ...objectFlows]);
