// A host as a model: the agent's directories, logs, cgroups and events, answered synchronously from plain data.
//
// Invariants: a request takes effect at once, its answer comes after a latency; names and paths that the real adapters refuse are
// refused with the same kinds; the same seed and requests give the same answers.
import type { Micros } from '../../ports/micros.js';
import { type Answer, answered, refused } from '../runtime/answers.js';
import { hostModels } from './host-models.js';
import { hostSettings, type SimHostOptions, type SimHostSettings } from './host-options.js';
import type { HostModels, HostOperationName, HostOperations } from './host-ports.js';
import { emptyHostState, type SimHostState } from './host-state.js';
import { HostRefusal } from './refusal.js';
import type { SimCsi } from './sim-csi.js';
import type { DiskUsers } from './sim-disk.js';
import type { SimImageFiles } from './sim-image-files.js';
import type { SimRunningPod } from './sim-node-stats.js';

type AnyModel = Readonly<Record<string, (request: unknown, now: Micros) => unknown>>;

export class SimHost implements DiskUsers {
  readonly settings: SimHostSettings;
  readonly csi: SimCsi;
  /** What answers each port. */
  readonly models: ReturnType<typeof hostModels>['models'];
  imageBytes: () => number = () => 0;
  runningPods: () => readonly SimRunningPod[] = () => [];
  wallOffset: Micros = 0;
  private readonly imageFiles: SimImageFiles;

  /** Continues from `state` where one is given. */
  constructor(
    options: SimHostOptions,
    readonly state: SimHostState = emptyHostState(),
  ) {
    this.settings = hostSettings(options);
    const { csi, imageFiles, models } = hostModels(state, this.settings, this);
    this.csi = csi;
    this.imageFiles = imageFiles;
    this.models = models;
  }

  /** Whether an operation is of one of the host's ports. */
  knows(op: string): op is HostOperationName {
    return Object.hasOwn(this.models, op.slice(0, op.indexOf('.')));
  }

  handle<Name extends HostOperationName>(op: Name, request: HostOperations[Name]['request'], now: Micros): Answer<HostOperations[Name]['reply']> {
    const after = this.latencyOf(op, request);
    const dot = op.indexOf('.');
    const model = this.models[op.slice(0, dot) as keyof HostModels] as unknown as AnyModel;
    try {
      return answered(model[op.slice(dot + 1)]!(request, now) as HostOperations[Name]['reply'], after);
    } catch (error) {
      if (!(error instanceof HostRefusal)) throw error;
      return refused(error.kind, error.message, op, subjectOf(request), after);
    }
  }

  private latencyOf(op: HostOperationName, request: HostOperations[HostOperationName]['request']): Micros {
    if (op === 'registryCredentials.runPlugin') return this.imageFiles.pluginTakes(request as HostOperations['registryCredentials.runPlugin']['request']);
    return op.startsWith('podCgroups.') ? this.settings.latencies.cgroups : this.settings.latencies.files;
  }
}

/** The subject of the request: a uid, a path or a name. */
function subjectOf(request: HostOperations[HostOperationName]['request']): string {
  const fields = (request ?? {}) as { readonly [Name in 'uid' | 'path' | 'link' | 'podLogDirectory']?: string } & { readonly name?: string | readonly string[] };
  const name = fields.uid ?? fields.path ?? fields.link ?? fields.podLogDirectory ?? fields.name ?? '';
  return typeof name === 'string' ? name : `/${name.join('/')}`;
}
