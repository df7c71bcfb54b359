// Loaded before the agent's own program, as it was compiled (`node --import`): a step that asks for DEADLY_OPERATION about the pod DEADLY_POD (its
// name) fails as a programmer error does, while the file DEADLY_ARMED is there.
import { existsSync } from 'node:fs';
import { StepContext } from '../../src/domain/agent/step-context.js';

const { DEADLY_OPERATION = '', DEADLY_POD = '', DEADLY_ARMED = '' } = process.env;
type Turn = StepContext['turn'];

const begin = StepContext.prototype.begin;
StepContext.prototype.begin = function (this: StepContext, turn: Turn): void {
  const ask: Turn['ask'] = (op, address, slot, request, timeout) => {
    if (op === DEADLY_OPERATION && isDeadly(this, `${address.key} ${slot} ${text(request)}`)) throw new TypeError("Cannot read properties of null (reading 'length')");
    turn.ask(op, address, slot, request, timeout);
  };
  const member = (name: string | symbol): unknown => {
    const value = Reflect.get(turn, name, turn) as unknown;
    return typeof value === 'function' ? (value as (...given: unknown[]) => unknown).bind(turn) : value;
  };
  begin.call(this, new Proxy(turn, { get: (_turn, name) => (name === 'ask' ? ask : member(name)) }));
};

function isDeadly({ state }: StepContext, command: string): boolean {
  if (!existsSync(DEADLY_ARMED)) return false;
  for (const [uid, { metadata }] of state.pods.pods) if (metadata.name === DEADLY_POD && command.includes(uid)) return true;
  return false;
}

function text(request: unknown): string {
  return JSON.stringify(request, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value)) ?? '';
}
