// Wraps the project's agent so that one thing goes wrong: what it reads, what it asks for, or what it remembers.
import type { Command, Reply, Turn } from '../../../src/domain/kernel/machine.js';
import { type KubeletMachine, type KubeletOperations, type KubeletState, kubeletMachine } from '../../../src/sim/index.js';

type Input = Parameters<KubeletMachine['step']>[1];

export interface Plant {
  /** Changes what the agent is given. */
  readonly input?: (input: Input, state: KubeletState) => Input;
  /** After each step: may change the state, and ask for more at an address of its own. */
  readonly after?: (state: KubeletState, turn: Turn<KubeletOperations>, input: Input) => void;
}

/** Answers to what the plant itself asked for are kept from the agent. */
export const plantAddress = { machine: 'plant', key: '' } as const;

export function planted({ input: change = (input) => input, after = () => {} }: Plant): (state: KubeletState) => KubeletMachine {
  return (state) => {
    const machine = kubeletMachine(state);
    return {
      step(given, input, turn): void {
        if (input.type !== 'reply' || input.address.machine !== plantAddress.machine) machine.step(given, change(input, state), turn);
        after(state, turn, input);
      },
    };
  };
}

export function isReplyTo<Name extends keyof KubeletOperations>(input: Input, op: Name): input is Extract<Reply<KubeletOperations>, { op: Name }> {
  return input.type === 'reply' && input.op === op;
}

export type AnyCommand = Command<KubeletOperations>;
