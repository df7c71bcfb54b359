// Hands a command to its port: `port.operation` is a method of an adapter.
import type { KubeletOperations, KubeletPorts } from '../../domain/agent/kubelet.js';
import type { Command } from '../../domain/kernel/machine.js';
import type { Call } from '../../ports/operation.js';
import type { OwnedPods } from './owned-pods.js';

type Method = (request: unknown, call: Call) => Promise<unknown>;

/** With `owned`, each pod is marked as this agent's before anything of it is made. */
export function performer(ports: KubeletPorts, owned: OwnedPods | null): (command: Command<KubeletOperations>, call: Call) => Promise<unknown> {
  const methods = new Map<string, Method>();
  const methodOf = (op: string): Method => {
    const [port = '', operation = ''] = op.split('.');
    const adapter = (ports as unknown as Record<string, Record<string, Method>>)[port]!;
    return (request, call) => adapter[operation]!(request, call);
  };
  return (command, call) => {
    let found = methods.get(command.op);
    if (found === undefined) {
      found = methodOf(command.op);
      methods.set(command.op, found);
    }
    const method = found;
    const marked = owned?.note(command) ?? null;
    return marked === null ? method(command.request, call) : marked.then(() => method(command.request, call));
  };
}
