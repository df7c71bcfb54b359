// The kubelet's port under fire: a sample of what the nightly run sends, the same each time.
import t from 'tap';
import { fuzzKubeletPort } from './kubelet-port-fuzz.js';

t.setTimeout(120_000);

t.test('ten thousand spoiled requests from a fixed seed', async (t) => {
  const { sent, reached, statuses, broken, openAfterwards } = await fuzzKubeletPort(20_261_128, 10_000);
  t.strictSame(broken, []);
  t.ok(sent >= 10_000);
  t.ok(reached > 100, `${reached} good ones got through, so the server was at work`);
  for (const status of ['200', '307', '400', '401', '404']) t.ok((statuses[status] ?? 0) > 50, `${statuses[status]} answers of ${status}`);
  t.equal(openAfterwards, 0, 'no connection is left');
});
