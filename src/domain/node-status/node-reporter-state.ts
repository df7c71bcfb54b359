// The node's registration and reports as data.
import type { Micros } from '../../ports/micros.js';
import type { Node } from '../../ports/model/node.js';
import type { RuntimeImage } from '../../ports/outbound/container-runtime.js';
import type { AddressReading, MachineReading } from '../../ports/outbound/machine.js';
import type { NodeEvent } from './node-event.js';
import type { NodeSettings } from './node-settings.js';
import { type NodeStatusMemory, newNodeStatusMemory } from './node-status.js';
import { newStatusReport, type StatusReport } from './status-report.js';

/** The current activity; see the table of node-reporter. */
export type ReporterPhase = 'resting' | 'looking' | 'holding-registration' | 'registering' | 'reading' | 'patching' | 'pausing';

export interface NodeReporter {
  readonly settings: NodeSettings;
  phase: ReporterPhase;
  /** null: not read yet. */
  machine: MachineReading | null;
  addresses: AddressReading | null;
  images: readonly RuntimeImage[];
  imagesListedAt: Micros | null;
  registered: boolean;
  /** Attempts of the current registration. */
  registrationTries: number;
  /** The Node as some answer had it last: newer than the watched copy for a while after each write. */
  answered: Node | null;
  /** The input and the result of the current report or registration. */
  base: Node | null;
  made: Node | null;
  readonly report: StatusReport;
  readonly memory: NodeStatusMemory;
  /** Events to record after the status that causes them has been written. */
  pendingEvents: NodeEvent[];
  /** The pod CIDR that the runtime has. */
  podCidr: string;
  /** The one that was sent last. */
  sentPodCidr: string;
  /** At the start of the last cycle. */
  shuttingDown: boolean;
  startedAt: Micros;
  /** From the start until the node was first reported ready, or two minutes: readiness is reported at once. */
  starting: boolean;
}

export function newNodeReporter(settings: NodeSettings): NodeReporter {
  return {
    settings,
    phase: 'resting',
    machine: null,
    addresses: null,
    images: [],
    imagesListedAt: null,
    registered: false,
    registrationTries: 0,
    answered: null,
    base: null,
    made: null,
    report: newStatusReport(settings.reportFrequency),
    memory: newNodeStatusMemory(),
    pendingEvents: [],
    podCidr: '',
    sentPodCidr: '',
    shuttingDown: false,
    startedAt: 0,
    starting: true,
  };
}
