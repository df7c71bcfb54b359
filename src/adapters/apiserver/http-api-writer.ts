// Writes to the apiserver: create, update, patch, delete, each as one request of the requested client.
import { structOfAnswer } from '../../domain/values/api-schema/api-kinds.js';
import type { ApiName, ApiObject, PatchKind } from '../../ports/model/api-object.js';
import type { Call, PortOf } from '../../ports/operation.js';
import type { ApiClient, ApiWriterOperations } from '../../ports/outbound/apiserver.js';
import { objectBytesMax, textOf } from './body.js';
import type { Exchanges, Sent } from './exchanges.js';
import { objectOf } from './read-body.js';
import { collectionPath, objectPath, queryOf, resourceName } from './resource-path.js';

type Requests = { readonly [Name in keyof ApiWriterOperations]: ApiWriterOperations[Name]['request'] };

const json = 'application/json';
/** The field manager of server-side apply. */
const fieldManager = 'kubelet';

export class HttpApiWriter implements PortOf<ApiWriterOperations> {
  constructor(private readonly clients: Readonly<Record<ApiClient, Exchanges>>) {}

  create(request: Requests['create'], call: Call): Promise<ApiObject> {
    const { resource, namespace, name, subresource, object, client } = request;
    const path = name === null ? collectionPath(resource, namespace) : objectPath(resource, namespace, name, subresource);
    const asked = { operation: 'apiWriter.create', verb: 'post', resource: resourceName(resource), namespace, name: name ?? object.metadata.name ?? null };
    return this.send(client, { ...asked, method: 'POST', path, contentType: json, body: JSON.stringify(object) }, structOfAnswer(resource, subresource), call);
  }

  update({ client, subresource, object, ...name }: Requests['update'], call: Call): Promise<ApiObject> {
    return this.send(
      client,
      { ...asking('apiWriter.update', 'put', name), method: 'PUT', path: pathOf(name, subresource), contentType: json, body: JSON.stringify(object) },
      structOfAnswer(name.resource, subresource),
      call,
    );
  }

  patch({ client, subresource, patch, body, ...name }: Requests['patch'], call: Call): Promise<ApiObject> {
    const path = pathOf(name, subresource) + (patch === 'apply-patch' ? queryOf({ fieldManager, force: 'true' }) : '');
    return this.send(
      client,
      { ...asking('apiWriter.patch', 'patch', name), method: 'PATCH', path, contentType: mediaTypeOf(patch), body: JSON.stringify(body) },
      structOfAnswer(name.resource, subresource),
      call,
    );
  }

  async delete({ client, gracePeriodSeconds, uid, ...name }: Requests['delete'], call: Call): Promise<null> {
    const options = {
      kind: 'DeleteOptions',
      apiVersion: 'v1',
      ...(gracePeriodSeconds === null ? {} : { gracePeriodSeconds }),
      ...(uid === null ? {} : { preconditions: { uid } }),
    };
    const sent: Sent = { ...asking('apiWriter.delete', 'delete', name), method: 'DELETE', path: pathOf(name, null), contentType: json, body: JSON.stringify(options) };
    await this.clients[client].call(sent, call, (response) => textOf(response, objectBytesMax));
    return null;
  }

  private send(client: ApiClient, sent: Sent, struct: string | null, call: Call): Promise<ApiObject> {
    return this.clients[client].call(sent, call, (response) => objectOf(response, sent, struct));
  }
}

function asking(operation: string, verb: string, { resource, namespace, name }: ApiName) {
  return { operation, verb, resource: resourceName(resource), namespace, name };
}

function pathOf({ resource, namespace, name }: ApiName, subresource: string | null): string {
  return objectPath(resource, namespace, name, subresource);
}

/** JSON is YAML, which is what server-side apply takes. */
function mediaTypeOf(patch: PatchKind): string {
  return `application/${patch}+${patch === 'apply-patch' ? 'yaml' : 'json'}`;
}
