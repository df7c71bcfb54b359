// The node's start: registration, and its first readiness. Only of a node that this process registered.

import type { Instant } from '../../ports/instant.js';
import type { Micros } from '../../ports/micros.js';
import type { KubeletOperations } from '../agent/kubelet.js';
import { ownNode } from '../agent/reflectors/api-state.js';
import type { Command, Reply } from '../kernel/machine.js';
import { epochMicros } from '../values/instant.js';
import { type Begun, type ObservedPart, secondsBetween, type Watched } from './observed-part.js';

export interface NodeStartup {
  readonly preKubelet: number;
  readonly preRegistration: number;
  readonly registration: number;
  readonly postRegistration: number;
  readonly total: number;
}

export class ObservedNode implements ObservedPart {
  /** By the wall clock, like the boot time. */
  private triedAt: Micros | null = null;
  private registeredAt: Micros | null = null;
  private readyAt: Micros | null = null;

  constructor(private readonly watched: Watched) {}

  begun(_now: Micros, command: Command<KubeletOperations>, wall: Instant): void {
    if (isRegistration(command)) this.triedAt ??= epochMicros(wall);
  }

  answered(now: Micros, begun: Begun | null, { outcome }: Reply<KubeletOperations>): void {
    if (begun !== null && this.triedAt !== null && outcome.ok && isRegistration(begun.command)) this.registeredAt ??= this.triedAt + now - begun.at;
  }

  stepped(_now: Micros, wall: Instant): void {
    if (this.registeredAt === null || this.readyAt !== null) return;
    const conditions = ownNode(this.watched.state.agent.api)?.status?.conditions ?? [];
    if (conditions.some(({ type, status }) => type === 'Ready' && status === 'True')) this.readyAt = epochMicros(wall);
  }

  /** 0 for steps that have not happened. */
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
