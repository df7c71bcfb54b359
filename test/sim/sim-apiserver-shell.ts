// The simulated apiserver behind asynchronous ports, on virtual time: what comes later is waited for by moving the clock.
import type { Micros } from '../../src/ports/micros.js';
import type { Call } from '../../src/ports/operation.js';
import type { ApiWatchEvent } from '../../src/ports/outbound/apiserver.js';
import { type Outcome, PortError } from '../../src/ports/port-error.js';
import { type ApiClientOutside, type ApiserverOperations, type ApiUser, SimApiClient, SimApiserver } from '../../src/sim/index.js';
import type { ApiserverUnderTest } from '../ports/apiserver.contract.js';

type Op = keyof ApiserverOperations;
type AnyCommand = Parameters<SimApiClient['perform']>[0];

export const master: ApiUser = { name: 'admin', groups: ['system:masters', 'system:authenticated'] };

export class SimApiserverShell {
  now: Micros = 1_700_000_000_000_000;
  readonly client: SimApiClient;
  private readonly waiting = new Map<number, (outcome: Outcome<unknown>) => void>();
  private readonly events = new Map<string, ApiWatchEvent[]>();
  private ids = 0;

  constructor(
    readonly server: SimApiserver = new SimApiserver({}, 1_700_000_000_000_000),
    user: ApiUser = master,
  ) {
    this.client = new SimApiClient(server, { name: user.name, user }, () => {});
  }

  underTest(): ApiserverUnderTest {
    const op =
      <Name extends Op>(name: Name) =>
      (request: ApiserverOperations[Name]['request'], call: Call) =>
        this.perform(name, request, call) as Promise<ApiserverOperations[Name]['reply']>;
    return {
      reader: { list: op('apiReader.list'), get: op('apiReader.get'), watch: op('apiReader.watch') },
      writer: { create: op('apiWriter.create'), update: op('apiWriter.update'), patch: op('apiWriter.patch'), delete: op('apiWriter.delete') },
      seen: (watch) => this.events.get(watch) ?? [],
      until: (holds) => this.until(holds),
      cutWatches: () => {
        this.server.watches.cut(() => true);
        this.advance();
      },
      compact: () => this.server.store.compact(),
    };
  }

  /** Lets happen by itself what is due. */
  advance(): void {
    this.server.advance(this.now);
    this.client.advance(this.outside());
  }

  private async until(holds: () => boolean): Promise<void> {
    for (let i = 0; !holds(); i++) {
      if (i > 100) throw new Error('nothing will happen any more');
      const next = Math.min(this.client.nextAt() ?? Number.POSITIVE_INFINITY, this.server.nextAt() ?? Number.POSITIVE_INFINITY);
      this.now = Math.max(this.now, next);
      this.advance();
    }
  }

  private perform(op: Op, request: unknown, { signal }: Call): Promise<unknown> {
    const id = ++this.ids;
    const command = { id, op, address: { machine: 'test', key: '' }, slot: '', request, timeoutMicros: null, answered: true } as AnyCommand;
    return new Promise((resolve, reject) => {
      let isAnswered = false;
      this.waiting.set(id, (outcome) => {
        isAnswered = true;
        if (outcome.ok) resolve(outcome.value);
        else reject(new PortError(outcome.error));
      });
      signal.addEventListener('abort', () => this.client.cancel(command, this.outside()));
      this.now += 1_000;
      this.client.perform(command, this.outside());
      // A watch that ends by itself is waited for by moving the clock once nothing else is to be done.
      if (!isAnswered && (request as { timeoutSeconds?: number }).timeoutSeconds === 1) void this.until(() => isAnswered);
    });
  }

  private outside(): ApiClientOutside {
    return {
      now: this.now,
      reply: (command, after, outcome) => {
        this.now += after;
        this.waiting.get(command.id)?.(outcome);
        this.waiting.delete(command.id);
      },
      event: (_after, { watch, events }) => {
        const seen = this.events.get(watch);
        if (seen === undefined) this.events.set(watch, [...events]);
        else seen.push(...events);
      },
    };
  }
}
