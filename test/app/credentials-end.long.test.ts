// A node whose credentials expire, are replaced or revoked, whose clock is set, or whose apiserver is overloaded: nothing restarts, and the lease
// and the statuses continue.
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { type ClockStep, WallAnchoredClock } from '../../src/adapters/time/index.js';
import type { ApiUser } from '../../src/sim/index.js';
import { holdsFor, until } from '../support/until.js';
import { ClusterStage, nodeUser } from './cluster-stage.js';

t.setTimeout(300_000);

/** A lease renewed each second, a status reported each second. */
const brisk = 'nodeLeaseDurationSeconds: 4\nnodeStatusUpdateFrequency: 1s\nnodeStatusReportFrequency: 1s\n';

t.test('a token in a file is replaced, and the one before revoked', async (t) => {
  const tokens = new Map([['first-secret', nodeUser]]);
  const place = await ClusterStage.open(t, { tokens });
  const file = join(place.stage.directory, 'token');
  writeFileSync(file, 'first-secret\n');
  place.identify({ tokenFile: file });
  place.stage.configurationMore = brisk;
  const daemon = await place.stage.start();
  await place.createPod('a');
  await place.untilReady('a');
  const before = place.stage.running;
  tokens.delete('first-secret');
  tokens.set('second-secret', nodeUser);
  writeFileSync(file, 'second-secret\n');
  await place.untilRenewed();
  await place.createPod('b');
  await place.untilReady('b');
  t.ok(
    before.every((id) => place.stage.running.includes(id)),
    'nothing restarted',
  );
  t.notMatch(place.stage.log.lines.join('\n'), /first-secret|second-secret/);
  await daemon.stop();
});

/** A token is good for so long after it was shown first. */
class ShortTokens extends Map<string, ApiUser> {
  readonly shown = new Map<string, number>();
  refused = 0;

  override get(token: string): ApiUser | undefined {
    if (!/^exec-secret-\d+$/.test(token)) return undefined;
    const first = this.shown.get(token) ?? Date.now();
    this.shown.set(token, first);
    if (Date.now() - first < 16_000) return nodeUser;
    this.refused++;
    return undefined;
  }
}

t.test('credentials of a program that end after eleven seconds', async (t) => {
  const tokens = new ShortTokens();
  const place = await ClusterStage.open(t, { tokens });
  const command = join(place.stage.directory, 'credentials.sh');
  const runs = join(place.stage.directory, 'runs');
  const status = `{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"exec-secret-%s","expirationTimestamp":"%s"}}`;
  writeFileSync(command, `#!/bin/sh\necho run >> ${runs}\nprintf '${status}' "$(wc -l < ${runs} | tr -d ' ')" "$(date -u -d '+11 seconds' +%Y-%m-%dT%H:%M:%SZ)"\n`);
  chmodSync(command, 0o755);
  place.identify({ exec: { apiVersion: 'client.authentication.k8s.io/v1', command, interactiveMode: 'Never' } });
  place.stage.configurationMore = brisk;
  const daemon = await place.stage.start();
  await place.createPod('a');
  await place.untilReady('a');
  const before = place.stage.running;
  // A program is asked every ten seconds at most.
  for (const count of [2, 3]) await until(`${count} were used`, () => tokens.shown.size >= count);
  await place.untilRenewed();
  await place.createPod('b');
  await place.untilReady('b');
  t.equal(tokens.refused, 0, 'none was shown that had ended');
  t.ok(before.every((id) => place.stage.running.includes(id)));
  t.notMatch(place.stage.log.lines.join('\n'), /exec-secret/);
  await daemon.stop();
});

t.test('the client certificate ends while the apiserver is away, and nobody has approved another one', async (t) => {
  const place = await ClusterStage.open(t, { settings: { controllers: ['namespaces', 'heartbeats'] } });
  const { stage, server } = place;
  const seconds = 15;
  const [{ user }] = JSON.parse(server.kubeconfig({ commonName: nodeUser.name, organizations: ['system:nodes'], seconds })).users;
  const ends = Date.now() + seconds * 1000;
  const pair = join(stage.directory, 'pair.pem');
  const pem = (text: string): string => Buffer.from(text, 'base64').toString('utf8');
  writeFileSync(pair, pem(user['client-certificate-data']) + pem(user['client-key-data']), { mode: 0o600 });
  place.identify({ 'client-certificate': pair, 'client-key': pair });
  stage.configurationMore = `${brisk}rotateCertificates: true\n`;
  stage.manifest('s.yaml', stage.pod('s'));
  const daemon = await stage.start();
  await until('the static pod runs', () => stage.running.length === 1);
  let ended: unknown = null;
  void daemon.ended.then((how) => (ended = how));
  await server.goDown();
  await holdsFor('without a server that answers the node continues', Math.max(0, ends - Date.now()) + 2_000, () => ended === null);
  t.equal(stage.running.length, 1);
  await server.comeBack();
  await until('it ends, to be restarted with other credentials', () => ended !== null);
  t.match(ended, { kind: 'failed' });
  t.ok(stage.log.find('The currently active client certificate has expired and the server is responsive, exiting.'));
  await daemon.stop();
  const before = stage.running;
  t.equal(before.length, 1, 'what ran runs');
  place.identify(JSON.parse(server.kubeconfig({ commonName: nodeUser.name, organizations: ['system:nodes'] })).users[0].user);
  stage.configurationMore = brisk;
  const again = await stage.start();
  await place.untilRenewed();
  await until('its mirror pod is there', async () => (await place.pod('s-n1'))?.status?.phase === 'Running');
  t.same(stage.running, before, 'and was not started again');
  await again.stop();
});

t.test('the wall clock is set back by an hour, and ahead by two', async (t) => {
  const steps: ClockStep['direction'][] = [];
  let shift = 0;
  const clock = new WallAnchoredClock(({ direction }) => steps.push(direction), { wallMillis: () => Date.now() + shift, monotonicMillis: () => performance.now() });
  const place = await ClusterStage.open(t, {}, clock);
  place.stage.configurationMore = brisk;
  const daemon = await place.stage.start();
  await place.createPod('a');
  await place.untilReady('a');
  const before = place.stage.running;
  for (const [name, by] of [
    ['after', -3_600_000],
    ['later', 7_200_000],
  ] as const) {
    shift += by;
    await place.untilRenewed();
    const heartbeat = (await place.condition('Ready'))?.lastHeartbeatTime ?? '';
    await until('the status of the node is told', async () => ((await place.condition('Ready'))?.lastHeartbeatTime ?? '') !== heartbeat);
    t.match(await place.condition('Ready'), { status: 'True' });
    await place.createPod(name);
    await place.untilReady(name);
  }
  t.same(steps, ['back', 'forward'], 'both were seen');
  t.ok(before.every((id) => place.stage.running.includes(id)));
  await daemon.stop();
});

t.test('a storm of refusals: with fifteen pods and five requests a second no more are made', async (t) => {
  const place = await ClusterStage.open(t, { settings: { auditLimit: 100_000 } });
  const { stage, server } = place;
  stage.configurationMore = `${brisk}kubeAPIQPS: 5\nkubeAPIBurst: 5\n`;
  const daemon = await stage.start();
  await place.untilRenewed(1);
  server.api.setFaults(
    [{ operation: '*', trigger: { probability: 0.7 }, action: { kind: 'error', code: 429, message: 'slow down', retryAfterSeconds: 1 } }],
    server.time.now(),
    true,
  );
  const begun = server.time.now();
  const names = Array.from({ length: 15 }, (_, i) => `p${i}`);
  for (const name of names) await place.createPod(name);
  await until('all of them run', () => stage.running.length === names.length);
  const heartbeats = ['nodes', 'nodes/status', 'leases.coordination.k8s.io', 'events'];
  const requests = () =>
    server.api.audit.entries.filter(({ at, user, verb, resource }) => at >= begun && user === nodeUser.name && verb !== 'watch' && !heartbeats.includes(resource));
  await until('there were many requests, and many refusals', () => requests().length > 10 && requests().filter(({ code }) => code === 429).length > 5);
  const asked = requests();
  const seconds = (server.time.now() - begun) / 1_000_000;
  t.ok(asked.length <= 5 + 5 * seconds + 1, `${asked.length} requests in ${seconds} s`);
  for (const { at } of asked) {
    const within = asked.filter((other) => other.at >= at && other.at < at + 2_000_000).length;
    if (within > 5 + 5 * 2 + 1) t.fail(`${within} requests within two seconds`);
  }
  server.api.setFaults([], server.time.now());
  for (const name of names) await place.untilReady(name);
  t.equal(stage.running.length, names.length, 'nothing restarted');
  await daemon.stop();
});
