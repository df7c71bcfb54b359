// --node-labels: which labels a node may give itself.
// Invariant: in the namespaces of Kubernetes only those that no scheduling decision trusts, as NodeRestriction enforces too.
import { labelValueProblems, qualifiedNameProblems } from '../values/dns-names.js';
import { goList } from '../values/go-text.js';

const ownNamespaces: readonly string[] = ['kubelet.kubernetes.io', 'node.kubernetes.io'];
const ownLabels: readonly string[] = [
  'beta.kubernetes.io/arch',
  'beta.kubernetes.io/instance-type',
  'beta.kubernetes.io/os',
  'failure-domain.beta.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'kubernetes.io/arch',
  'kubernetes.io/hostname',
  'kubernetes.io/os',
  'node.kubernetes.io/instance-type',
  'topology.kubernetes.io/region',
  'topology.kubernetes.io/zone',
];

/** null when all labels are fine; else the message. */
export function nodeLabelsProblem(labels: Readonly<Record<string, string>>): string | null {
  const keys = Object.keys(labels).sort();
  const unknown = keys.filter((key) => isKubernetesLabel(key) && !isOwnLabel(key));
  if (unknown.length > 0) {
    const allowed = `must begin with an allowed prefix (${ownNamespaces.join(', ')}) or be in the specifically allowed set (${ownLabels.join(', ')})`;
    return `unknown 'kubernetes.io' or 'k8s.io' labels specified with --node-labels: ${goList(unknown)}\n--node-labels in the 'kubernetes.io' namespace ${allowed}`;
  }
  const problems = new Map<string, readonly string[]>();
  const add = (subject: string, found: readonly string[]): void => {
    if (found.length > 0) problems.set(subject, [...(problems.get(subject) ?? []), ...found]);
  };
  for (const key of keys) {
    add(key, qualifiedNameProblems(key));
    add(labels[key] as string, labelValueProblems(labels[key] as string));
  }
  if (problems.size === 0) return null;
  return `invalid node labels: ${[...problems].map(([subject, found]) => `'${subject}' - ${found.join(', ')}`).join('; ')}`;
}

function namespaceOf(key: string): string {
  const at = key.indexOf('/');
  return at < 0 ? '' : key.slice(0, at);
}

/** Of the namespaces that are Kubernetes' own. */
export function isKubernetesLabel(key: string): boolean {
  return ['kubernetes.io', 'k8s.io'].some((domain) => isInDomain(namespaceOf(key), domain));
}

/** One of those that a node may set on itself. */
export function isOwnLabel(key: string): boolean {
  return ownLabels.includes(key) || ownNamespaces.some((namespace) => isInDomain(namespaceOf(key), namespace));
}

function isInDomain(name: string, domain: string): boolean {
  return name === domain || name.endsWith(`.${domain}`);
}
