// The body of an answer that is one object, read by the schema.
import { readAnswer } from '../../domain/values/api-schema/api-kinds.js';
import { isObject } from '../../domain/values/api-schema/read-object.js';
import type { ApiObject } from '../../ports/model/api-object.js';
import type { Answer } from './answer.js';
import { localFailure } from './api-failures.js';
import { objectBytesMax, parsedJson, textOf } from './body.js';
import type { Sent } from './exchanges.js';

/** Answers to writes without a resulting object, such as an eviction. */
const statusStruct = 'Status';

function isStatus(parsed: unknown): boolean {
  return isObject(parsed) && parsed.kind === 'Status' && parsed.apiVersion === 'v1';
}

/** @param struct null: the kind is not in the schema. Throws NotJson, and data-loss where a field has another type than its kind gives it */
export async function objectOf(response: Answer, sent: Sent, struct: string | null): Promise<ApiObject> {
  const parsed = parsedJson(await textOf(response, objectBytesMax));
  const read = readAnswer(parsed, isStatus(parsed) ? statusStruct : struct);
  if (!read.ok) throw localFailure(sent, 'data-loss', `couldn't decode the answer: ${read.unusable.problem}`);
  return read.object;
}
