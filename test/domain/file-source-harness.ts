// Runs a file source on its own: commands are answered by a port (scripted or real), time moves when the test says so.

import { Kernel, type Output } from '../../src/domain/kernel/kernel.js';
import type { Reply } from '../../src/domain/kernel/machine.js';
import type { FileSourceSettings } from '../../src/domain/pod-sources/file-source.js';
import { newStaticPods, type StaticPodsEvent, type StaticPodsState, staticPodsMachine } from '../../src/domain/pod-sources/static-pods.js';
import { instantOf } from '../../src/domain/values/instant.js';
import type { Pod } from '../../src/ports/model/pod.js';
import type { Call, PortOf } from '../../src/ports/operation.js';
import type { FileWatchEvent } from '../../src/ports/outbound/file-watch.js';
import type { ManifestDirectoryOperations, ManifestOperations } from '../../src/ports/outbound/manifests.js';
import { PortError } from '../../src/ports/port-error.js';

const call: Call = { signal: { aborted: false, reason: undefined, addEventListener: () => {}, removeEventListener: () => {} }, timeoutMicros: null };
/** A test that needs more commands than this loops. */
const maxCommands = 500;

export class FileSourceRun {
  readonly sets: (readonly Pod[])[] = [];
  readonly log: string[] = [];
  /** Commands in the order they were asked, `watch`, `list` or `readFile name`. */
  readonly asked: string[] = [];
  now = 1_000_000_000_000;
  private readonly kernel: Kernel<StaticPodsState, StaticPodsEvent, ManifestOperations>;

  constructor(
    settings: Partial<FileSourceSettings> & { readonly path: string },
    private readonly port: PortOf<ManifestDirectoryOperations>,
  ) {
    const state = newStaticPods({ nodeName: 'node-a', preventApiReferences: true, checkPeriod: 20_000_000, ...settings }, null);
    const machine = staticPodsMachine((set) => this.sets.push(set.pods));
    this.kernel = new Kernel(machine, state, 1);
  }

  start(): Promise<this> {
    return this.feed({ type: 'start' });
  }

  saw(...events: readonly FileWatchEvent[]): Promise<this> {
    return this.feed({ type: 'manifests-changed', events });
  }

  /** Lets time pass, with every wake-up on the way. */
  async pass(seconds: number): Promise<this> {
    const end = this.now + seconds * 1_000_000;
    for (let next = this.kernel.nextWakeAt(); next !== null && next <= end; next = this.kernel.nextWakeAt()) {
      this.now = Math.max(this.now, next);
      const output = this.kernel.wake(this.now, instantOf(this.now));
      if (output !== null) await this.perform(output);
    }
    this.now = end;
    return this;
  }

  /** Names in the last SET, sorted; null before the first one. */
  get names(): readonly string[] | null {
    const last = this.sets.at(-1);
    return last === undefined ? null : last.map((pod) => pod.metadata.name).sort();
  }

  private async feed(input: StaticPodsEvent): Promise<this> {
    await this.perform(this.kernel.deliver(input, this.now, instantOf(this.now)));
    return this;
  }

  private async perform(first: Output<ManifestOperations>): Promise<void> {
    const outputs = [first];
    for (let output = outputs.shift(), count = 0; output !== undefined; output = outputs.shift(), count++) {
      if (count > maxCommands) throw new Error(`more than ${maxCommands} commands: ${this.asked.slice(-5).join(', ')}`);
      for (const line of output.log) this.log.push(`${line.level} ${line.message}${line.fields.err === undefined ? '' : `: ${line.fields.err}`}`);
      for (const command of output.commands) {
        const name = command.op.split('.')[1] as keyof ManifestDirectoryOperations;
        this.asked.push(name === 'readFile' ? `readFile ${String((command.request as { path: string }).path.split('/').at(-1))}` : name);
        const outcome = await this.answer(name, command.request as { path: string });
        const { id, op, address, slot } = command;
        outputs.push(this.kernel.deliver({ type: 'reply', id, op, address, slot, outcome } as Reply<ManifestOperations>, this.now, instantOf(this.now)));
      }
    }
  }

  private async answer(name: keyof ManifestDirectoryOperations, request: { readonly path: string }): Promise<unknown> {
    try {
      return { ok: true, value: await this.port[name](request, call) };
    } catch (error) {
      if (error instanceof PortError) return { ok: false, error: error.toFailure() };
      throw error;
    }
  }
}
