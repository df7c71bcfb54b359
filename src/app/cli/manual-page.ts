// kubelet(8): the manual page, made from the same table as everything else about settings and flags.
// Invariant: the same table gives the same text; the page has no date of its own.
import { flagTable, setInFile } from '../../domain/configuration/flag-table.js';
import { type SettingRow, settingRows } from '../../domain/configuration/schema.js';
import { kubernetesVersion } from '../../domain/configuration/version-flag.js';
import { defaultText, gateLines, shownType } from './help-text.js';

const sections: readonly (readonly [string, string])[] = [
  ['NAME', 'kubelet-ts \\- the node agent of Kubernetes'],
  ['SYNOPSIS', '.B kubelet-ts\n[\\fIflags\\fR]'],
  [
    'DESCRIPTION',
    paragraphs(
      'Runs the pods that the apiserver binds to this node, and those of static manifests, through a container runtime (CRI), and reports how they and the node are.',
      'Settings come from flags, from drop-in files, from the configuration file and from defaults, in this order: what comes earlier wins. ' +
        'A flag replaces its setting as a whole, except that feature gates are merged.',
      'In names of flags _ and - are the same. Booleans take a value only after =. Lists repeat or use commas.',
    ),
  ],
];

const after: readonly (readonly [string, string])[] = [
  [
    'EXIT STATUS',
    definitions([
      ['0', 'Ended by SIGTERM or SIGINT; pods keep running. Also when another process wanted the lock file and --exit-on-lock-contention is set.'],
      ['1', 'A flag or a setting was refused, or the agent could not start or continue. The last line on standard error says why.'],
    ]),
  ],
  [
    'FILES',
    definitions([
      ['/var/lib/kubelet/config.yaml', 'The configuration file where kubeadm set up the node.'],
      ['/var/lib/kubelet', 'State of the agent, see --root-dir.'],
      ['/var/log/pods', 'Logs of pods.'],
    ]),
  ],
  ['SEE ALSO', '.BR kubelet\\-ctl (1)'],
];

export function manualPage(): string {
  const comment = '.\\" Made by scripts/man.mjs from the table of settings; do not edit.';
  const header = `${comment}\n.TH KUBELET 8 "" "kubelet\\-ts (Kubernetes ${roff(kubernetesVersion)})" "System Administration"`;
  const options = definitions(
    flagTable.map((flag) => [flagName(flag.name, flag.shorthand, shownType(flag), flag.type.bare), flagText(flag.doc, defaultText(flag), flag.deprecation)]),
  );
  const gates = `${paragraphs('Gates that can be switched, with their stage and default:')}\n.PP\n.nf\n${gateLines().map(roff).join('\n')}\n.fi`;
  const all = [...sections, ['OPTIONS', options], ['CONFIGURATION FILE', settings()], ['FEATURE GATES', gates], ...after] as const;
  return `${header}\n${all.map(([title, body]) => `.SH ${title.includes(' ') ? `"${title}"` : title}\n${body}`).join('\n')}\n`;
}

function flagName(name: string, shorthand: string | null, type: string, bare: string | null): string {
  const short = shorthand === null ? '' : `-${shorthand}, `;
  return bare === null ? `${short}--${name} ${type}` : `${short}--${name}`;
}

function flagText(doc: string, fallback: string, deprecation: string | null): string {
  if (deprecation === null) return `${doc}${fallback}`;
  return `${doc}${fallback} ${deprecation === setInFile ? 'Deprecated in favour of the configuration file.' : `Deprecated: ${deprecation}`}`;
}

function settings(): string {
  const introduction = paragraphs(
    'YAML or JSON with apiVersion kubelet.config.k8s.io/v1beta1 and kind KubeletConfiguration. Fields that do not exist are reported and ignored. ' +
      'Files *.conf below --config-dir are merged into it in lexical order: maps key by key, everything else as a whole; null removes.',
  );
  return `${introduction}\n${definitions(settingRows.map((row) => [row.path.join('.'), settingText(row)]))}`;
}

function settingText({ setting }: SettingRow): string {
  const notes = [setting.kind.name];
  const { fallback } = setting;
  const isPlain = typeof fallback === 'number' || typeof fallback === 'string' || typeof fallback === 'boolean';
  if (isPlain && fallback !== '' && fallback !== false && fallback !== 0) notes.push(`default ${setting.kind.show(fallback)}`);
  if (setting.flag !== null) notes.push(`flag --${setting.flag.name}`);
  notes.push(`since ${setting.since}`);
  return `${setting.doc} (${notes.join(', ')})`;
}

function definitions(entries: readonly (readonly [string, string])[]): string {
  return entries.map(([term, text]) => `.TP\n\\fB${roff(term)}\\fR\n${roff(text)}`).join('\n');
}

function paragraphs(...texts: readonly string[]): string {
  return texts.map((text) => `.PP\n${roff(text)}`).join('\n');
}

/** Escapes text for roff. */
function roff(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll(/^([.'])/gm, '\\&$1');
}
