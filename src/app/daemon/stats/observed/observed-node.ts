// How the node's start went on: registration, and when it was ready first. Only of a node that this process made.
import { ownNode } from '../../../../domain/agent/api-state.js';
import type { KubeletOperations } from '../../../../domain/agent/kubelet.js';
import type { Command, Reply } from '../../../../domain/kernel/machine.js';
import type { Micros } from '../../../../ports/micros.js';
import { type Begun, type ObservedPart, secondsBetween, type Watched } from './observed-part.js';

export interface NodeStartup {
  readonly preKubelet: number;
  readonly preRegistration: number;
  readonly registration: number;
  readonly postRegistration: number;
  readonly total: number;
}

export class ObservedNode implements ObservedPart {
  private triedAt: Micros | null = null;
  private registeredAt: Micros | null = null;
  private readyAt: Micros | null = null;

  constructor(private readonly watched: Watched) {}

  begun(now: Micros, command: Command<KubeletOperations>): void {
    if (isRegistration(command)) this.triedAt ??= now;
  }

  answered(now: Micros, begun: Begun | null, { outcome }: Reply<KubeletOperations>): void {
    if (begun !== null && outcome.ok && isRegistration(begun.command)) this.registeredAt ??= now;
  }

  stepped(now: Micros): void {
    if (this.registeredAt === null || this.readyAt !== null) return;
    const conditions = ownNode(this.watched.state.agent.api)?.status?.conditions ?? [];
    if (conditions.some(({ type, status }) => type === 'Ready' && status === 'True')) this.readyAt = now;
  }

  /** What has not happened is 0. */
  startup(bootedAt: Micros, startedAt: Micros): NodeStartup {
    const { triedAt, registeredAt, readyAt } = this;
    if (triedAt === null || registeredAt === null) return { preKubelet: 0, preRegistration: 0, registration: 0, postRegistration: 0, total: 0 };
    return {
      preKubelet: secondsBetween(bootedAt, startedAt),
      preRegistration: secondsBetween(startedAt, triedAt),
      registration: secondsBetween(triedAt, registeredAt),
      postRegistration: readyAt === null ? 0 : secondsBetween(registeredAt, readyAt),
      total: readyAt === null ? 0 : secondsBetween(bootedAt, readyAt),
    };
  }
}

function isRegistration({ op, request }: Command<KubeletOperations>): boolean {
  return op === 'apiWriter.create' && (request as { readonly resource: { readonly plural: string } }).resource.plural === 'nodes';
}
