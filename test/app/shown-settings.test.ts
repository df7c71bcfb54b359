// What /configz and /flagz show is what is in effect: a row for each setting that the start changes, and the two agree about every flag.
import { join } from 'node:path';
import t from 'tap';
import type { Daemon } from '../../src/app/daemon/start-daemon.js';
import { flagTable } from '../../src/domain/configuration/flag-table.js';
import { loadConfiguration } from '../../src/domain/configuration/load-configuration.js';
import { valueAt } from '../../src/domain/configuration/schema.js';
import { settingsInEffect } from '../../src/domain/configuration/settings-in-effect.js';
import { shownFlags } from '../../src/domain/configuration/shown-settings.js';
import { load, sourceOf } from '../domain/configuration-situations.js';
import { ask } from './ask-daemon.js';
import { Stage } from './stage.js';

const structured = { accept: 'application/json;g=config.k8s.io;v=v1beta1;as=Flagz' };

/** Written in the file, or as a flag; shown by /configz, and by /flagz as `name=value`. */
const rows: readonly { readonly path: string; readonly file?: string; readonly flag?: string; readonly inEffect: unknown; readonly shownFlag: readonly [string, string] | null }[] =
  [
    { path: 'cgroupDriver', file: 'cgroupDriver: cgroupfs', inEffect: 'systemd', shownFlag: ['cgroup-driver', 'systemd'] },
    { path: 'kubeReserved', file: 'kubeReserved: {cpu: 300m, memory: 64Mi}', inEffect: { memory: '64Mi' }, shownFlag: ['kube-reserved', 'memory=64Mi'] },
    { path: 'systemReserved', file: 'reservedSystemCPUs: "0"', inEffect: { cpu: '1' }, shownFlag: ['system-reserved', 'cpu=1'] },
    { path: 'seccompDefault', flag: '--seccomp-default', inEffect: true, shownFlag: ['seccomp-default', 'true'] },
    { path: 'syncFrequency', file: 'syncFrequency: 1ms', inEffect: '100ms', shownFlag: ['sync-frequency', '100ms'] },
    { path: 'fileCheckFrequency', file: 'fileCheckFrequency: 2ms', inEffect: '100ms', shownFlag: ['file-check-frequency', '100ms'] },
    { path: 'httpCheckFrequency', file: 'httpCheckFrequency: 3ms', inEffect: '100ms', shownFlag: ['http-check-frequency', '100ms'] },
    { path: 'clusterDNS', file: 'clusterDNS: [10.0.0.10, nowhere]', inEffect: ['10.0.0.10'], shownFlag: ['cluster-dns', '[10.0.0.10]'] },
  ];

async function shown(daemon: Daemon): Promise<{ readonly configz: object; readonly flagz: Readonly<Record<string, string>> }> {
  const configz = JSON.parse((await ask(daemon, '/configz')).body) as { kubeletconfig: object };
  const flagz = JSON.parse((await ask(daemon, '/flagz', 'GET', structured)).body) as { flags: Record<string, string> };
  return { configz: configz.kubeletconfig, flagz: flagz.flags };
}

t.test('what the start changes is shown as it is in effect', async (t) => {
  const stage = await Stage.open({ cgroupDriver: 'systemd' });
  t.teardown(() => stage.close());
  stage.configurationMore = ['enableServer: true', 'address: 127.0.0.1', ...rows.flatMap(({ file }) => file ?? [])].join('\n');
  stage.flags.push(...rows.flatMap(({ flag }) => flag ?? []), `--cert-dir=${join(stage.directory, 'pki')}`);
  const daemon = await stage.start();
  const { configz, flagz } = await shown(daemon);
  for (const { path, inEffect, shownFlag } of rows) {
    t.strictSame(valueAt(configz, path.split('.')), inEffect, `/configz: ${path}`);
    if (shownFlag !== null) t.equal(flagz[shownFlag[0]], shownFlag[1], `/flagz: ${shownFlag[0]}`);
  }
  t.match(configz, { tlsCertFile: join(stage.directory, 'pki/kubelet.crt'), tlsPrivateKeyFile: join(stage.directory, 'pki/kubelet.key') }, 'the pair that is served');
  t.match(configz, { port: daemon.apiPort }, 'the port that it listens on');

  t.match(configz, { logging: { verbosity: 0 } });
  await ask(daemon, '/debug/flags/v', 'PUT', {}, true, '7');
  const louder = await shown(daemon);
  t.match(louder, { configz: { logging: { verbosity: 7 } }, flagz: { v: '7' } }, 'the log level that was set meanwhile');
});

t.test('whatever the setting, /flagz shows it as /configz does', async (t) => {
  const stage = await Stage.open({ cgroupDriver: 'systemd' });
  t.teardown(() => stage.close());
  // Without thresholds /configz leaves evictionHard out, as the reference does, and a reader would take the defaults.
  const more = ['enableServer: true', 'address: 127.0.0.1', 'evictionHard: {memory.available: 1Mi}'];
  stage.configurationMore = [...more, ...rows.flatMap(({ file }) => file ?? [])].join('\n');
  const { configz, flagz } = await shown(await stage.start());
  const again = loadConfiguration(['--config=/etc/k/config.yaml'], sourceOf(JSON.stringify(configz)), { cgroupVersion: 1 });
  if (again.kind !== 'loaded') throw new Error(again.kind === 'refused' ? again.error : again.kind);
  const flags = shownFlags(again);
  const ofSettings = flagTable.filter(({ purpose }) => purpose.kind === 'setting').map(({ name }) => name);
  t.ok(ofSettings.length > 80);
  for (const name of ofSettings) t.equal(flagz[name], flags.get(name), name);
});

t.test('each kind of flag is shown as it is given', (t) => {
  const words: readonly (readonly [flag: string, word: string])[] = [
    ['kube-reserved', 'cpu=100m,memory=1Gi'],
    ['eviction-hard', 'memory.available<100Mi,nodefs.available<10%'],
    ['qos-reserved', 'memory=50%'],
    ['feature-gates', 'AllAlpha=false,MemoryQoS=true'],
    ['manifest-url-header', 'a:1,a:2,b:3'],
    ['vmodule', 'pleg*=4,agent=2'],
    ['register-with-taints', 'a=b:NoSchedule,c=:NoExecute'],
    ['reserved-memory', '0:hugepages-1Gi=2Gi,memory=1Gi;1:memory=2Gi'],
    ['node-labels', 'a=b,c='],
    ['cluster-dns', '10.0.0.10'],
    ['node-status-max-images', '7'],
  ];
  for (const [name, word] of words) {
    const flag = flagTable.find((one) => one.name === name);
    const parsed = flag?.type.parse(word, undefined);
    const text = parsed?.ok ? flag?.type.show(parsed.value) : parsed?.error;
    t.equal(text?.replace(/^\[|\]$/g, ''), word, name);
  }
  for (const { name, type, fallback } of flagTable) t.doesNotThrow(() => fallback === null || type.show(fallback), name);
  t.end();
});

t.test('nothing but what the start changes differs from the configuration', (t) => {
  const loaded = load({ file: '' });
  if (loaded.kind !== 'loaded') throw new Error(loaded.kind);
  const facts = { cgroupDriver: 'cgroupfs', reservedSystemCpus: [], ownServingFiles: null, port: null, verbosity: 0 } as const;
  t.strictSame(settingsInEffect(loaded, facts).configuration, loaded.configuration);
  t.end();
});
