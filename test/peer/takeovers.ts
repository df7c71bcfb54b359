// The suite of takeovers with thirty pods, in namespaces of its own: see takeovers.nightly.ts.
import t from 'tap';
import { oneByOne } from './flow.js';
import { PeerStand } from './peer-stand.js';
import { longTakeoverFlow } from './takeover-flows.js';

t.setTimeout(600_000);

const stand = PeerStand.up();
t.teardown(() => stand.down());
await stand.start();
await oneByOne(t, stand, [longTakeoverFlow]);
