// Prints the domain's model of a runtime configuration as protobuf prints the CRI's messages in JSON: 64-bit integers as strings, bytes in
// base64, defaults omitted, present messages kept even when empty.
// Invariant: printing alone; nothing here depends on the values but their types and the protocol's defaults.
import { byCodeUnits } from '../../src/domain/values/text-order.js';
import type { ContainerConfig } from '../../src/ports/model/container-config.js';
import type { SandboxConfig } from '../../src/ports/model/sandbox-config.js';

const int64Fields = new Set(['cpuPeriod', 'cpuQuota', 'cpuShares', 'memoryLimitInBytes', 'oomScoreAdj', 'memorySwapLimitInBytes', 'limit', 'supplementalGroups']);
/** Optional integers are messages of one field. */
const wrappedFields = new Set(['runAsUser', 'runAsGroup']);
const mapFields = new Set(['labels', 'annotations', 'sysctls', 'unified']);
const enumDefaults: Readonly<Record<string, string>> = {
  network: 'POD',
  pid: 'POD',
  ipc: 'POD',
  mode: 'POD',
  profileType: 'RuntimeDefault',
  protocol: 'TCP',
  supplementalGroupsPolicy: 'Merge',
  propagation: 'PROPAGATION_PRIVATE',
};

export function sandboxConfigJson(config: SandboxConfig): unknown {
  const dns = config.dnsConfig;
  return printed('', dns === undefined ? config : { ...config, dnsConfig: { ...dns, options: [...dns.options].sort(byCodeUnits) } });
}

export function containerConfigJson(config: ContainerConfig): unknown {
  const { cdiDevices = [], envs = [], linux, ...rest } = config;
  const apparmor = linux?.securityContext?.apparmor;
  return printed('', {
    ...rest,
    CDIDevices: cdiDevices.map((name) => ({ name })),
    envs: envs.map(({ key, value }) => ({ key, value: Buffer.from(value as string).toString('base64') })).sort((a, b) => byCodeUnits(a.key, b.key)),
    linux: {
      resources: { ...linux?.resources, hugepageLimits: [...(linux?.resources?.hugepageLimits ?? [])].sort((a, b) => byCodeUnits(a.pageSize, b.pageSize)) },
      securityContext: {
        ...linux?.securityContext,
        // The protocol has a second, older field for the same profile.
        apparmorProfile:
          apparmor === undefined ? '' : { RuntimeDefault: 'runtime/default', Unconfined: 'unconfined', Localhost: `localhost/${apparmor.localhostRef}` }[apparmor.profileType],
      },
    },
  });
}

function printed(field: string, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => printed(field, item));
  if (typeof value === 'number') return wrappedFields.has(field) ? (value === 0 ? {} : { value: String(value) }) : int64Fields.has(field) ? String(value) : value;
  if (typeof value !== 'object' || value === null || mapFields.has(field)) return value;
  const entries = Object.entries(value).filter(([name, member]) => !isDefault(name, member));
  return Object.fromEntries(entries.map(([name, member]) => [name, printed(name, member)]));
}

function isDefault(field: string, value: unknown): boolean {
  if (value === undefined || value === '' || value === false || enumDefaults[field] === value) return true;
  if (value === 0) return !wrappedFields.has(field);
  if (Array.isArray(value)) return value.length === 0;
  return mapFields.has(field) && Object.keys(value as object).length === 0;
}
