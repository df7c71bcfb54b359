// The variables by which a pod finds services without DNS: `*_SERVICE_HOST`, `*_SERVICE_PORT*`, and Docker's link variables `*_PORT*`.
// Invariant: only services with an address of their own count; the API server's is always among them.
import type { Service } from '../../ports/model/service.js';
import type { EnvVariable } from './env-expansion.js';

const apiServerService = 'kubernetes';
const apiServerNamespace = 'default';

/** @param enableServiceLinks whether services of the pod's own namespace count too */
export function serviceEnv(services: readonly Service[], namespace: string, enableServiceLinks: boolean): readonly EnvVariable[] {
  return chosenServices(services, namespace, enableServiceLinks).flatMap(variablesOf);
}

/** One for each name. A service of the pod's namespace wins over the API server's. */
function chosenServices(services: readonly Service[], namespace: string, enableServiceLinks: boolean): readonly Service[] {
  const chosen = new Map<string, Service>();
  for (const service of services.filter(hasAddress)) {
    const { name } = service.metadata;
    const own = service.metadata.namespace ?? '';
    if (own === apiServerNamespace && name === apiServerService) {
      if (!chosen.has(name)) chosen.set(name, service);
    } else if (own === namespace && enableServiceLinks) chosen.set(name, service);
  }
  return [...chosen.values()];
}

function hasAddress(service: Service): boolean {
  const address = service.spec?.clusterIP ?? '';
  return address !== '' && address !== 'None';
}

function variablesOf(service: Service): readonly EnvVariable[] {
  const prefix = variableName(service.metadata.name);
  const address = service.spec?.clusterIP ?? '';
  const host = address.includes(':') ? `[${address}]` : address;
  const ports = (service.spec?.ports ?? []).map((port) => {
    const protocol = port.protocol === undefined || port.protocol === '' ? 'TCP' : port.protocol;
    return { ...port, number: String(port.port), protocol, url: `${protocol.toLowerCase()}://${host}:${port.port}` };
  });
  const first = ports[0];
  return [
    { name: `${prefix}_SERVICE_HOST`, value: address },
    ...(first === undefined ? [] : [{ name: `${prefix}_SERVICE_PORT`, value: first.number }]),
    ...ports.filter((port) => (port.name ?? '') !== '').map((port) => ({ name: `${prefix}_SERVICE_PORT_${variableName(port.name!)}`, value: port.number })),
    ...(first === undefined ? [] : [{ name: `${prefix}_PORT`, value: first.url }]),
    ...ports.flatMap((port) => {
      const link = `${prefix}_PORT_${port.number}_${port.protocol.toUpperCase()}`;
      return [
        { name: link, value: port.url },
        { name: `${link}_PROTO`, value: port.protocol.toLowerCase() },
        { name: `${link}_PORT`, value: port.number },
        { name: `${link}_ADDR`, value: address },
      ];
    }),
  ];
}

function variableName(name: string): string {
  return name.toUpperCase().replaceAll('-', '_');
}
