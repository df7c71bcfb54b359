// Whether anything of a pod still runs.

interface Listed {
  readonly containers: readonly { readonly state: string }[];
  readonly sandboxes: readonly { readonly state: string }[];
}

/** A container runs, or a sandbox is ready. */
export function isAlive({ containers, sandboxes }: Listed): boolean {
  return containers.some(({ state }) => state === 'running') || sandboxes.some(({ state }) => state === 'ready');
}
