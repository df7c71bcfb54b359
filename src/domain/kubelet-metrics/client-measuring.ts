// Measurements of the access to the apiserver: requests of its clients, and the managed certificates. The clients exist long before
// the metrics, so observations are queued until then.
// Invariant: the queue is bounded; an agent that never serves metrics drops the oldest.

import type { Instant } from '../../ports/instant.js';
import type { ClientHappening } from '../../ports/outbound/metrics/client-happening.js';
import type { KubeletReading, MetricsRecorder } from '../../ports/outbound/metrics/kubelet-metrics.js';
import type { CertificateKeeper } from '../certificates/certificate-keeper-state.js';
import { microsBetween } from '../values/instant.js';
import { microsPerSecond } from '../values/time.js';

type KeptCertificate = Readonly<Pick<CertificateKeeper, 'purpose' | 'facts' | 'failedAttempts'>>;
type Measured = (metrics: MetricsRecorder) => void;

const waitingMax = 1_000;
/** The Go kubelet's label of a request without an answer. */
const noAnswer = '<error>';
const renewErrors = { client: 'kubelet_certificate_manager_client_expiration_renew_errors', server: 'kubelet_server_expiration_renew_errors' } as const;
const lifetimes = { client: 'kubelet_certificate_manager_client_ttl_seconds', server: 'kubelet_certificate_manager_server_ttl_seconds' } as const;

export class ClientMeasuring {
  private metrics: MetricsRecorder | null = null;
  private waiting: Measured[] = [];
  private readonly certificates: KeptCertificate[] = [];

  constructor(private readonly wall: () => Instant) {}

  /** Sends everything to the metrics from now on, queued observations first. */
  watch(metrics: MetricsRecorder): void {
    this.metrics = metrics;
    for (const measured of this.waiting) measured(metrics);
    this.waiting = [];
  }

  happened(happening: ClientHappening): void {
    this.record((metrics) => measure(metrics, happening));
  }

  /** Adds a managed certificate. @param kept its current state */
  keeps(kept: KeptCertificate): void {
    this.certificates.push(kept);
  }

  /** The serving certificate is replaced; of the one before: */
  servingReplaced(before: KeptCertificate['facts']): void {
    if (before === null) return;
    const seconds = microsBetween(before.notBefore, this.wall()) / microsPerSecond;
    this.record((metrics) => metrics.observe('kubelet_certificate_manager_server_rotation_seconds', {}, seconds));
  }

  /** What isn't kept never expires: an alert on a 0 would be a lie. */
  readings(): readonly KubeletReading[] {
    const wall = this.wall();
    return (['client', 'server'] as const).flatMap((purpose): readonly KubeletReading[] => {
      const { facts, failedAttempts } = this.certificates.find((kept) => kept.purpose === purpose) ?? { facts: null, failedAttempts: 0 };
      const left = facts === null ? Number.POSITIVE_INFINITY : Math.trunc(microsBetween(wall, facts.notAfter) / microsPerSecond);
      return [
        [lifetimes[purpose], {}, left],
        [renewErrors[purpose], {}, failedAttempts],
      ];
    });
  }

  private record(measured: Measured): void {
    if (this.metrics !== null) {
      measured(this.metrics);
      return;
    }
    this.waiting.push(measured);
    if (this.waiting.length > waitingMax) this.waiting.shift();
  }
}

function measure(metrics: MetricsRecorder, happening: ClientHappening): void {
  const { method, host } = happening;
  const labels = { host, verb: method };
  switch (happening.kind) {
    case 'tried':
      metrics.count('rest_client_requests_total', { code: String(happening.code ?? noAnswer), host, method });
      break;
    case 'retried':
      metrics.count('rest_client_request_retries_total', { code: String(happening.code ?? noAnswer), host, verb: method });
      break;
    case 'limited':
      metrics.observe('rest_client_rate_limiter_duration_seconds', labels, happening.seconds);
      break;
    case 'ended':
      metrics.observe('rest_client_request_duration_seconds', labels, happening.seconds);
      metrics.observe('rest_client_request_size_bytes', labels, happening.requestBytes);
      if (happening.responseBytes !== null) metrics.observe('rest_client_response_size_bytes', labels, happening.responseBytes);
  }
}
