// Checkpoints: the request to the runtime, the paths of archives, and every refusal. On a mock runtime with and without support.

import { readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import t from 'tap';
import { tokens } from '../../src/app/tokens.js';
import { checkpointPath } from '../../src/domain/containers/checkpoint-archive.js';
import { instantOf } from '../../src/domain/values/instant.js';
import type { Call } from '../../src/ports/operation.js';
import { until } from '../support/until.js';
import { phaseOf, podNamed, Stage } from './stage.js';

const call = (): Call => ({ signal: new AbortController().signal, timeoutMicros: null });
const asked = { namespace: 'default', podName: 'a-n1', containerName: 'c', timeoutSeconds: 0 };

t.test('a running container', async (t) => {
  const stage = await Stage.open();
  t.teardown(() => stage.close());
  stage.manifest('a.yaml', stage.pod('a'));
  stage.manifest('b.yaml', stage.pod('b', 'busybox', 'run=100ms,exit=0', '  restartPolicy: Never\n'));
  const daemon = await stage.start();
  await until('a runs and b has ended', () => phaseOf(daemon, 'a-n1') === 'Running' && phaseOf(daemon, 'b-n1') === 'Succeeded');
  const checkpoint = (over: object) => daemon.resolver.get(tokens.checkpoints).checkpoint({ ...asked, ...over }, call());
  const done = await checkpoint({});
  const path = done.kind === 'done' ? done.path : '';
  const directory = join(stage.root, 'checkpoints');
  t.match(path, new RegExp(`^${directory}/checkpoint-a-n1_default-c-\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(Z|[+-]\\d\\d:\\d\\d)\\.tar$`));
  t.strictSame(readdirSync(directory), [path.slice(dirname(path).length + 1)]);
  t.equal(statSync(directory).mode & 0o777, 0o700);
  t.equal(statSync(path).mode & 0o777, 0o600);
  t.equal(phaseOf(daemon, 'a-n1'), 'Running');
  t.equal(podNamed(daemon, 'a-n1')?.status?.containerStatuses?.[0]?.restartCount, 0, 'it runs on');

  t.strictSame(await checkpoint({ podName: 'x' }), { kind: 'no-pod' });
  t.strictSame(await checkpoint({ namespace: 'x' }), { kind: 'no-pod' });
  t.strictSame(await checkpoint({ containerName: 'x' }), { kind: 'no-container' });
  t.strictSame(await checkpoint({ podName: 'b-n1' }), { kind: 'failed', message: 'container c not found' });
  t.strictSame(await checkpoint({ timeoutSeconds: -1 }), { kind: 'failed', message: 'checkpoint timeout is negative' });
});

t.test('a runtime that has no checkpoints', async (t) => {
  const stage = await Stage.open({ offersCheckpoints: false });
  t.teardown(() => stage.close());
  stage.manifest('a.yaml', stage.pod('a'));
  const daemon = await stage.start();
  await until('it runs', () => phaseOf(daemon, 'a-n1') === 'Running');
  const message = 'rpc error: code = Unimplemented desc = method CheckpointContainer not implemented';
  t.strictSame(await daemon.resolver.get(tokens.checkpoints).checkpoint(asked, call()), { kind: 'failed', message });
});

t.test('the name of an archive', async (t) => {
  const pod = { metadata: { name: 'web', namespace: 'shop' }, spec: { containers: [] } };
  const at = Date.UTC(2026, 0, 2, 3, 4, 5) * 1_000 + 900_000;
  for (const [offset, time] of [
    [0, '2026-01-02T03:04:05Z'],
    [19_800, '2026-01-02T08:34:05+05:30'],
    [-12_600, '2026-01-01T23:34:05-03:30'],
  ] as const) {
    t.equal(checkpointPath('/r', pod, 'app', instantOf(at), offset), `/r/checkpoints/checkpoint-web_shop-app-${time}.tar`);
  }
});
