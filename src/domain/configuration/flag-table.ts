// Every flag of the command line: those of settings, derived from the field table, and those that have no place in the file.
// Invariant: names are unique and sorted; a flag either sets a setting, is an option of the process, or is ignored.
import { nanosPerMinute, nanosPerSecond } from '../values/go-duration.js';
import { applyDefaults, withLegacyDefaults } from './defaults.js';
import { noFeatureGates } from './feature-gates.js';
import { type FlagType, flagTypes } from './flag-values.js';
import { reservedMemoryFlag, taintsFlag } from './record-flags.js';
import { type KubeletConfiguration, type SettingRow, settingRows, valueAt } from './schema.js';
import { versionFlag } from './version-flag.js';

/** The effect of a flag: `setting` changes the configuration, `option` concerns the process, `ignored` is parsed and dropped. */
export type FlagPurpose = { readonly kind: 'setting'; readonly path: readonly string[] } | { readonly kind: 'option' } | { readonly kind: 'ignored' };

export interface Flag {
  readonly name: string;
  readonly shorthand: string | null;
  readonly type: FlagType;
  readonly fallback: unknown;
  readonly purpose: FlagPurpose;
  /** The warning about its use; null for a flag that isn't deprecated. */
  readonly deprecation: string | null;
  readonly doc: string;
}

/** The deprecation of each flag whose setting belongs in the file. */
export const setInFile =
  "This parameter should be set via the config file specified by the Kubelet's --config flag. " +
  'See https://kubernetes.io/docs/tasks/administer-cluster/kubelet-config-file/ for more information.';

const statsFlag =
  'This is a cadvisor flag that was mistakenly registered with the Kubelet. ' +
  'Due to legacy concerns, it will follow the standard CLI deprecation timeline before being removed.';
const useEviction = 'Use --eviction-hard or --eviction-soft instead. Will be removed in a future version.';

/** The configuration of a kubelet without a file: the flags' defaults. */
export const flagBaseline: KubeletConfiguration = withLegacyDefaults(applyDefaults({}, noFeatureGates));

function option(name: string, type: FlagType, fallback: unknown, doc: string, deprecation: string | null = null): Flag {
  return { name, shorthand: null, type, fallback, purpose: { kind: 'option' }, deprecation, doc };
}

function ignored(name: string, type: FlagType, fallback: unknown, deprecation: string | null = statsFlag): Flag {
  return { name, shorthand: null, type, fallback, purpose: { kind: 'ignored' }, deprecation, doc: 'Accepted and ignored: a setting of the statistics library of older kubelets.' };
}

const { string, bool, int32, duration, labels, plainBool, plainDuration, plainInt } = flagTypes;

const options: readonly Flag[] = [
  option('bootstrap-kubeconfig', string, '', 'Kubeconfig with which a client certificate is requested while --kubeconfig has none that works.'),
  option('cert-dir', string, '/var/lib/kubelet/pki', 'Directory of the certificates that are requested or made.'),
  option('cloud-provider', string, '', 'external where a cloud controller manager initialises the node; empty otherwise.'),
  option('config', string, '', 'The configuration file; relative to the working directory. Flags win over it.'),
  option('config-dir', string, '', 'Directory of drop-in files, *.conf, that are merged into the configuration in lexical order.'),
  option('exit-on-lock-contention', bool, false, 'End when another process wants --lock-file.'),
  option('experimental-allocatable-ignore-eviction', bool, false, "Leave hard eviction thresholds out of the node's allocatable.", 'will be removed in 1.25 or later.'),
  option('experimental-mounter-path', string, '', 'Accepted and ignored: a mounter binary.', 'will be removed in 1.25 or later. in favor of using CSI.'),
  { ...option('help', bool, false, 'Show this text.'), shorthand: 'h' },
  option('hostname-override', string, '', 'Name of the node instead of the host name.'),
  option('image-credential-provider-bin-dir', string, '', 'Directory of credential provider plugins.'),
  option('image-credential-provider-config', string, '', 'Configuration file, or directory of them, of credential provider plugins.'),
  option('kubeconfig', string, '', 'How to reach the apiserver. Without it the agent runs standalone, with static pods only.'),
  option('lock-file', string, '', 'File that is locked for as long as the agent runs.'),
  option('maximum-dead-containers', int32, -1, 'How many dead containers the node keeps; negative for no limit.', useEviction),
  option('maximum-dead-containers-per-container', int32, 1, 'How many dead instances of a container are kept.', useEviction),
  option('minimum-container-ttl-duration', duration, 0, 'Least age of a dead container before it is removed.', useEviction),
  option('node-ip', string, '', 'Address of the node, or one of each family; :: or 0.0.0.0 asks for a family.'),
  option('node-labels', labels, {}, 'Labels that the node registers with.'),
  option('root-dir', string, '/var/lib/kubelet', "Directory of the agent's files: volumes, plugins, checkpoints."),
  option('runtime-cgroups', string, '', 'cgroup of the container runtime, for its statistics.'),
  option('seccomp-default', bool, false, 'As seccompDefault of the configuration; either one switches it on.'),
  option('version', versionFlag, 'false', 'Print the version: true, or raw; a version makes the agent report that one.'),
];

const statistics: readonly Flag[] = [
  ignored('application-metrics-count-limit', plainInt, 100),
  ignored('boot-id-file', string, '/proc/sys/kernel/random/boot_id'),
  ignored('container-hints', string, '/etc/cadvisor/container_hints.json'),
  ignored('containerd', string, '/run/containerd/containerd.sock'),
  ignored('containerd-namespace', string, 'k8s.io'),
  ignored('enable-load-reader', plainBool, false),
  ignored('event-storage-age-limit', string, 'default=0'),
  ignored('event-storage-event-limit', string, 'default=0'),
  ignored('global-housekeeping-interval', plainDuration, nanosPerMinute),
  ignored('housekeeping-interval', plainDuration, 10 * nanosPerSecond, null),
  ignored('log-cadvisor-usage', plainBool, false),
  ignored('machine-id-file', string, '/etc/machine-id,/var/lib/dbus/machine-id'),
  ignored('max-housekeeping-interval', plainDuration, 15 * nanosPerSecond, null),
  ignored('storage-driver-buffer-duration', plainDuration, nanosPerMinute),
  ignored('storage-driver-db', string, 'cadvisor'),
  ignored('storage-driver-host', string, 'localhost:8086'),
  ignored('storage-driver-password', string, 'root'),
  ignored('storage-driver-secure', plainBool, false),
  ignored('storage-driver-table', string, 'stats'),
  ignored('storage-driver-user', string, 'root'),
];

/** The flag type of a setting, by the name of its kind. */
const typesByKind: Readonly<Record<string, FlagType>> = {
  string,
  bool,
  int32,
  duration,
  int64: flagTypes.int64,
  quantity: flagTypes.quantity,
  '[]string': flagTypes.stringSlice,
  'map[string]string': flagTypes.mapStringString,
  'map[string]bool': flagTypes.mapStringBool,
  'map[string][]string': flagTypes.multimap,
  '[]VModuleItem': flagTypes.vmodule,
  '[]Taint': taintsFlag,
  '[]MemoryReservation': reservedMemoryFlag,
};
const typesByNote = { ip: flagTypes.ip, langle: flagTypes.langle, 'one-pair': flagTypes.onePair, level: flagTypes.level } as const;

function flagOfSetting({ path, setting }: SettingRow): Flag[] {
  const { flag, kind, doc } = setting;
  if (flag === null) return [];
  const fallback = valueAt(flagBaseline, path);
  const isFlexible = typeof fallback === 'object' && fallback !== null && 'nanos' in fallback;
  const type = flag.type !== undefined ? typesByNote[flag.type] : isFlexible ? flagTypes.flexibleDuration : (typesByKind[kind.name] as FlagType);
  const deprecation = flag.deprecated === false ? null : setInFile;
  return [{ name: flag.name, shorthand: flag.shorthand ?? null, type, fallback, purpose: { kind: 'setting', path }, deprecation, doc }];
}

/** All flags by name, ascending. */
export const flagTable: readonly Flag[] = [...options, ...statistics, ...settingRows.flatMap(flagOfSetting)].sort((a, b) => (a.name < b.name ? -1 : 1));
