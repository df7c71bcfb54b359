// Refusals of the apiserver: a metav1.Status with the real server's reasons, messages and codes.
import { type FieldProblem, fieldProblemsText } from '../../domain/pod-sources/validation/field-problem.js';
import type { ApiResource } from '../../ports/model/api-object.js';
import type { ObjectMeta } from '../../ports/model/object-meta.js';
import type { PortErrorKind } from '../../ports/port-error.js';
import type { ApiUser, Json, JsonObject } from './api-request.js';

/** Thrown within the server, answered as its Status; it never leaves the server's public functions. */
export class ApiRefusal extends Error {
  constructor(
    readonly status: JsonObject,
    readonly code: number,
    readonly reason: string,
    readonly retryAfterSeconds: number | null = null,
  ) {
    super(status.message as string);
    this.name = 'ApiRefusal';
  }
}

export function refusal(code: number, reason: string, message: string, details: JsonObject | null = null): ApiRefusal {
  const retryAfter = details?.retryAfterSeconds;
  const status: JsonObject = {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    reason,
    ...(details === null ? {} : { details }),
    code,
  };
  return new ApiRefusal(status, code, reason, typeof retryAfter === 'number' ? retryAfter : null);
}

/** `leases.coordination.k8s.io`, `pods`. */
export function qualified({ group }: Pick<ApiResource, 'group'>, word: string): string {
  return group === '' ? word : `${word}.${group}`;
}

function detailsOf(resource: ApiResource, name: string, more: JsonObject = {}): JsonObject {
  return { ...(name === '' ? {} : { name }), ...(resource.group === '' ? {} : { group: resource.group }), kind: resource.plural, ...more };
}

export function badRequest(message: string): ApiRefusal {
  return refusal(400, 'BadRequest', message);
}
export function notFound(resource: ApiResource, name: string): ApiRefusal {
  return refusal(404, 'NotFound', `${qualified(resource, resource.plural)} "${name}" not found`, detailsOf(resource, name));
}
/** Nothing answers at that path. */
export function noSuchPath(): ApiRefusal {
  return refusal(404, 'NotFound', 'the server could not find the requested resource', {});
}
export function methodNotAllowed(resource: ApiResource, verb: string): ApiRefusal {
  return refusal(
    405,
    'MethodNotAllowed',
    `the server does not allow this method on the requested resource`,
    detailsOf(resource, '', { causes: [{ message: `${verb} is not supported` }] }),
  );
}
export function alreadyExists(resource: ApiResource, name: string): ApiRefusal {
  return refusal(409, 'AlreadyExists', `${qualified(resource, resource.plural)} "${name}" already exists`, detailsOf(resource, name));
}
export function conflict(resource: ApiResource, name: string, why: string): ApiRefusal {
  return refusal(409, 'Conflict', `Operation cannot be fulfilled on ${qualified(resource, resource.plural)} "${name}": ${why}`, detailsOf(resource, name));
}
const storedElsewhere: Readonly<Record<string, string>> = { nodes: 'minions', services: 'services/specs' };

/** The storage's error for an object with another UID. */
export function storedUidProblem({ plural }: ApiResource, { metadata }: { readonly metadata: ObjectMeta }, uid: string): string {
  const { namespace, name } = metadata;
  const key = ['/registry', storedElsewhere[plural] ?? plural, ...(namespace === undefined ? [] : [namespace]), name].join('/');
  const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${metadata.uid}`;
  return `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: ${why}`;
}

/** An error that no status was made of: it has no reason. */
export function unexpected(message: string): ApiRefusal {
  return new ApiRefusal({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, code: 500 }, 500, '');
}

export const modifiedMeanwhile = 'the object has been modified; please apply your changes to the latest version and try again';

export function forbidden(resource: ApiResource, name: string, why: string): ApiRefusal {
  const subject = name === '' ? qualified(resource, resource.plural) : `${qualified(resource, resource.plural)} "${name}"`;
  return refusal(403, 'Forbidden', `${subject} is forbidden: ${why}`, detailsOf(resource, name));
}

export function forbiddenToUser(user: ApiUser, verb: string, resource: ApiResource, subresource: string | null, namespace: string | null, name: string, why = ''): ApiRefusal {
  const what = subresource === null ? resource.plural : `${resource.plural}/${subresource}`;
  const where = namespace === null ? 'at the cluster scope' : `in the namespace "${namespace}"`;
  const text = `User "${user.name}" cannot ${verb} resource "${what}" in API group "${resource.group}" ${where}`;
  return forbidden(resource, name, why === '' ? text : `${text}: ${why}`);
}

export function invalidObject(resource: Pick<ApiResource, 'group'>, kind: string, name: string, problems: readonly FieldProblem[]): ApiRefusal {
  const causes: Json = problems.map(({ type, field, message }) => ({ reason: type, message: message.slice(field.length + 2), field }));
  const details = { ...(name === '' ? {} : { name }), ...(resource.group === '' ? {} : { group: resource.group }), ...(kind === '' ? {} : { kind }), causes };
  return refusal(422, 'Invalid', `${qualified(resource, kind)} "${name}" is invalid: ${fieldProblemsText(problems)}`, details);
}

export function expired(message: string, metadata: JsonObject = {}): ApiRefusal {
  const made = refusal(410, 'Expired', message);
  return new ApiRefusal({ ...made.status, metadata }, 410, 'Expired');
}
export function internalError(message: string): ApiRefusal {
  return refusal(500, 'InternalError', `Internal error occurred: ${message}`, { causes: [{ message }] });
}

/** The port error of a refusal; see ports/outbound/apiserver. */
export function portErrorKindOf({ code, reason }: { readonly code: number; readonly reason: string }): PortErrorKind {
  switch (code) {
    case 400:
    case 405:
    case 415:
    case 422:
      return 'invalid-argument';
    case 401:
      return 'unauthenticated';
    case 403:
      return 'permission-denied';
    case 404:
      return 'not-found';
    case 409:
      return reason === 'AlreadyExists' ? 'already-exists' : 'aborted';
    case 410:
      return 'out-of-range';
    case 429:
      return 'resource-exhausted';
    case 504:
      return 'deadline-exceeded';
    default:
      return code >= 500 ? 'unavailable' : 'unknown';
  }
}
