// Files of image pulls, and the node's sources of credentials, as a model.
import { byCodeUnits } from '../../domain/values/text-order.js';
import type { Micros } from '../../ports/micros.js';
import type { PullRecordFile, PullRecordOperations } from '../../ports/outbound/pull-records.js';
import type { RegistryCredentialOperations } from '../../ports/outbound/registry-credentials.js';
import type { SimHostState } from './host-state.js';
import { checkName, HostRefusal } from './refusal.js';

/** How long it takes to find that a program isn't there. */
const noProgram: Micros = 1_000;

export class SimImageFiles {
  constructor(private readonly state: SimHostState) {}

  list({ kind }: PullRecordOperations['list']['request']): readonly PullRecordFile[] {
    return [...this.state.pullRecords[kind]].map(([name, text]) => ({ name, text })).sort((a, b) => byCodeUnits(a.name, b.name));
  }

  read({ kind, name }: PullRecordOperations['read']['request']): string | null {
    return this.state.pullRecords[kind].get(checkName(name)) ?? null;
  }

  write({ kind, name, text }: PullRecordOperations['write']['request']): null {
    this.state.pullRecords[kind].set(checkName(name), text);
    return null;
  }

  remove({ kind, name }: PullRecordOperations['remove']['request']): null {
    this.state.pullRecords[kind].delete(checkName(name));
    return null;
  }

  pluginTakes({ name }: RegistryCredentialOperations['runPlugin']['request']): Micros {
    return this.state.credentialPlugins.get(name)?.takes ?? noProgram;
  }

  runPlugin({ name, stdin }: RegistryCredentialOperations['runPlugin']['request']): { readonly stdout: string } {
    const plugin = this.state.credentialPlugins.get(checkName(name));
    if (plugin === undefined) throw new HostRefusal('not-found', `plugin binary executable ${name} did not exist`);
    plugin.asked?.push(stdin);
    if (plugin.failure !== null) throw new HostRefusal('unknown', plugin.failure);
    return { stdout: plugin.stdout };
  }
}
