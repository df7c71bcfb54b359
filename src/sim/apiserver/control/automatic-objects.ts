// The default objects of a namespace: its default service account, and the certificate by which pods trust the server.
import { instantOf } from '../../../domain/values/instant.js';
import { formatRfc3339 } from '../../../domain/values/time.js';
import type { JsonDraft } from '../api-request.js';
import { objectKey } from '../object-store.js';
import type { ControlContext } from './control-context.js';

const rootCaName = 'kube-root-ca.crt';

/** The service by which pods reach the apiserver. @param targetPort where it listens */
export function ownService(targetPort: number): JsonDraft {
  const labels = { component: 'apiserver', provider: 'kubernetes' };
  const ports = [{ name: 'https', protocol: 'TCP', port: 443, targetPort }];
  return { metadata: { name: 'kubernetes', labels }, spec: { ports, clusterIP: '10.96.0.1', clusterIPs: ['10.96.0.1'], ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' } };
}

export function fillNamespace(namespace: string, { store, ids, settings, now }: ControlContext): void {
  const metadata = (name: string) => ({ name, namespace, uid: ids.uid(), creationTimestamp: formatRfc3339(instantOf(now)) });
  const put = (resource: string, kind: string, name: string, rest: object): void => {
    const key = objectKey(namespace, name);
    if (store.get(resource, key) === null) store.put(resource, key, { kind, apiVersion: 'v1', metadata: metadata(name), ...rest });
  };
  put('serviceaccounts', 'ServiceAccount', 'default', {});
  put('configmaps', 'ConfigMap', rootCaName, { data: { 'ca.crt': settings.rootCa } });
}
