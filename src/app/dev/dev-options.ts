// The command line of `kubelet-ctl dev`.

export interface DevOptions {
  /** null: an embedded mock runtime. */
  readonly runtime: string | null;
  /** null: a copy of the examples. */
  readonly manifests: string | null;
  readonly takeOver: boolean;
  readonly cgroups: boolean;
  /** Without an apiserver. */
  readonly standalone: boolean;
  readonly verbose: boolean;
}

export const devUsage = `usage: kubelet-ctl dev [--runtime unix:///path] [--manifests DIR] [--standalone] [--take-over] [--cgroups] [--verbose]

Runs a kubelet with a few example pods and shows what becomes of them, until Ctrl-C. Without options it needs no root, no container runtime
and no cluster: mock ones are built in, and kubectl works with the KUBECONFIG that is printed.

  --runtime unix:///path  a real container runtime in place of the mock one (containerd: unix:///run/containerd/containerd.sock);
                          on Ctrl-C what was started in it is stopped and removed
  --take-over             also where the runtime holds pods of others: they are STOPPED
  --cgroups               give pods cgroups of their own (needs root)
  --manifests DIR         run the pods of these manifests in place of the examples; edit, add and remove files while it runs
  --standalone            without an apiserver: the pods of the manifests alone
  --verbose               the whole log, on standard error
`;

export type ParsedDevOptions = { readonly kind: 'options'; readonly options: DevOptions } | { readonly kind: 'help' } | { readonly kind: 'error'; readonly message: string };

export function parseDevOptions(words: readonly string[]): ParsedDevOptions {
  const given = new Map<string, string>();
  const rest = words.toReversed();
  for (let word = rest.pop(); word !== undefined; word = rest.pop()) {
    const [name = '', ...values] = word.split('=');
    if (name === '--help' || name === '-h') return { kind: 'help' };
    const takesValue = name === '--runtime' || name === '--manifests';
    if (!takesValue && !['--take-over', '--cgroups', '--standalone', '--verbose'].includes(name)) return { kind: 'error', message: `unknown option ${word}` };
    if (!takesValue && values.length > 0) return { kind: 'error', message: `${name} takes no value` };
    const value = !takesValue ? '' : values.length > 0 ? values.join('=') : rest.pop();
    if (takesValue && (value === undefined || value === '')) return { kind: 'error', message: `${name} needs a value` };
    given.set(name, value ?? '');
  }
  const runtime = given.get('--runtime') ?? null;
  if (given.has('--take-over') && runtime === null) return { kind: 'error', message: '--take-over is for a runtime of yours: say --runtime' };
  if (given.has('--cgroups') && process.geteuid?.() !== 0) return { kind: 'error', message: '--cgroups needs root' };
  return {
    kind: 'options',
    options: {
      runtime,
      manifests: given.get('--manifests') ?? null,
      takeOver: given.has('--take-over'),
      cgroups: given.has('--cgroups'),
      standalone: given.has('--standalone'),
      verbose: given.has('--verbose'),
    },
  };
}
