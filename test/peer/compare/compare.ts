// The suite that makes the same pods on this project's kubelet that were made on the Go kubelet when it was recorded, in namespaces of its own: see
// ../compare.nightly.ts. KUBE_PEER_RECORD=1 records the Go kubelet; KUBE_PEER_FLOW=WORD takes the pods whose name holds the word.
import t from 'tap';
import type { Json } from '../admin-client.js';
import { PeerStand } from '../peer-stand.js';
import { compared, faults, inBoth } from './comparable.js';
import { shown } from './flatten.js';
import { lifeCases } from './life-cases.js';
import { observed } from './observe.js';
import { recordedKubelet, recordKubelet } from './recorded-kubelet.js';
import { surroundingsCases } from './surroundings-cases.js';

t.setTimeout(1_800_000);

const records = process.env.KUBE_PEER_RECORD === '1';
const word = process.env.KUBE_PEER_FLOW ?? '';
const cases = [...lifeCases, ...surroundingsCases].filter(({ name }) => name.includes(word));

t.test('what the Go kubelet makes of the same pods', async (t) => {
  const stand = PeerStand.up();
  t.teardown(() => stand.down());
  let view: Json = null;
  await observed(stand, records ? 'go' : 'ours', cases, (seen) => {
    view = seen;
    if (records) recordKubelet(seen);
  });
  const [go, ours] = [recordedKubelet(), compared(view)];
  const names = inBoth(go, ours);
  t.ok(word !== '' || names.length >= 60, `${names.length} pods have settled on both`);
  t.strictSame(faults(go, ours).map(shown), []);
});
