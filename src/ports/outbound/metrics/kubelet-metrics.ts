// Where the kubelet's own metrics are recorded. The domain derives them from the agent's steps; an adapter keeps and writes them.
import type { Micros } from '../../micros.js';
import type { CounterName, HistogramName, LabelsOf, Reading } from './family-kinds.js';
import type { KubeletFamilies } from './kubelet-families.js';

/** A value that is read at a scrape. */
export type KubeletReading = Reading<KubeletFamilies>;

export interface ProbeLabels {
  readonly probe_type: string;
  readonly container: string;
  readonly pod: string;
  readonly namespace: string;
}

export type ProbeResult = 'successful' | 'failed' | 'unknown';

export interface MetricsRecorder {
  /** @param by 1 when left out */
  count<Name extends CounterName<KubeletFamilies>>(name: Name, labels: LabelsOf<KubeletFamilies, Name>, by?: number): void;
  observe<Name extends HistogramName<KubeletFamilies>>(name: Name, labels: LabelsOf<KubeletFamilies, Name>, value: number): void;
  probed(of: ProbeLabels, podUid: string, result: ProbeResult, tookSeconds: number): void;
  /** Drops the series of a container's removed probe. */
  forgetProbe(of: ProbeLabels, podUid: string): void;
}

/** A call to the runtime that has ended. */
export interface CriCallObservation {
  /** The kubelet's name of the operation in its metrics, such as `run_podsandbox`. */
  readonly operationType: string;
  readonly durationMicros: Micros;
  readonly failed: boolean;
  /** It failed because the runtime has no such operation. */
  readonly isUnimplemented: boolean;
}

/** A request to the pod resources API that was answered. */
export interface PodResourcesCall {
  readonly method: 'list' | 'get' | 'get_allocatable';
  readonly version: 'v1' | 'v1alpha1';
  readonly failed: boolean;
}
