// Small files of the agent's own, as a model.
import type { StateFileOperations } from '../../ports/outbound/state-files.js';
import type { ModelOf } from './host-ports.js';
import type { SimHostState } from './host-state.js';
import { HostRefusal } from './refusal.js';

export class SimStateFiles implements ModelOf<StateFileOperations> {
  constructor(private readonly state: Pick<SimHostState, 'stateFiles'>) {}

  read({ name }: StateFileOperations['read']['request']): string | null {
    return this.state.stateFiles.get(checkedName(name)) ?? null;
  }

  write({ name, text }: StateFileOperations['write']['request']): null {
    this.state.stateFiles.set(checkedName(name), text);
    return null;
  }
}

/** A plain name, as the real directory takes. */
function checkedName(name: string): string {
  if (!/^[a-z][a-z0-9_]*$/.test(name)) throw new HostRefusal('invalid-argument', `${JSON.stringify(name)} is no name of a state file`);
  return name;
}
