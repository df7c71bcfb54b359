// Bootstrap tokens, `abcdef.0123456789abcdef`: each is a Secret in kube-system, and good for asking for a certificate.

import { base64Decode } from '../../../domain/values/base64.js';
import { epochMicros } from '../../../domain/values/instant.js';
import { parseRfc3339 } from '../../../domain/values/time.js';
import { utf8Decode } from '../../../domain/values/utf8.js';
import type { Micros } from '../../../ports/micros.js';
import type { ApiUser } from '../api-request.js';
import { type ObjectStore, objectKey } from '../object-store.js';

const form = /^([a-z0-9]{6})\.([a-z0-9]{16})$/;

/** null: not a bootstrap token, unknown, or expired. */
export function bootstrapUser(token: string, store: ObjectStore, now: Micros): ApiUser | null {
  const match = form.exec(token);
  if (match === null) return null;
  const [, id = '', secret = ''] = match;
  const found = store.get('secrets', objectKey('kube-system', `bootstrap-token-${id}`));
  if (found === null || found.type !== 'bootstrap.kubernetes.io/token') return null;
  const data = (found.data ?? {}) as Readonly<Record<string, string>>;
  const text = (key: string): string => utf8Decode(base64Decode(data[key] ?? '') ?? new Uint8Array());
  if (text('token-id') !== id || text('token-secret') !== secret || text('usage-bootstrap-authentication') !== 'true') return null;
  const expires = text('expiration') === '' ? null : parseRfc3339(text('expiration'));
  if (expires !== null && epochMicros(expires) <= now) return null;
  const extra = text('auth-extra-groups')
    .split(',')
    .filter((group) => group.startsWith('system:bootstrappers:'));
  return { name: `system:bootstrap:${id}`, groups: ['system:bootstrappers', ...extra, 'system:authenticated'] };
}
