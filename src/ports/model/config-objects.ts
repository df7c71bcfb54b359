// core/v1 ConfigMap and Secret. Secret data is base64 text, as on the wire.
import type { ObjectMeta } from './object-meta.js';

export interface ConfigMap {
  readonly metadata: ObjectMeta;
  readonly data?: Readonly<Record<string, string>>;
  /** Base64. */
  readonly binaryData?: Readonly<Record<string, string>>;
  readonly immutable?: boolean;
}
export interface Secret {
  readonly metadata: ObjectMeta;
  readonly type?: string;
  /** Base64. */
  readonly data?: Readonly<Record<string, string>>;
  readonly immutable?: boolean;
}
