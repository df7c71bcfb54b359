// The simulated runtime: the contract of all runtimes, its scripts, its time, and that a run can be repeated, cloned and continued.
import t from 'tap';
import { canonicalJson, hashText } from '../../src/domain/kernel/canonical.js';
import type { SandboxConfig } from '../../src/ports/model/sandbox-config.js';
import { parseScript, type RuntimeOperationName, type RuntimeOperations, SimContainerRuntime, type SimRuntimeEvent, type SimRuntimeOptions } from '../../src/sim/index.js';
import { parseImageReference } from '../../src/sim/runtime/image-reference.js';
import { containerRuntimeContract } from '../ports/container-runtime.contract.js';
import { SimRuntimeShell } from './sim-runtime-shell.js';

const busybox = { reference: 'docker.io/library/busybox:1', sizeBytes: 4_000_000, present: true };

containerRuntimeContract('simulated runtime', false, async () => {
  const shell = new SimRuntimeShell(new SimContainerRuntime({ seed: 1, images: [busybox] }));
  return { ports: shell.ports(), image: busybox.reference, unreachableImage: 'no.invalid/image:1', cgroupParent: '', until: (holds) => shell.until(holds), close: async () => {} };
});

const scripts: readonly (readonly [text: string, attempt: number, want: object | RegExp])[] = [
  ['run=30s,exit=1', 0, { runMicros: 30_000_000, exitCode: 1, termMicros: 0, termExitCode: 143 }],
  ['run=1m30s', 0, { runMicros: 90_000_000 }],
  ['run=forever , ignore-term', 0, { runMicros: null, termMicros: null }],
  ['term=2s,term-exit=0,log=5/s', 0, { termMicros: 2_000_000, termExitCode: 0, logLinesPerSecond: 5 }],
  ['fail-start=no such file', 0, { failStart: 'no such file' }],
  ['start=200ms,reason=OOMKilled,exit=137,run=2h', 0, { startMicros: 200_000, reason: 'OOMKilled', exitCode: 137, runMicros: 7_200_000_000 }],
  ['run=1s,exit=1;run=2s;run=forever', 0, { runMicros: 1_000_000, exitCode: 1 }],
  ['run=1s,exit=1;run=2s;run=forever', 1, { runMicros: 2_000_000, exitCode: 0 }],
  ['run=1s,exit=1;run=2s;run=forever', 9, { runMicros: null }],
  ['', 0, /unknown word ""/],
  ['rum=1s', 0, /unknown word "rum"/],
  ['run', 0, /run needs a value/],
  ['run=', 0, /run needs a value/],
  ['run=30', 0, /run=30 is not understood/],
  ['run=-1s', 0, /run=-1s is not understood/],
  ['exit=256', 0, /exit=256 is not understood/],
  ['exit=1,exit=2', 0, /exit is given twice/],
  ['ignore-term=1', 0, /ignore-term takes no value/],
  ['ignore-term,term=1s', 0, /leaves no room/],
  ['log=5', 0, /log=5 is not understood/],
  ['run=1s;rum=1s', 0, /unknown word "rum"/],
];

t.test('scripts', async (t) => {
  for (const [text, attempt, want] of scripts) {
    const parsed = parseScript(text, attempt);
    if (want instanceof RegExp) t.match(parsed, { ok: false, error: want }, text);
    else t.match(parsed, { ok: true, script: want }, `${text} #${attempt}`);
  }
});

const digest = `sha256:${'a'.repeat(64)}`;
const references: readonly (readonly [string, string | null])[] = [
  ['busybox', 'docker.io/library/busybox:latest'],
  ['me/app:v1', 'docker.io/me/app:v1'],
  ['localhost/app', 'localhost/app:latest'],
  ['reg.example:5000/a/b', 'reg.example:5000/a/b:latest'],
  [`busybox@${digest}`, `docker.io/library/busybox@${digest}`],
  [`busybox:1@${digest}`, `docker.io/library/busybox:1@${digest}`],
  ['', null],
  [':bad', null],
  ['UPPER', null],
  ['a b', null],
  ['a@sha256:12', null],
];

t.test('image references', async (t) => {
  for (const [text, want] of references) t.equal(parseImageReference(text)?.text ?? null, want, text);
});

/** The model alone, driven by hand: `ask` answers at once and says how long it took. */
class Driver {
  now = 1_000_000_000;
  readonly events: SimRuntimeEvent[] = [];
  readonly model: SimContainerRuntime;

  constructor(options: Partial<SimRuntimeOptions> = {}, state?: SimContainerRuntime['state']) {
    this.model = new SimContainerRuntime({ seed: 7, images: [busybox], ...options }, state, (event) => this.events.push(event));
  }

  ask<Name extends RuntimeOperationName>(op: Name, request: RuntimeOperations[Name]['request']) {
    return this.model.handle(op, request, this.now);
  }

  need<Name extends RuntimeOperationName>(op: Name, request: RuntimeOperations[Name]['request']): RuntimeOperations[Name]['reply'] {
    const { outcome } = this.ask(op, request);
    if (!outcome.ok) throw new Error(outcome.error.message);
    return outcome.value;
  }

  start(script: string, uid = 'u'): string {
    const config = sandbox(uid, script);
    const { sandboxId } = this.need('sandboxes.run', { config, runtimeHandler: '' });
    const labels = { 'io.kubernetes.pod.uid': uid };
    const container = { metadata: { name: 'c', attempt: 0 }, image: { image: 'busybox:1' }, labels, annotations: {}, logPath: '' };
    const { containerId } = this.need('containers.create', { sandboxId, config: container, sandboxConfig: config });
    this.need('containers.start', { containerId });
    return containerId;
  }
}

function sandbox(uid: string, script: string): SandboxConfig {
  return { metadata: { name: 'p', namespace: 'n', uid, attempt: 0 }, labels: { 'io.kubernetes.pod.uid': uid }, annotations: { 'sim.kubelet-ts/c': script } };
}

t.test('a container ends at its own time, not when somebody looks', async (t) => {
  const driver = new Driver({ latencies: { startContainer: 0 } });
  const id = driver.start('run=30s,exit=7,message=bye');
  t.equal(driver.model.nextAt(), driver.now + 30_000_000);
  const due = driver.now + 30_000_000;
  driver.now = due + 5_000_000;
  t.strictSame(driver.model.advance(driver.now), ['u']);
  t.match(driver.model.state.containers.get(id), { state: 'exited', finishedAt: due, ending: { exitCode: 7, reason: 'Error', message: 'bye' } });
  t.strictSame(driver.model.advance(driver.now), [], 'told once');
  t.equal(driver.model.nextAt(), null);
  t.strictSame(
    driver.events.map(({ kind }) => kind),
    ['created', 'started', 'created', 'started', 'stopped'],
  );
});

t.test('what ends between two requests is still told to advance', async (t) => {
  const driver = new Driver();
  driver.start('run=1s');
  driver.now += 60_000_000;
  driver.ask('runtime.listPods', { uid: null });
  t.equal(driver.model.nextAt(), driver.now, 'due at once');
  t.strictSame(driver.model.advance(driver.now), ['u']);
});

t.test('grace: the earliest ending wins', async (t) => {
  const driver = new Driver({ latencies: { stop: 0, startContainer: 0 } });
  const id = driver.start('run=1h,ignore-term');
  t.equal(driver.ask('containers.stop', { containerId: id, gracePeriodSeconds: 30 }).after, 30_000_000);
  driver.now += 1_000_000;
  t.equal(driver.ask('containers.stop', { containerId: id, gracePeriodSeconds: 2 }).after, 2_000_000, 'a shorter one shortens');
  t.equal(driver.ask('containers.stop', { containerId: id, gracePeriodSeconds: 60 }).after, 2_000_000, 'a longer one does not lengthen');
  driver.now += 2_000_000;
  driver.model.advance(driver.now);
  t.match(driver.model.state.containers.get(id), { state: 'exited', ending: { exitCode: 137 } });
  const slow = driver.start('term=5s,term-exit=0', 'v');
  t.equal(driver.ask('containers.stop', { containerId: slow, gracePeriodSeconds: 30 }).after, 5_000_000);
  driver.now += 5_000_000;
  driver.model.advance(driver.now);
  t.match(driver.model.state.containers.get(slow), { ending: { exitCode: 0, reason: 'Completed' } });
});

t.test('failures by script, and a script that is wrong', async (t) => {
  const driver = new Driver();
  t.throws(() => driver.start('fail-create=no space left'), /^no space left$|no space left/);
  t.throws(() => driver.start('fail-start=exec: "x": not found', 'v'), /OCI runtime create failed: exec: "x": not found/);
  const started = driver.need('runtime.inspectPod', { uid: 'v' });
  t.match(started?.containers, [{ state: 'exited', exitCode: 128, reason: 'StartError' }]);
  t.throws(() => driver.start('rum=1s', 'w'), /sim\.kubelet-ts\/c: unknown word "rum"/);
});

t.test('scripts by rule and by image, the annotation first', async (t) => {
  const images = [{ ...busybox, script: 'run=3s' }];
  const start = (options: Partial<SimRuntimeOptions>, annotations: Record<string, string>) => {
    const driver = new Driver({ images, latencies: { startContainer: 0 }, ...options });
    const config = { ...sandbox('u', ''), annotations };
    const { sandboxId } = driver.need('sandboxes.run', { config, runtimeHandler: '' });
    const container = { metadata: { name: 'c', attempt: 0 }, image: { image: 'busybox:1' }, labels: {}, annotations: {}, logPath: '' };
    const { containerId } = driver.need('containers.create', { sandboxId, config: container, sandboxConfig: config });
    driver.need('containers.start', { containerId });
    return (driver.model.nextAt() ?? 0) - driver.now;
  };
  const scripts = [
    { selector: { namespace: 'other' }, script: 'run=1s' },
    { selector: { namespace: 'n', podName: 'p', container: 'c', image: 'busybox:1', labels: { 'io.kubernetes.pod.uid': 'u' } }, script: 'run=2s' },
  ];
  t.equal(start({}, {}), 3_000_000);
  t.equal(start({ scripts }, {}), 2_000_000);
  t.equal(start({ scripts }, { 'sim.kubelet-ts/c': 'run=1s' }), 1_000_000);
});

t.test('pulls take as long as their bytes, and are shared', async (t) => {
  const images = [
    { reference: 'reg/big:1', sizeBytes: 100_000_000 },
    { reference: 'reg/secret:1', sizeBytes: 1, needsCredentials: true },
  ];
  const driver = new Driver({ images, registry: 'listed', pullBytesPerSecond: 10_000_000, latencies: { pull: 1_000 } });
  const pull = (image: string, credentials: RuntimeOperations['images.pull']['request']['credentials'] = null) =>
    driver.ask('images.pull', { image: { image }, credentials, sandboxConfig: null });
  t.equal(pull('reg/big:1').after, 10_001_000);
  driver.now += 4_000_000;
  t.equal(pull('reg/big:1').after, 6_001_000, 'joins the pull under way');
  t.equal(driver.need('images.status', { image: { image: 'reg/big:1' } }), null);
  t.equal(driver.model.nextAt(), driver.now + 6_001_000);
  driver.now += 6_001_000;
  const image = driver.need('images.status', { image: { image: 'reg/big:1' } });
  t.equal(image?.sizeBytes, 100_000_000);
  t.equal(pull('reg/big:1').after, 1_000, 'is there');
  t.match(driver.need('images.fsInfo', null), [{ usedBytes: 100_000_000 }]);
  t.match(pull('reg/none:1').outcome, { ok: false, error: { kind: 'not-found', message: /reg\/none:1: not found$/ } });
  t.match(pull('reg/secret:1').outcome, { ok: false, error: { message: /pull access denied/ } });
  const credentials = { username: 'u', password: 'p', serverAddress: '', identityToken: '', registryToken: '' };
  t.match(pull('reg/secret:1', credentials).outcome, { ok: true });
  t.match(pull('BAD').outcome, { ok: false, error: { message: /invalid reference format/ } });
  driver.need('images.remove', { image: { image: image?.id ?? '' } });
  t.equal(driver.need('images.status', { image: { image: 'reg/big:1' } }), null);
});

/** Pods one after the other until a time. */
function run(seed: number, stopAt: number, driver = new Driver({ seed })): Driver {
  for (let i = 0; driver.now < stopAt && i < 200; i++) {
    const uid = `u${i}`;
    if (driver.need('runtime.inspectPod', { uid }) === null) driver.start(`run=${10 + ((i * 7) % 50)}s,exit=${i % 3}`, uid);
    driver.now += 5_000_000;
    driver.model.advance(driver.now);
  }
  return driver;
}

t.test('the same seed gives the same run, a cloned state goes on like its origin', async (t) => {
  const end = 1_000_000_000 + 600_000_000;
  const text = (driver: Driver) => hashText(canonicalJson(driver.model.state));
  t.equal(text(run(1, end)), text(run(1, end)));
  t.not(text(run(1, end)), text(run(2, end)));
  const origin = run(1, end);
  const clone = new Driver({ seed: 1 }, structuredClone(origin.model.state));
  clone.now = origin.now;
  const later = origin.now + 300_000_000;
  for (const driver of [origin, clone]) run(1, later, driver);
  t.equal(text(clone), text(origin));
  t.strictSame(clone.need('runtime.listPods', { uid: null }), origin.need('runtime.listPods', { uid: null }));
});
