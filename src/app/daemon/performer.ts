// Passes a command to its port: `port.operation` is a method of an adapter.
//
// An event waits until the event loop's turn ends. No caller waits for it, but it costs text, encryption and a write to a socket, and a step that emits
// one often commands the runtime, too: a container's start would be sent after the event of its creation.
// Invariant: events keep their order.

import type { OwnedPods } from '../../adapters/storage/index.js';
import type { KubeletOperations, KubeletPorts } from '../../domain/agent/kubelet.js';
import { podMadeBy } from '../../domain/agent-queries/made-pod.js';
import type { Command } from '../../domain/kernel/machine.js';
import type { Call } from '../../ports/operation.js';
import type { ApiClient } from '../../ports/outbound/apiserver.js';

type Method = (request: unknown, call: Call) => Promise<unknown>;

/** With `owned`, marks each pod as this agent's before its first command. */
export function performer(ports: KubeletPorts, owned: OwnedPods | null): (command: Command<KubeletOperations>, call: Call) => Promise<unknown> {
  const methods = new Map<string, Method>();
  const turns = new Turns();
  const methodOf = (op: string): Method => {
    const [port = '', operation = ''] = op.split('.');
    const adapter = (ports as unknown as Record<string, Record<string, Method>>)[port]!;
    const method: Method = (request, call) => adapter[operation]!(request, call);
    if (port !== 'apiWriter') return method;
    return (request, call) => (isEvent(request) ? turns.next().then(() => method(request, call)) : method(request, call));
  };
  return (command, call) => {
    let found = methods.get(command.op);
    if (found === undefined) {
      found = methodOf(command.op);
      methods.set(command.op, found);
    }
    const method = found;
    const uid = owned === null ? null : podMadeBy(command);
    const marked = uid === null ? null : (owned?.mark(uid) ?? null);
    return marked === null ? method(command.request, call) : marked.then(() => method(command.request, call));
  };
}

function isEvent(request: unknown): boolean {
  return (request as { readonly client: ApiClient }).client === 'events';
}

class Turns {
  private awaited: Promise<void> | null = null;

  /** At the end of the loop's turn; all callers within one turn share it. */
  next(): Promise<void> {
    this.awaited ??= new Promise((resolve) => {
      setImmediate(() => {
        this.awaited = null;
        resolve();
      });
    });
    return this.awaited;
  }
}
