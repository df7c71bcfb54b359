// The server's tables against the models of another client, that were generated from the API's own description (of 1.34): each field that one of
// them has the other has, of the same type, except for the fields listed here, which are newer.
import * as models from '@kubernetes/client-node';
import t from 'tap';
import { structOf } from '../../src/domain/values/api-schema/api-schema.js';
import type { ApiFieldType, ApiScalar } from '../../src/domain/values/api-schema/field-types.js';
import { resourceTypes } from '../../src/sim/apiserver/resource-types.js';

interface Attribute {
  readonly baseName: string;
  readonly type: string;
  readonly format: string;
}

/** Of 1.35 and 1.36. */
const later: readonly string[] = [
  'CSIDriverSpec.serviceAccountTokenInSecrets',
  'Device.nodeAllocatableResourceMappings',
  'DeviceAttribute.bools',
  'DeviceAttribute.ints',
  'DeviceAttribute.strings',
  'DeviceAttribute.versions',
  'NodeStatus.declaredFeatures',
  'PodCertificateProjection.userAnnotations',
  'PodCertificateRequestSpec.stubPKCS10Request',
  'PodCertificateRequestSpec.unverifiedUserAnnotations',
  'PodSpec.schedulingGroup',
  'PodStatus.allocatedResources',
  'PodStatus.nodeAllocatableResourceClaimStatuses',
  'PodStatus.resources',
  'ResourceHealth.message',
  'VolumeMountStatus.volumeStatus',
];

/** Of an earlier version of the kind, and removed since: `stubPKCS10Request` replaces both. */
const earlier: readonly string[] = ['PodCertificateRequestSpec.pkixPublicKey is missing: string', 'PodCertificateRequestSpec.proofOfPossession is missing: string'];

/** Taken as they come: documents of others, and what the server writes itself. */
const untyped: readonly string[] = ['AllocatedDeviceStatus.data', 'ObjectMeta.managedFields[]', 'OpaqueDeviceConfiguration.parameters'];

/** Models that aren't named as their kind. */
const modelNames: Readonly<Record<string, string>> = {
  Event: 'CoreV1Event',
  ResourceClaim: 'ResourceV1ResourceClaim',
  ClusterTrustBundle: 'V1beta1ClusterTrustBundle',
  PodCertificateRequest: 'V1alpha1PodCertificateRequest',
  TokenRequest: 'AuthenticationV1TokenRequest',
};

const scalarTypes: Readonly<Record<Exclude<ApiScalar, 'any'>, RegExp>> = {
  string: /^string $/,
  bool: /^boolean /,
  int32: /^number int32$/,
  int64: /^number int64$/,
  quantity: /^string $/,
  time: /^Date date-time$/,
  microTime: /^V1MicroTime date-time-micro$/,
  bytes: /^string byte$/,
  intOrString: /^IntOrString int-or-string$/,
};

function attributesOf(model: string): ReadonlyMap<string, Attribute> | null {
  const known = (models as unknown as Readonly<Record<string, { readonly attributeTypeMap?: readonly Attribute[] } | undefined>>)[model];
  return known?.attributeTypeMap === undefined ? null : new Map(known.attributeTypeMap.map((attribute) => [attribute.baseName, attribute]));
}

class Comparison {
  readonly problems: string[] = [];
  readonly ours: string[] = [];
  readonly any: string[] = [];
  readonly seen = new Set<string>();

  struct(struct: string, model: string): void {
    if (this.seen.has(`${struct} ${model}`)) return;
    this.seen.add(`${struct} ${model}`);
    const theirs = attributesOf(model);
    if (theirs === null) {
      this.problems.push(`there is no model ${model} of ${struct}`);
      return;
    }
    const fields = structOf(struct);
    const isObject = theirs.has('kind') && theirs.has('apiVersion') && theirs.has('metadata');
    for (const [name, { type, format }] of theirs) {
      if (isObject && (name === 'kind' || name === 'apiVersion')) continue;
      const own = fields.get(name);
      if (own === undefined) this.problems.push(`${struct}.${name} is missing: ${type}`);
      else this.field(own, type, format, `${struct}.${name}`);
    }
    this.ours.push(...[...fields.keys()].filter((name) => !theirs.has(name)).map((name) => `${struct}.${name}`));
  }

  private field(own: ApiFieldType, type: string, format: string, path: string): void {
    const list = /^(?:Array|Set)<(.*)>$/.exec(type)?.[1];
    const map = /^\{ \[key: string\]: (.*); \}$/.exec(type)?.[1];
    if (own.kind === 'scalar' && own.scalar === 'any') this.any.push(path);
    else if (own.kind === 'list' && list !== undefined) this.field(own.item, list, format, `${path}[]`);
    else if (own.kind === 'map' && map !== undefined) this.field(own.item, map, format, `${path}{}`);
    else if (own.kind === 'struct' && list === undefined && map === undefined) this.struct(own.struct, type);
    else if (own.kind === 'scalar' && own.scalar !== 'any' && scalarTypes[own.scalar].test(`${type} ${format}`)) return;
    else this.problems.push(`${path} is ${own.kind === 'scalar' ? own.scalar : own.kind}, theirs is ${type} ${format}`);
  }
}

t.test('fields and types', async (t) => {
  const comparison = new Comparison();
  for (const { kind } of resourceTypes) comparison.struct(kind, modelNames[kind] ?? `V1${kind}`);
  for (const kind of ['TokenRequest', 'Eviction']) comparison.struct(kind, modelNames[kind] ?? `V1${kind}`);
  t.strictSame(comparison.problems, earlier);
  t.strictSame(comparison.ours.sort(), later);
  t.strictSame(comparison.any.sort(), untyped);
  t.ok(comparison.seen.size > 200, `${comparison.seen.size} structs`);
});
