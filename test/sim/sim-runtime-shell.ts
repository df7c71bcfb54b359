// The simulated runtime behind asynchronous ports, on virtual time: waiting for a later answer advances the clock.
import type { Micros } from '../../src/ports/micros.js';
import type { Call } from '../../src/ports/operation.js';
import { PortError } from '../../src/ports/port-error.js';
import type { RuntimeOperationName, RuntimeOperations, SimContainerRuntime } from '../../src/sim/index.js';
import type { RuntimePortsUnderTest } from '../ports/container-runtime.contract.js';

export class SimRuntimeShell {
  now: Micros = 1_700_000_000_000_000;

  constructor(readonly model: SimContainerRuntime) {}

  ports(): RuntimePortsUnderTest {
    const op =
      <Name extends RuntimeOperationName>(name: Name) =>
      (request: RuntimeOperations[Name]['request'], call: Call) =>
        this.perform(name, request, call);
    return {
      runtime: {
        version: op('runtime.version'),
        status: op('runtime.status'),
        updateConfig: op('runtime.updateConfig'),
        listPods: op('runtime.listPods'),
        inspectPod: op('runtime.inspectPod'),
      },
      sandboxes: { run: op('sandboxes.run'), stop: op('sandboxes.stop'), remove: op('sandboxes.remove'), updateResources: op('sandboxes.updateResources') },
      containers: {
        create: op('containers.create'),
        start: op('containers.start'),
        stop: op('containers.stop'),
        remove: op('containers.remove'),
        updateResources: op('containers.updateResources'),
        execSync: op('containers.execSync'),
        reopenLog: op('containers.reopenLog'),
        checkpoint: op('containers.checkpoint'),
      },
      images: { status: op('images.status'), pull: op('images.pull'), list: op('images.list'), remove: op('images.remove'), fsInfo: op('images.fsInfo') },
    };
  }

  /** Runs the next events until the condition holds. */
  async until(holds: () => Promise<boolean>): Promise<void> {
    while (!(await holds())) {
      const next = this.model.nextAt();
      if (next === null) throw new Error('nothing will happen any more');
      this.now = Math.max(this.now, next);
      this.model.advance(this.now);
    }
  }

  private async perform<Name extends RuntimeOperationName>(operation: Name, request: RuntimeOperations[Name]['request'], call: Call): Promise<RuntimeOperations[Name]['reply']> {
    if (call.signal.aborted) throw new PortError({ kind: 'cancelled', message: 'context canceled', operation, subject: '' });
    const { after, outcome } = this.model.handle(operation, request, this.now);
    this.now += after;
    this.model.advance(this.now);
    if (outcome.ok) return outcome.value;
    throw new PortError(outcome.error);
  }
}
