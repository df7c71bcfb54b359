// The metrics of the access to the apiserver: requests, tries, sizes, waiting, and the validity of certificates.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { startMockApiserver } from '../../src/adapters/mock-apiserver/index.js';
import { ClientMeasuring } from '../../src/domain/kubelet-metrics/client-measuring.js';
import { instantOf } from '../../src/domain/values/instant.js';
import { until } from '../support/until.js';
import { ask } from './ask-daemon.js';
import { Stage } from './stage.js';

function value(body: string, series: string): number | null {
  const line = body.split('\n').find((one) => one.startsWith(`${series} `));
  return line === undefined ? null : Number(line.slice(series.length + 1).replace('+Inf', 'Infinity'));
}

t.test('a node of a cluster with certificates of its own', async (t) => {
  const stage = await Stage.open();
  const server = await startMockApiserver();
  t.teardown(async () => {
    await stage.close();
    await server.stop();
  });
  const path = join(stage.directory, 'kubelet.conf');
  writeFileSync(path, server.kubeconfig({ commonName: 'system:node:n1', organizations: ['system:nodes'] }));
  stage.flags.push(`--kubeconfig=${path}`);
  stage.configurationMore = 'serverTLSBootstrap: true\nrotateCertificates: true\nenableServer: true\naddress: 127.0.0.1\n';
  server.api.setFaults([{ operation: 'list.services', trigger: { nth: 1 }, action: { kind: 'error', code: 429, message: 'slow down', retryAfterSeconds: 1 } }], server.time.now());
  const daemon = await stage.start();
  const host = new URL(server.url).host;
  let body = '';
  const seen = async (series: string): Promise<number | null> => {
    body = await ask(daemon, '/metrics').then(
      (answer) => answer.body,
      () => '',
    );
    return value(body, series);
  };
  await until('the serving certificate is there', async () => Number.isFinite((await seen('kubelet_certificate_manager_server_ttl_seconds')) ?? Number.POSITIVE_INFINITY));
  await until('the lease was written', async () => ((await seen(`rest_client_requests_total{code="201",host="${host}",method="POST"}`)) ?? 0) > 1);
  await until('the refused list was tried again', async () => (await seen(`rest_client_request_retries_total{code="429",host="${host}",verb="GET"}`)) === 1);
  const rows: readonly (readonly [sentence: string, series: string, min: number, max: number])[] = [
    ['reads', `rest_client_requests_total{code="200",host="${host}",method="GET"}`, 3, 1_000],
    ['the refusal', `rest_client_requests_total{code="429",host="${host}",method="GET"}`, 1, 1],
    ['durations', `rest_client_request_duration_seconds_count{host="${host}",verb="GET"}`, 3, 1_000],
    ['the refused list took its pause', `rest_client_request_duration_seconds_sum{host="${host}",verb="GET"}`, 1, 1_000],
    ['what was sent', `rest_client_request_size_bytes_sum{host="${host}",verb="POST"}`, 500, 1e6],
    ['what was answered', `rest_client_response_size_bytes_sum{host="${host}",verb="GET"}`, 500, 1e7],
    ['waiting for turns', `rest_client_rate_limiter_duration_seconds_count{host="${host}",verb="GET"}`, 3, 1_000],
    ['the client certificate', 'kubelet_certificate_manager_client_ttl_seconds', 1, 1e9],
    ['nothing failed', 'kubelet_certificate_manager_client_expiration_renew_errors', 0, 0],
    ['nor there', 'kubelet_server_expiration_renew_errors', 0, 0],
  ];
  for (const [sentence, series, min, max] of rows) {
    const found = value(body, series) ?? Number.NaN;
    t.ok(found >= min && found <= max, `${sentence}: ${series} is ${found}`);
  }
  await server.goDown();
  await until('no answer is a code of its own', async () => ((await seen(`rest_client_requests_total{code="<error>",host="${host}",method="GET"}`)) ?? 0) > 0);
  await daemon.stop();
});

t.test('what isn’t kept never expires, and failures are those of the keeper', (t) => {
  const measuring = new ClientMeasuring(() => instantOf(5_000_000));
  const read = () => Object.fromEntries(measuring.readings().map(([name, , number]) => [name, number]));
  t.match(read(), { kubelet_certificate_manager_client_ttl_seconds: Number.POSITIVE_INFINITY, kubelet_server_expiration_renew_errors: 0 });
  const facts = { notBefore: instantOf(0), notAfter: instantOf(3_000_000), commonName: '', organizations: [], dnsNames: [], ipAddresses: [] };
  measuring.keeps({ purpose: 'server', facts, failedAttempts: 3 });
  t.match(read(), {
    kubelet_certificate_manager_client_ttl_seconds: Number.POSITIVE_INFINITY,
    kubelet_certificate_manager_server_ttl_seconds: -2,
    kubelet_server_expiration_renew_errors: 3,
    kubelet_certificate_manager_client_expiration_renew_errors: 0,
  });
  t.end();
});
