// No two sandboxes at the same time have user namespaces that share a host id: processes of one pod would have rights over the other's.
// And a container's id mappings are always those of its sandbox.
import type { UserNamespaceOptions } from '../../ports/model/sandbox-config.js';
import type { Checker } from './checker.js';

export const namespacesAreDisjoint: Checker<null> = {
  name: 'namespaces-are-disjoint',
  fresh: () => null,
  look(_memory, what, { runtime }, report) {
    if (what.kind !== 'command') return;
    const { command } = what;
    if (command.op === 'sandboxes.run') {
      const { metadata, linux } = command.request.config;
      const options = linux?.securityContext?.namespaceOptions?.usernsOptions;
      if (options?.mode !== 'POD') return;
      for (const other of runtime.sandboxes.values()) {
        if (other.state !== 'ready' || other.config.metadata.uid === metadata.uid) continue;
        const theirs = other.config.linux?.securityContext?.namespaceOptions?.usernsOptions;
        if (theirs !== undefined && overlap(options, theirs)) report(`${metadata.uid} gets ids that ${other.config.metadata.uid} has: ${textOf(options)}`);
      }
      return;
    }
    if (command.op !== 'containers.create') return;
    const own = command.request.config.linux?.securityContext?.namespaceOptions?.usernsOptions;
    const sandbox = runtime.sandboxes.get(command.request.sandboxId)?.config.linux?.securityContext?.namespaceOptions?.usernsOptions;
    if (sandbox !== undefined && textOf(own) !== textOf(sandbox))
      report(`container ${command.request.config.metadata.name} gets ${textOf(own)}, its sandbox has ${textOf(sandbox)}`);
  },
};

function overlap(one: UserNamespaceOptions, other: UserNamespaceOptions): boolean {
  return (one.uids ?? []).some((a) => (other.uids ?? []).some((b) => a.hostId < b.hostId + b.length && b.hostId < a.hostId + a.length));
}

function textOf(options: UserNamespaceOptions | undefined): string {
  if (options?.mode !== 'POD') return "the node's";
  return (options.uids ?? []).map(({ hostId, length }) => `${hostId}+${length}`).join();
}
