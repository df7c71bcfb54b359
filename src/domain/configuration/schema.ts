// KubeletConfiguration of kubelet.config.k8s.io/v1beta1, put together from the parts of the field table.
// Invariant: the only list of fields; its order is the order in which the configuration is shown.
import { gateFields, lifecycleFields, loggingFields, reservationFields } from './fields-node.js';
import { cgroupFields, managerFields, nodeFields, podLimitFields } from './fields-resources.js';
import { evictionFields, nodeStatusFields, serverFields } from './fields-server.js';
import type { Fields, Setting, ValuesOf } from './setting.js';

export const kubeletFields = {
  ...serverFields,
  ...nodeStatusFields,
  ...cgroupFields,
  ...managerFields,
  ...podLimitFields,
  ...evictionFields,
  ...nodeFields,
  ...gateFields,
  ...reservationFields,
  ...loggingFields,
  ...lifecycleFields,
};

/**
 * The effective configuration: every field present, defaults filled in. Durations are nanoseconds, quantities canonical text;
 * null only where "unset" is a value of its own.
 */
export type KubeletConfiguration = ValuesOf<typeof kubeletFields>;

export const configurationKind = 'KubeletConfiguration';
export const configurationVersion = 'kubelet.config.k8s.io/v1beta1';

export interface SettingRow {
  /** Keys from the top: `['authentication', 'anonymous', 'enabled']`. */
  readonly path: readonly string[];
  readonly setting: Setting<unknown>;
}

function rowsOf(fields: Fields, above: readonly string[]): SettingRow[] {
  return Object.entries(fields).flatMap(([name, node]) => {
    const path = [...above, name];
    return node.node === 'group' ? rowsOf(node.fields as Fields, path) : [{ path, setting: node as Setting<unknown> }];
  });
}

/** Every setting of the table, in order. */
export const settingRows: readonly SettingRow[] = rowsOf(kubeletFields, []);

/** A tree of values while it is made: unset settings are null, nothing is typed. The one place where that is allowed. */
export type DraftConfiguration = { [name: string]: unknown };

export function valueAt(tree: object, path: readonly string[]): unknown {
  let node: unknown = tree;
  for (const key of path) node = typeof node === 'object' && node !== null ? (node as DraftConfiguration)[key] : null;
  return node ?? null;
}

/** A copy with one value changed; groups on the way are made where they are unset. */
export function withValue<T extends object>(tree: T, path: readonly string[], value: unknown): T {
  const [key, ...rest] = path;
  if (key === undefined) return value as T;
  const below = (tree as DraftConfiguration)[key];
  return { ...tree, [key]: rest.length === 0 ? value : withValue((below ?? {}) as object, rest, value) };
}
