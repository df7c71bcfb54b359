// The daemon on a runtime whose event stream breaks: what happened meanwhile is found when it is connected again, long before the list of
// everything that is the safety net.
import t from 'tap';
import { until } from '../support/until.js';
import { phaseOf, podNamed, Stage } from './stage.js';

t.test('a container that dies while the stream is broken', async (t) => {
  const stage = await Stage.open();
  t.teardown(() => stage.close());
  stage.manifest('a.yaml', stage.pod('a'));
  const daemon = await stage.start();
  await until('it runs', () => phaseOf(daemon, 'a-n1') === 'Running');
  const restarts = () => podNamed(daemon, 'a-n1')?.status?.containerStatuses?.[0]?.restartCount;
  for (const expected of [1, 2]) {
    const [id = ''] = stage.running;
    stage.runtime.events?.close();
    stage.runtime.runtime.killContainer(id, stage.runtime.time.now());
    if (expected === 1) await until('it was restarted', () => restarts() === expected && stage.running.length === 1);
    else await until('it waits for its back-off', () => podNamed(daemon, 'a-n1')?.status?.containerStatuses?.[0]?.state?.waiting?.reason === 'CrashLoopBackOff');
  }
  t.equal(restarts(), 1);
});
