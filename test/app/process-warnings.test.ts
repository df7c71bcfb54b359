// Warnings of the Node.js process are lines of the log, in its format and as errors; none is written to standard error in Node's own.
import t from 'tap';
import { until } from '../support/until.js';
import { Program } from './programs.js';
import { Stage } from './stage.js';

/** A warning long before the agent runs, and one while it does. */
const planted = `
process.emitWarning('planted early', 'PlantedWarning', 'PLANT01');
process.on('SIGUSR2', () => process.emitWarning('planted late', 'MaxListenersExceededWarning'));
`;

t.test('a warning of Node in the log', async (t) => {
  const stage = await Stage.open();
  t.teardown(() => stage.close());
  // In place of what the runner of the tests loads, which would count the warnings.
  const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(planted)}`;
  const kubelet = new Program('kubelet-ts', stage.words(), { NODE_OPTIONS });
  t.teardown(() => kubelet.kill('SIGKILL'));
  await until('the agent runs', () => kubelet.err.includes('Container runtime connected'));
  kubelet.kill('SIGUSR2');
  await until('the late one is logged', () => kubelet.err.includes('planted late'));
  kubelet.kill('SIGTERM');
  await kubelet.end();
  t.match(kubelet.err, /^E\d{4} .*"Warning of the Node\.js process" warning="MaxListenersExceededWarning" err="planted late" stack=/m);
  t.notMatch(kubelet.err, /\(node:\d+\)[^\n]*planted late/, 'and in no other form');
});
