// A turn that notes the first output of a part that settles a second time. Nothing of it is carried out.
import type { Instant } from '../../ports/instant.js';
import type { Micros } from '../../ports/micros.js';
import type { AgentOperations } from '../../ports/outbound/outbound-ports.js';
import type { Address, LogLevel, Turn } from '../kernel/machine.js';

export class SettledTurn implements Turn<AgentOperations> {
  /** null: none. */
  output: string | null = null;

  constructor(private readonly inner: Turn<AgentOperations>) {}

  get now(): Micros {
    return this.inner.now;
  }

  get wall(): Instant {
    return this.inner.wall;
  }

  ask(op: keyof AgentOperations, { machine, key }: Address, slot: string): void {
    this.output ??= `requests ${op} for ${machine}/${key}, ${slot}`;
  }

  emit(op: keyof AgentOperations): void {
    this.output ??= `sends ${op}`;
  }

  cancel({ machine, key }: Address, slot: string): void {
    if (this.inner.inFlight({ machine, key }, slot)) this.output ??= `cancels ${machine}/${key}, ${slot}`;
  }

  inFlight(address: Address, slot: string): boolean {
    return this.inner.inFlight(address, slot);
  }

  /** The same plan again is no work that was forgotten. */
  wakeAt(): void {}

  random(purpose: string, key: string): number {
    this.output ??= `draws ${purpose} ${key}`;
    return 0;
  }

  end({ machine, key }: Address): void {
    this.output ??= `ends ${machine}/${key}`;
  }

  log(_level: LogLevel, message: string): void {
    this.output ??= `logs ${message}`;
  }
}
