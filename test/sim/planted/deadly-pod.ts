// A pod whose input ends the agent: a programmer error in the middle of a step, where the agent asks for something of that pod.
import { eventsAddress } from '../../../src/domain/events/event-recorder.js';
import type { Turn } from '../../../src/domain/kernel/machine.js';
import { type KubeletMachine, type KubeletOperations, type KubeletState, kubeletMachine } from '../../../src/sim/index.js';

export class PlantedError extends Error {}

export interface Deadly {
  /** What is fatal to be asked for; null: nothing is any more. */
  operation: string | null;
  /** Of which pod. */
  readonly uids: Set<string>;
  /** How often it still is; absent: always. */
  times?: number;
  struck: number;
}

export const isPlanted = (error: unknown): boolean => error instanceof PlantedError;

export function endsByPod(deadly: Deadly): (state: KubeletState) => KubeletMachine {
  return (state) => {
    const machine = kubeletMachine(state, true);
    return { step: (given, input, turn) => machine.step(given, input, withDeath(turn, deadly)) };
  };
}

function withDeath(turn: Turn<KubeletOperations>, deadly: Deadly): Turn<KubeletOperations> {
  if (deadly.operation === null || deadly.times === 0) return turn;
  const ask: Turn<KubeletOperations>['ask'] = (op, address, slot, request, timeout) => {
    // Events are written by a queue of the node, whose steps belong to no pod.
    if (op === deadly.operation && address.machine !== eventsAddress.machine && isOf(deadly.uids, `${address.key} ${slot} ${textOf(request)}`)) {
      deadly.struck++;
      if (deadly.times !== undefined) deadly.times--;
      throw new PlantedError(`planted: ${String(op)} of ${address.machine}/${address.key}`);
    }
    turn.ask(op, address, slot, request, timeout);
  };
  return new Proxy(turn, { get: (target, name) => (name === 'ask' ? ask : bound(target, name)) });
}

function bound(target: object, name: string | symbol): unknown {
  const member = Reflect.get(target, name, target) as unknown;
  return typeof member === 'function' ? (member as (...given: unknown[]) => unknown).bind(target) : member;
}

function textOf(request: unknown): string {
  return JSON.stringify(request, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value instanceof Map ? [...value] : value)) ?? '';
}

function isOf(uids: ReadonlySet<string>, text: string): boolean {
  for (const uid of uids) if (text.includes(uid)) return true;
  return false;
}
