// service-env: the variables a pod gets from services.
import { serviceEnv } from '../../../src/domain/containers/service-env.js';
import type { Service } from '../../../src/ports/model/service.js';
import type { VectorDriver } from '../driver.js';

export const driver: VectorDriver = {
  run({ services, namespace, enableServiceLinks }: { readonly services: readonly Service[]; readonly namespace: string; readonly enableServiceLinks: boolean }) {
    return { env: Object.fromEntries(serviceEnv(services, namespace, enableServiceLinks).map(({ name, value }) => [name, value])) };
  },
};
