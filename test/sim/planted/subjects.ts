// Compares the pod that each command concerns with the pod of its step: a programmer error meanwhile would be attributed to the latter.
import type { Turn } from '../../../src/domain/kernel/machine.js';
import { type KubeletMachine, type KubeletOperations, type KubeletState, kubeletMachine } from '../../../src/sim/index.js';

type Named = (op: string, machine: string, subject: string | null, uid: string) => void;

/** @param other called for each command about one pod in the name of another, or of none */
export function watchingSubjects(other: Named): (state: KubeletState) => KubeletMachine {
  return (state) => {
    const machine = kubeletMachine(state);
    return { step: (given, input, turn) => machine.step(given, input, watched(turn, state, other)) };
  };
}

function watched(turn: Turn<KubeletOperations>, { agent }: KubeletState, other: Named): Turn<KubeletOperations> {
  const ask: Turn<KubeletOperations>['ask'] = (op, address, slot, request, timeout) => {
    const uid = onlyPodIn(`${address.key} ${slot} ${textOf(request)}`, knownUids(agent));
    if (uid !== null && agent.subject !== uid) other(String(op), address.machine, agent.subject, uid);
    turn.ask(op, address, slot, request, timeout);
  };
  return new Proxy(turn, {
    get(target, name) {
      if (name === 'ask') return ask;
      const member = Reflect.get(target, name, target) as unknown;
      return typeof member === 'function' ? (member as (...given: unknown[]) => unknown).bind(target) : member;
    },
  });
}

/** Also of pods that are in no source any more. */
function knownUids({ pods, workers, pleg, housekeeping, volumes }: KubeletState['agent']): Set<string> {
  return new Set([...pods.pods.keys(), ...workers.records.keys(), ...pleg.records.keys(), ...volumes.held.keys(), ...(housekeeping.directories ?? [])]);
}

function textOf(request: unknown): string {
  return JSON.stringify(request, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value instanceof Map ? [...value] : value)) ?? '';
}

/** null: none, or several. UIDs of swarms are short: only whole words count. */
function onlyPodIn(text: string, uids: Iterable<string>): string | null {
  const found = [...uids].filter((uid) => new RegExp(`(?<![\\w.-])${uid.replace(/[.]/g, '\\.')}(?![\\w.-])`).test(text));
  return found.length === 1 ? (found[0] as string) : null;
}
