// Families of the apiserver client and of the certificates that it and the node's server present, as data. Names, labels and buckets are upstream's.
// Invariant: labels take few values: one host, HTTP's methods, status codes.
import { counter, gauge, histogram } from './family-kinds.js';

const clientSeconds = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];
const bodyBytes = [64, 256, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216];
/** Buckets of a client certificate's remaining validity: from none over half an hour to a year. */
const remainingSeconds = [0, 1800, 3600, 7200, 21600, 43200, 86400, 172800, 345600, 604800, 2592000, 7776000, 15552000, 31104000];
const reviewSeconds = [0.25, 0.5, 0.7, 1, 1.5, 3, 5, 10];
const lifeSeconds = [60, 3600, 14400, 86400, 604800, 2592000, 7776000, 15552000, 31104000, 124416000];
const labels = ['host', 'verb'] as const;

export const clientFamilies = {
  apiserver_client_certificate_expiration_seconds: histogram('Remaining validity of the client certificate of each request to this port, in seconds.', remainingSeconds),
  apiserver_delegated_authn_request_duration_seconds: histogram('Duration of token reviews of clients of this port, by result.', reviewSeconds, ['code']),
  apiserver_delegated_authn_request_total: counter('Token reviews of clients of this port, by result.', ['code']),
  apiserver_delegated_authz_request_duration_seconds: histogram('Duration of access reviews of clients of this port, by result.', reviewSeconds, ['code']),
  apiserver_delegated_authz_request_total: counter('Access reviews of clients of this port, by result.', ['code']),
  kubelet_certificate_manager_client_expiration_renew_errors: counter('Attempts to renew the client certificate that failed.'),
  kubelet_certificate_manager_client_ttl_seconds: gauge('Seconds until the client certificate expires, below 0 since then; +Inf: there is none.'),
  kubelet_certificate_manager_server_rotation_seconds: histogram('Age of a serving certificate when it was replaced.', lifeSeconds),
  kubelet_certificate_manager_server_ttl_seconds: gauge('Seconds until the serving certificate expires, below 0 since then; +Inf: there is none.'),
  kubelet_server_expiration_renew_errors: counter('Attempts to renew the serving certificate that failed.'),
  rest_client_rate_limiter_duration_seconds: histogram('Time that requests to the apiserver waited for the rate limiter.', clientSeconds, labels),
  rest_client_request_duration_seconds: histogram('Duration of requests to the apiserver, with all attempts.', clientSeconds, labels),
  rest_client_request_retries_total: counter('Retries of requests to the apiserver, by the result of the attempt before.', ['code', 'host', 'verb']),
  rest_client_request_size_bytes: histogram('Size of requests to the apiserver.', bodyBytes, labels),
  rest_client_requests_total: counter('Requests to the apiserver, by result.', ['code', 'host', 'method']),
  rest_client_response_size_bytes: histogram('Size of responses of the apiserver.', bodyBytes, labels),
} as const;
