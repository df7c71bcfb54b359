// Common parts of the fullest objects of every kind. They are written by hand from the API's types and not from the server's tables.
export type Json = Record<string, unknown>;

export interface FullObjects {
  readonly plural: string;
  readonly namespaced: boolean;
  /** Together they have every field: where one excludes another there are several. */
  readonly objects: readonly Json[];
  /** Fields of the tables that no client writes, as `Struct.field`. */
  readonly not?: readonly string[];
  /** Fields that the server sets, as paths. */
  readonly serverSays?: readonly string[];
}

export const time = '2026-01-02T03:04:05Z';
export const reference = { kind: 'Pod', namespace: 'default', name: 'p', uid: 'u', apiVersion: 'v1', resourceVersion: '1', fieldPath: 'spec' };
export const condition = { type: 'Ready', status: 'True', lastTransitionTime: time, reason: 'R', message: 'm' };
export const secretRef = { name: 's', namespace: 'default' };
export const nodeSelector = {
  nodeSelectorTerms: [{ matchExpressions: [{ key: 'a', operator: 'In', values: ['b'] }], matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n'] }] }],
};
export const toleration = { key: 'k', operator: 'Equal', value: 'v', effect: 'NoExecute', tolerationSeconds: 5 };
export const labelSelector = { matchLabels: { a: 'b' }, matchExpressions: [{ key: 'a', operator: 'In', values: ['b'] }] };

export const metadata = (name: string): Json => ({
  name,
  labels: { a: 'b' },
  annotations: { a: 'b' },
  finalizers: ['example.com/f'],
  ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'u', controller: true, blockOwnerDeletion: true }],
});
