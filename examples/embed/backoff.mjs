// A container that crashes after each start, and an image that can't be pulled: when is the next attempt? In virtual time, at once.
// Run: node examples/embed/backoff.mjs
import { decideCrashLoop, imagePullFailed, imagePullWait, newCrashLoopBackoff, newImagePullBackoff } from 'kubelet-ts/domain';

const second = 1_000_000;
const container = { name: 'main', image: 'app:1' };
const pod = { metadata: { name: 'crasher', namespace: 'default', uid: 'uid-1' }, spec: { containers: [container] } };

const crashes = newCrashLoopBackoff(null);
let now = 0;
let finishedAt = null;
for (let starts = 0; starts < 8; ) {
  const decision = decideCrashLoop(crashes, pod, container, finishedAt, now);
  if (decision.kind === 'wait') {
    console.log(`${now / second} s: ${decision.message}`);
    now = decision.retryAt;
    continue;
  }
  starts++;
  console.log(`${now / second} s: start ${starts}`);
  now += second;
  finishedAt = now;
}

const pulls = newImagePullBackoff();
now = 0;
for (let attempts = 0; attempts < 3; now += 5 * second) {
  const wait = imagePullWait(pulls, 'uid-1', 'app:1', now);
  if (wait !== null) {
    console.log(`${now / second} s: ${wait.reason}: ${wait.message}`);
    continue;
  }
  attempts++;
  const problem = imagePullFailed(pulls, 'uid-1', 'app:1', 'not found', now);
  console.log(`${now / second} s: attempt ${attempts}: ${problem.reason}: ${problem.message}`);
}
