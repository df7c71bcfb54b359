// The contract of all apiservers on the real client, over HTTPS to the mock apiserver.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { loadKubeconfig, openApiClients } from '../../src/adapters/apiserver/index.js';
import { startMockApiserver } from '../../src/adapters/mock-apiserver/index.js';
import { instantOf } from '../../src/domain/values/instant.js';
import type { ApiWatchEvent } from '../../src/ports/outbound/apiserver.js';
import { apiserverContract } from '../ports/apiserver.contract.js';

t.test('the client over HTTPS', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'kubelet-ts-test-'));
  const server = await startMockApiserver();
  const path = join(directory, 'kubeconfig');
  writeFileSync(path, server.kubeconfig());
  const seen = new Map<string, ApiWatchEvent[]>();
  const clients = openApiClients({
    config: loadKubeconfig(path),
    userAgent: 'kubelet/v1 (test)',
    main: { perSecond: -1, burst: 0 },
    events: { perSecond: -1, burst: 0 },
    heartbeatTimeoutMicros: 10_000_000,
    environment: {},
    now: () => Date.now() * 1000,
    wall: () => instantOf(Date.now() * 1000),
    deliver: ({ watch, events }) => void seen.set(watch, [...(seen.get(watch) ?? []), ...events]),
    problem: (text) => t.fail(text),
  });
  t.teardown(async () => {
    clients.close();
    await server.stop();
    rmSync(directory, { recursive: true });
  });
  await apiserverContract(t, {
    reader: clients.reader,
    writer: clients.writer,
    seen: (watch) => seen.get(watch) ?? [],
    until: async (holds) => {
      const end = Date.now() + 60_000;
      while (!holds()) {
        if (Date.now() > end) throw new Error('it did not come to pass');
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    },
    cutWatches: () => server.breakConnections(),
    compact: () => server.api.store.compact(),
  });
});
