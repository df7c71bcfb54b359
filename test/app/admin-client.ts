// The administrator of a mock apiserver for tests: sends requests and watches objects.

import { writeFileSync } from 'node:fs';
import { type ApiClients, loadKubeconfig, openApiClients } from '../../src/adapters/apiserver/index.js';
import { instantOf } from '../../src/domain/values/instant.js';
import type { ApiObject, ApiResource } from '../../src/ports/model/api-object.js';
import type { ApiWatchEvent, ApiWatchEvents } from '../../src/ports/outbound/apiserver.js';
import { PortError } from '../../src/ports/port-error.js';
import { calling } from '../adapters/api-peer.js';

const groups: Readonly<Record<string, string>> = { leases: 'coordination.k8s.io', csidrivers: 'storage.k8s.io', csinodes: 'storage.k8s.io', resourceclaims: 'resource.k8s.io' };
type Change = Extract<ApiWatchEvent, { readonly object: ApiObject }>;

export class AdminClient {
  private readonly clients: ApiClients;
  private readonly followed = new Map<string, Change[]>();

  constructor(path: string, kubeconfig: string) {
    writeFileSync(path, kubeconfig);
    this.clients = openApiClients({
      config: loadKubeconfig(path),
      userAgent: 'admin/v1 (test)',
      main: { perSecond: -1, burst: 0 },
      events: { perSecond: -1, burst: 0 },
      heartbeatTimeoutMicros: 10_000_000,
      environment: {},
      now: () => Date.now() * 1000,
      wall: () => instantOf(Date.now() * 1000),
      deliver: (events) => this.saw(events),
      problem: () => {},
    });
  }

  close(): void {
    this.clients.close();
  }

  /** null if absent. */
  async get(plural: string, namespace: string | null, name: string): Promise<ApiObject | null> {
    try {
      return await this.clients.reader.get({ resource: resourceOf(plural), namespace, name, client: 'main', resourceVersion: null }, calling());
    } catch (error) {
      if (error instanceof PortError && error.kind === 'not-found') return null;
      throw error;
    }
  }

  async list(plural: string, namespace: string | null): Promise<readonly ApiObject[]> {
    const selection = { resource: resourceOf(plural), namespace, fieldSelector: null, labelSelector: null };
    return (await this.clients.reader.list({ ...selection, resourceVersion: null, limit: null, continueToken: null }, calling())).items;
  }

  async create(plural: string, namespace: string | null, object: ApiObject): Promise<ApiObject> {
    return this.clients.writer.create({ resource: resourceOf(plural), namespace, client: 'main', name: null, subresource: null, object }, calling());
  }

  async patch(plural: string, namespace: string | null, name: string, body: object, subresource: string | null = null): Promise<ApiObject> {
    return await this.clients.writer.patch({ resource: resourceOf(plural), namespace, name, client: 'main', subresource, patch: 'merge-patch', body }, calling());
  }

  async remove(plural: string, namespace: string | null, name: string, gracePeriodSeconds: number | null = null): Promise<void> {
    await this.clients.writer.delete({ resource: resourceOf(plural), namespace, name, client: 'main', gracePeriodSeconds, uid: null }, calling());
  }

  /** What happens from now on; the list grows. */
  async follow(plural: string, namespace: string): Promise<readonly Change[]> {
    const selection = { resource: resourceOf(plural), namespace, fieldSelector: null, labelSelector: null };
    const list = await this.clients.reader.list({ ...selection, resourceVersion: null, limit: null, continueToken: null }, calling());
    const changes: Change[] = [];
    const watch = `${plural} ${this.followed.size}`;
    this.followed.set(watch, changes);
    this.clients.reader.watch({ ...selection, watch, resourceVersion: list.resourceVersion, timeoutSeconds: 600 }, calling(null)).catch(() => {});
    return changes;
  }

  private saw({ watch, events }: ApiWatchEvents): void {
    for (const event of events) if (event.type !== 'BOOKMARK' && event.type !== 'UNUSABLE') this.followed.get(watch)?.push(event);
  }
}

function resourceOf(plural: string): ApiResource {
  return { group: groups[plural] ?? '', version: 'v1', plural };
}
