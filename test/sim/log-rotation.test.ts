// Logs of running containers on virtual time: rotated by size, within their number of files, and never lost to a runtime that fails.
import type { Stage } from './scenario.js';
import { scenario } from './scenario.js';
import { minute, podOf, second } from './sim-pods.js';

const kib = 1024;
const logRotation = { maxSizeBytes: 100 * kib, maxFiles: 3, maxWorkers: 1, monitorInterval: 10 * second };

/** Names and sizes of the files of a pod's only container. */
function files(stage: Stage, container = 'c'): Map<string, number> {
  for (const [, containers] of stage.node.host.state.logs) {
    const found = containers.get(container);
    if (found !== undefined) return found;
  }
  return new Map();
}

scenario('a log is rotated when it is too large, and old files go', { settings: { logRotation } }, (stage) => {
  const { t, node } = stage;
  node.put('a.yaml', podOf('a', { containers: { c: 'log=50/s' } }));
  stage.untilPhase('a', 'Running', 10 * second);
  stage.run(15 * second);
  t.strictSame([...files(stage).keys()], ['0.log'], 'not before');
  let most = 0;
  let largest = 0;
  for (let i = 0; i < 40; i++) {
    stage.run(10 * second);
    most = Math.max(most, files(stage).size);
    largest = Math.max(largest, files(stage).get('0.log') ?? 0);
  }
  t.equal(most, 3, 'three files');
  t.ok(largest < logRotation.maxSizeBytes + 11 * 5_000, `the log has ${largest} bytes at most`);
  const names = [...files(stage).keys()].sort();
  t.match(names[1], /^0\.log\.\d{8}-\d{6}\.gz$/, 'the older one is compressed');
  t.match(names[2], /^0\.log\.\d{8}-\d{6}$/, 'the newer one is not');
  t.equal(node.containers().length, 1, 'the container ran on');
});

scenario(
  'a runtime that does not open a new log gets the old one back',
  { settings: { logRotation }, faults: [{ operation: 'containers.reopenLog', trigger: {}, action: { kind: 'error', error: 'unknown', moment: 'before', message: 'no' } }] },
  (stage) => {
    const { t, node } = stage;
    node.put('a.yaml', podOf('a', { containers: { c: 'log=100/s' } }));
    stage.untilPhase('a', 'Running', 10 * second);
    stage.run(2 * minute);
    t.strictSame([...files(stage).keys()], ['0.log'], 'as often as it was tried');
    t.ok((files(stage).get('0.log') ?? 0) > 1_000_000, 'nothing of it was lost');
    node.setFaults([]);
    stage.run(20 * second);
    t.equal(files(stage).size, 2);
  },
);

scenario('a log that somebody moved away is opened again', { settings: { logRotation } }, (stage) => {
  const { t, node } = stage;
  node.put('a.yaml', podOf('a', { containers: { c: 'log=1/s' } }));
  stage.untilPhase('a', 'Running', 10 * second);
  stage.run(5 * second);
  files(stage).delete('0.log');
  stage.run(11 * second);
  t.ok(files(stage).has('0.log'));
});

scenario('some at a time', { settings: { logRotation: { ...logRotation, maxWorkers: 2 } } }, (stage) => {
  const { t, node } = stage;
  const containers = Object.fromEntries(['a', 'b', 'c', 'd', 'e'].map((name) => [name, 'log=200/s']));
  node.put('a.yaml', podOf('a', { containers }));
  stage.untilPhase('a', 'Running', 20 * second);
  let most = 0;
  stage.until(
    'all are rotated',
    () => {
      most = Math.max(most, node.agent.logRotation.active.size);
      return Object.keys(containers).every((name) => files(stage, name).size >= 2);
    },
    minute,
  );
  t.equal(most, 2);
});

scenario('without a limit nothing is looked at', { settings: { logRotation: null } }, (stage) => {
  const { t, node } = stage;
  node.put('a.yaml', podOf('a', { containers: { c: 'log=1000/s' } }));
  stage.untilPhase('a', 'Running', 10 * second);
  stage.run(5 * minute);
  t.strictSame([...files(stage).keys()], ['0.log']);
  t.notOk([...node.model.performed.keys()].some((operation) => operation.startsWith('containerLogs.')));
});

scenario(
  'KB046 rotated logs of a crash loop go with their containers',
  { settings: { logRotation: { ...logRotation, maxSizeBytes: 10 * kib, monitorInterval: 3 * second } } },
  (stage) => {
    const { t, node } = stage;
    node.put('a.yaml', podOf('a', { uid: 'a', containers: { c: 'run=9s,exit=1,log=120/s' } }));
    let most = 0;
    for (let i = 0; i < 20; i++) {
      const restarts = () => node.statusOf('a')?.containerStatuses?.[0]?.restartCount ?? 0;
      const before = restarts();
      // A kill in the middle of a rotation: what it had begun to compress is still there.
      if (i % 4 === 3) {
        node.kill();
        files(stage).set(`${before}.log.20260101-00000${i % 10}.tmp`, 100);
        node.start();
      }
      stage.until('it crashes again', () => restarts() > before, 12 * minute);
      const names = [...files(stage).keys()];
      const attempts = new Set(names.map((name) => name.slice(0, name.indexOf('.'))));
      t.ok(attempts.size <= 3, `files of ${[...attempts].join(', ')}`);
      for (const attempt of attempts) most = Math.max(most, names.filter((name) => name.startsWith(`${attempt}.`)).length);
      t.strictSame(
        names.filter((name) => name.endsWith('.tmp')),
        [],
      );
    }
    t.ok(most <= 3 && most > 1, `${most} files an attempt`);
  },
);
