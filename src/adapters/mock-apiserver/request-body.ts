// The body of a request: JSON, or YAML by its content type. Invariant: a body that is too long is refused before it is buffered.
import type { IncomingMessage } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { goJsonProblem } from '../../domain/values/go-json.js';
import type { PatchKind } from '../../ports/model/api-object.js';
import { badRequest, refusal, unrecognized } from '../../sim/index.js';
import { parseYaml } from '../yaml/index.js';
import { objectOfProtobuf } from './protobuf-body.js';

/** The real server's limit. */
const maxBodyBytes = 3 * 1024 * 1024;

const protobufType = 'application/vnd.kubernetes.protobuf';

const patchKinds: Readonly<Record<string, PatchKind>> = {
  'application/json-patch+json': 'json-patch',
  'application/merge-patch+json': 'merge-patch',
  'application/strategic-merge-patch+json': 'strategic-merge-patch',
  'application/apply-patch+yaml': 'apply-patch',
};

function mediaType(request: IncomingMessage): string {
  return (request.headers['content-type'] ?? 'application/json').split(';')[0]?.trim().toLowerCase() ?? '';
}

/** Throws 415 for another type. */
export function patchKindOf(request: IncomingMessage): PatchKind {
  const kind = patchKinds[mediaType(request)];
  if (kind !== undefined) return kind;
  throw refusal(415, 'UnsupportedMediaType', '415: Unsupported Media Type', {});
}

/** undefined: absent. @param struct the expected kind */
export async function readBody(request: IncomingMessage, struct: string): Promise<unknown> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > maxBodyBytes) throw refusal(413, 'RequestEntityTooLarge', `Request entity too large: limit is ${maxBodyBytes}`);
    chunks.push(chunk);
  }
  if (length === 0) return undefined;
  const raw = Buffer.concat(chunks);
  const bytes = request.headers['content-encoding'] === 'gzip' ? unzipped(raw) : raw;
  const type = mediaType(request);
  if (type !== protobufType) return parsed(type, bytes.toString('utf8'), struct, request.method === 'PATCH');
  const object = objectOfProtobuf(bytes);
  if (object === null) throw unsupported();
  return object;
}

function unzipped(raw: Buffer): Buffer {
  try {
    return gunzipSync(raw, { maxOutputLength: maxBodyBytes });
  } catch (error) {
    throw badRequest(`the body can not be unzipped: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function unsupported() {
  return refusal(
    415,
    'UnsupportedMediaType',
    'the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf',
  );
}

function parsed(type: string, text: string, struct: string, isPatch: boolean): unknown {
  if (type === 'application/yaml' || type === 'application/apply-patch+yaml') return parsedYaml(text);
  if (!type.startsWith('application/') || !type.endsWith('json')) throw unsupported();
  try {
    return JSON.parse(text) as unknown;
  } catch {
    const why = goJsonProblem(text) ?? 'it can not be read';
    throw badRequest(isPatch ? `error decoding patch: ${why}` : unrecognized(struct, why, text));
  }
}

/** YAML, of which JSON is a part. */
function parsedYaml(text: string): unknown {
  const document = parseYaml(text);
  if (!document.ok) throw badRequest(`error decoding YAML: ${document.message}`);
  return JSON.parse(JSON.stringify(document.value, (_key, value: unknown) => (typeof value === 'bigint' ? Number(value) : value))) as unknown;
}
