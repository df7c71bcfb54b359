// A start that can't make what the agent keeps its things in: a line, an event of the node, and nothing left running.
import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { Event } from '../../src/ports/model/event.js';
import { ClusterStage } from './cluster-stage.js';
import { Stage } from './stage.js';

const directories = ['pods', 'plugins', 'plugins_registry', 'pod-resources'] as const;

async function nodeEvents({ admin }: ClusterStage): Promise<readonly Event[]> {
  const events = (await admin.list('events', 'default')) as unknown as readonly Event[];
  return events.filter(({ involvedObject }) => involvedObject.kind === 'Node');
}

t.test('KubeletSetupFailed', async (t) => {
  const rows: readonly (readonly [what: string, spoil: (place: ClusterStage) => string])[] = [
    ...directories.map((name) => {
      const spoil = ({ stage }: ClusterStage): string => {
        mkdirSync(stage.root);
        writeFileSync(join(stage.root, name), '');
        return `mkdir ${join(stage.root, name)}: not a directory`;
      };
      return [`${name} is a file`, spoil] as const;
    }),
    [
      'the directory of logs is a file',
      ({ stage }) => {
        writeFileSync(join(stage.directory, 'logs'), '');
        return `mkdir ${join(stage.directory, 'logs')}: not a directory`;
      },
    ],
    [
      'nobody can be known by his certificate',
      ({ stage }) => {
        stage.configurationMore = 'enableServer: true\nauthentication: {x509: {clientCAFile: /none/ca.crt}, anonymous: {enabled: false}, webhook: {enabled: false}}\n';
        return 'unable to load client CA file /none/ca.crt: open /none/ca.crt: no such file or directory';
      },
    ],
  ];
  for (const [what, spoil] of rows) {
    const place = await ClusterStage.open(t);
    const reason = spoil(place);
    await t.rejects(place.stage.start(), { message: `failed to run Kubelet: failed to initialize internal modules: ${reason}` }, what);
    const [event, ...more] = await nodeEvents(place);
    t.match(
      event,
      {
        ...{ type: 'Warning', reason: 'KubeletSetupFailed', message: reason, count: 1 },
        ...{ involvedObject: { apiVersion: 'v1', kind: 'Node', name: 'n1' }, source: { component: 'kubelet', host: 'n1' }, reportingComponent: 'kubelet', reportingInstance: 'n1' },
      },
      what,
    );
    t.strictSame(more, [], `${what}: it is the only one`);
    t.ok(place.stage.log.find('KubeletSetupFailed'), `${what}: the log has it, too`);
    t.equal(await place.node(), null, `${what}: the node is not registered`);
  }
});

t.test('an apiserver that is away does not keep the process from ending', async (t) => {
  const place = await ClusterStage.open(t);
  await place.server.goDown();
  mkdirSync(place.stage.root);
  writeFileSync(join(place.stage.root, 'pods'), '');
  await t.rejects(place.stage.start(), { message: /not a directory/ });
  t.ok(place.stage.log.find('Unable to write event'));
});

t.test('a node without an apiserver has it in its log', async (t) => {
  const stage = await Stage.open();
  t.teardown(() => stage.close());
  mkdirSync(stage.root);
  writeFileSync(join(stage.root, 'plugins'), '');
  await t.rejects(stage.start(), { message: /plugins: not a directory/ });
  t.match(stage.log.find('KubeletSetupFailed'), /^warn Event occurred .*plugins: not a directory/);
});

t.test('the directories of a start that succeeds', async (t) => {
  const stage = await Stage.open();
  t.teardown(() => stage.close());
  const daemon = await stage.start();
  const mode = (name: string): string => (statSync(join(stage.root, name)).mode & 0o777).toString(8);
  for (const name of directories) t.equal(mode(name), '750', name);
  t.equal(mode('checkpoints'), '700', 'what is read of the memory of containers is nobody else’s');
  t.ok(existsSync(join(stage.directory, 'links')));
  await daemon.stop();
});
