// Fixed settings of a node in a cluster, in the domain's units.
import type { Micros } from '../../ports/micros.js';
import type { ReservationFacts } from '../cgroups/node-allocatable.js';
import type { RegistrationFacts } from './registration.js';
import { effectiveReportFrequency } from './status-report.js';

export interface NodeSettings extends RegistrationFacts {
  /** Whether a missing Node is created; else it is waited for. */
  readonly registerNode: boolean;
  /** From the configuration: none, one, or one of each family. */
  readonly nodeIps: readonly string[];
  readonly kubeletPort: number;
  readonly kubeletVersion: string;
  readonly maxPods: number;
  /** 0: no limit by cores. */
  readonly podsPerCore: number;
  readonly reservation: ReservationFacts;
  readonly localStorageCapacityIsolation: boolean;
  /** -1: all. */
  readonly nodeStatusMaxImages: number;
  readonly updateFrequency: Micros;
  readonly reportFrequency: Micros;
  readonly leaseDurationSeconds: number;
  /** Pod features of this agent, as schedulers expect them. */
  readonly declaredFeatures: readonly string[];
}

const second: Micros = 1_000_000;

/** A plain node with that name: the defaults of flags and configuration. */
export function nodeSettings(nodeName: string, given: Partial<NodeSettings> = {}): NodeSettings {
  return {
    nodeName,
    hostname: nodeName,
    architecture: 'amd64',
    nodeLabels: {},
    registerWithTaints: [],
    externalCloudProvider: false,
    enableControllerAttachDetach: true,
    providerId: '',
    registerNode: true,
    nodeIps: [],
    kubeletPort: 10250,
    kubeletVersion: 'v1.36.0',
    maxPods: 110,
    podsPerCore: 0,
    reservation: { kubeReserved: null, systemReserved: null, hardEviction: new Map() },
    localStorageCapacityIsolation: true,
    nodeStatusMaxImages: 50,
    updateFrequency: 10 * second,
    reportFrequency: effectiveReportFrequency(null, null),
    leaseDurationSeconds: 40,
    declaredFeatures: [],
    ...given,
  };
}
