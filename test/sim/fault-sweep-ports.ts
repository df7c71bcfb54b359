// Which ports are swept where: two files, since each has ten minutes.
const storage: ReadonlySet<string> = new Set([
  ...[
    'podDirectories',
    'podVolumes',
    'volumeMounts',
    'pluginSockets',
    'csiNode',
    'csiFiles',
    'draPlugin',
    'blockDevices',
    'projectQuotas',
    'podCertificateKeys',
    'hostPaths',
    'subPaths',
  ],
  ...['podLogs', 'containerLogs'],
]);

export const isStoragePort = (port: string): boolean => storage.has(port);
