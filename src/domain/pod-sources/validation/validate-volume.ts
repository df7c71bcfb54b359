// Create validation of a pod's volumes.
import type { PodSpec } from '../../../ports/model/pod.js';
import type { DownwardAPIVolumeFile, KeyToPath, Volume, VolumeProjection } from '../../../ports/model/volume.js';
import { volumeSources } from '../../values/api-schema/volume-schema.js';
import { dns1123LabelProblems, dns1123SubdomainProblems } from '../../values/dns-names.js';
import { mustParseQuantity, quantitySign } from '../../values/quantity.js';
import { duplicate, forbidden, invalid, invalidFor, notSupported, type Problems, required } from './field-problem.js';
import { configKeyProblems, validateFieldSelector, validateResourceSelector } from './validate-env.js';
import { backstepProblems, descendingPathProblems, type VolumesByName } from './validate-mounts.js';

/** Fields that a source is nothing without. */
const requiredFields: Readonly<Record<string, readonly string[]>> = {
  hostPath: ['path'],
  gitRepo: ['repository'],
  gcePersistentDisk: ['pdName'],
  awsElasticBlockStore: ['volumeID'],
  secret: ['secretName'],
  nfs: ['server', 'path'],
  iscsi: ['targetPortal', 'iqn'],
  glusterfs: ['endpoints', 'path'],
  persistentVolumeClaim: ['claimName'],
  rbd: ['monitors', 'image'],
  flexVolume: ['driver'],
  cinder: ['volumeID'],
  cephfs: ['monitors'],
  azureFile: ['secretName', 'shareName'],
  configMap: ['name'],
  vsphereVolume: ['volumePath'],
  quobyte: ['registry', 'volume'],
  azureDisk: ['diskName', 'diskURI'],
  photonPersistentDisk: ['pdID'],
  portworxVolume: ['volumeID'],
  scaleIO: ['gateway', 'system', 'volumeName'],
  storageos: ['volumeName'],
  csi: ['driver'],
  ephemeral: ['volumeClaimTemplate'],
  image: ['reference'],
};

const hostPathTypes = ['', 'BlockDevice', 'CharDevice', 'Directory', 'DirectoryOrCreate', 'File', 'FileOrCreate', 'Socket'];
const maxMode = 0o777;

export function validateVolumes(problems: Problems, spec: PodSpec): VolumesByName {
  const byName = new Map<string, Volume>();
  for (const [i, volume] of (spec.volumes ?? []).entries()) {
    const at = `spec.volumes[${i}]`;
    const name = volume.name ?? '';
    const before = problems.length;
    if (name === '') required(problems, `${at}.name`);
    else invalidFor(problems, `${at}.name`, name, dns1123LabelProblems(name));
    if (byName.has(name)) duplicate(problems, `${at}.name`, name);
    validateSource(problems, at, volume);
    // An invalid volume doesn't count: mounts of it are reported, too.
    if (problems.length === before) byName.set(name, volume);
    validateServiceAccountSources(problems, `${at}.projected.sources`, volume, spec);
  }
  return byName;
}

function validateSource(problems: Problems, field: string, volume: Volume): void {
  const [source, ...others] = Object.keys(volumeSources).filter((name) => volume[name] !== undefined);
  for (const other of others) forbidden(problems, `${field}.${other}`, 'may not specify more than 1 volume type');
  if (source === undefined) return;
  const at = `${field}.${source}`;
  const fields = volume[source] as Readonly<Record<string, unknown>>;
  for (const name of requiredFields[source] ?? []) if (fields[name] === undefined) required(problems, `${at}.${name}`);
  if (fields.defaultMode !== undefined) validateMode(problems, `${at}.defaultMode`, fields.defaultMode as number);
  validateKeys(problems, `${at}.items`, volume.secret?.items ?? volume.configMap?.items);
  validateDownwardItems(problems, `${at}.items`, volume.downwardAPI?.items);
  if (volume.projected !== undefined) validateProjected(problems, at, volume.projected.sources ?? []);
  validateParticulars(problems, at, source, volume);
}

function validateMode(problems: Problems, field: string, mode: number): void {
  if (mode < 0 || mode > maxMode) invalid(problems, field, mode, 'must be a number between 0 and 0777 (octal), both inclusive');
}

function validateKeys(problems: Problems, field: string, items: readonly KeyToPath[] | undefined): void {
  for (const [i, item] of (items ?? []).entries()) {
    const at = `${field}[${i}]`;
    if ((item.key ?? '') === '') required(problems, `${at}.key`);
    else invalidFor(problems, `${at}.key`, item.key, configKeyProblems(item.key));
    validateFilePath(problems, `${at}.path`, item.path ?? '');
    if (item.mode !== undefined) validateMode(problems, `${at}.mode`, item.mode);
  }
}

function validateFilePath(problems: Problems, field: string, path: string): void {
  if (path === '') required(problems, field);
  for (const problem of descendingPathProblems(path)) invalid(problems, field, path, problem);
  if (path.startsWith('..') && !path.startsWith('../')) invalid(problems, field, path, "must not start with '..'");
}

function validateDownwardItems(problems: Problems, field: string, items: readonly DownwardAPIVolumeFile[] | undefined): void {
  for (const [i, item] of (items ?? []).entries()) {
    const at = `${field}[${i}]`;
    validateFilePath(problems, `${at}.path`, item.path ?? '');
    if (item.fieldRef !== undefined) {
      validateFieldSelector(problems, `${at}.fieldRef`, item.fieldRef, 'volume');
      if (item.resourceFieldRef !== undefined) invalid(problems, at, 'resource', 'fieldRef and resourceFieldRef can not be specified simultaneously');
    } else if (item.resourceFieldRef !== undefined) validateResourceSelector(problems, `${at}.resourceFieldRef`, item.resourceFieldRef, 'volume');
    else required(problems, at, 'one of fieldRef and resourceFieldRef is required');
    if (item.mode !== undefined) validateMode(problems, `${at}.mode`, item.mode);
  }
}

const projectionKinds = ['secret', 'downwardAPI', 'configMap', 'serviceAccountToken', 'clusterTrustBundle', 'podCertificate'] as const;
const noServiceAccount = 'must not be specified when serviceAccountName is not set';

/** All sources write into one directory: a path can be there once. */
function validateProjected(problems: Problems, field: string, sources: readonly VolumeProjection[]): void {
  const paths = new Set<string>();
  for (const [i, source] of sources.entries()) {
    validateProjection(problems, `${field}.sources[${i}]`, source);
    const items = [...(source.secret?.items ?? []), ...(source.configMap?.items ?? []), ...(source.downwardAPI?.items ?? [])];
    for (const path of [...items.map((item) => item.path ?? ''), source.serviceAccountToken?.path ?? '']) {
      if (path !== '' && paths.has(path)) invalid(problems, field, path, 'conflicting duplicate paths');
      paths.add(path);
    }
  }
}

/** Tokens and certificates require a service account. */
function validateServiceAccountSources(problems: Problems, field: string, volume: Volume, spec: PodSpec): void {
  if ((spec.serviceAccountName ?? '') !== '') return;
  for (const [i, source] of (volume.projected?.sources ?? []).entries()) {
    if (source.serviceAccountToken !== undefined) forbidden(problems, `${field}[${i}].serviceAccountToken`, noServiceAccount);
    if (source.podCertificate !== undefined) forbidden(problems, `${field}[${i}].podCertificate`, noServiceAccount);
  }
}

function validateProjection(problems: Problems, field: string, projection: VolumeProjection): void {
  const given = projectionKinds.filter((kind) => projection[kind] !== undefined);
  if (given.length > 1) forbidden(problems, field, 'may not specify more than 1 volume type per source');
  if (projection.secret !== undefined && (projection.secret.name ?? '') === '') required(problems, `${field}.secret.name`);
  if (projection.configMap !== undefined && (projection.configMap.name ?? '') === '') required(problems, `${field}.configMap.name`);
  validateKeys(problems, `${field}.secret.items`, projection.secret?.items);
  validateKeys(problems, `${field}.configMap.items`, projection.configMap?.items);
  validateDownwardItems(problems, `${field}.downwardAPI.items`, projection.downwardAPI?.items);
  const bundle = projection.clusterTrustBundle;
  if (bundle !== undefined && bundle.path === undefined) required(problems, `${field}.clusterTrustBundle.path`);
  const token = projection.serviceAccountToken;
  if (token === undefined) return;
  if ((token.path ?? '') === '') required(problems, `${field}.serviceAccountToken.path`);
  const seconds = token.expirationSeconds ?? 3600;
  if (seconds < 600) invalid(problems, `${field}.serviceAccountToken.expirationSeconds`, seconds, 'may not specify a duration less than 10 minutes');
  if (seconds > 2 ** 32) invalid(problems, `${field}.serviceAccountToken.expirationSeconds`, seconds, 'may not specify a duration larger than 2^32 seconds');
}

function validateParticulars(problems: Problems, field: string, source: string, volume: Volume): void {
  switch (source) {
    case 'emptyDir': {
      const limit = volume.emptyDir?.sizeLimit;
      if (limit !== undefined && quantitySign(mustParseQuantity(limit)) < 0) forbidden(problems, `${field}.sizeLimit`, 'SizeLimit field must be a valid resource quantity');
      return;
    }
    case 'hostPath': {
      const { path = '', type = '' } = volume.hostPath ?? {};
      for (const problem of backstepProblems(path)) invalid(problems, `${field}.path`, path, problem);
      if (!hostPathTypes.includes(type)) notSupported(problems, `${field}.type`, type, hostPathTypes);
      return;
    }
    case 'nfs':
      if (volume.nfs?.path !== undefined && !volume.nfs.path.startsWith('/')) invalid(problems, `${field}.path`, volume.nfs.path, 'must be an absolute path');
      return;
    case 'iscsi':
      validateIscsi(problems, field, volume.iscsi as IscsiSource);
      return;
    case 'csi': {
      const driver = volume.csi?.driver;
      if (driver !== undefined)
        invalidFor(problems, `${field}.driver`, driver, driver.length > 63 ? ['must be no more than 63 characters'] : dns1123SubdomainProblems(driver.toLowerCase()));
      return;
    }
    case 'image': {
      const policy = volume.image?.pullPolicy;
      const policies = ['Always', 'IfNotPresent', 'Never'];
      if (policy !== undefined && !policies.includes(policy)) notSupported(problems, `${field}.pullPolicy`, policy, policies);
    }
  }
}

interface IscsiSource {
  readonly iqn?: string;
  readonly lun?: number;
  readonly chapAuthDiscovery?: boolean;
  readonly chapAuthSession?: boolean;
  readonly secretRef?: unknown;
}

const iqnForms = [/^iqn\.\d{4}-\d{2}\.([a-zA-Z0-9-]+)(\.[a-zA-Z0-9-]+)*(:[^,;*&$|\s]+)?$/, /^eui\.[0-9a-fA-F]{16}$/, /^naa\.[0-9a-fA-F]{32}$/];

function validateIscsi(problems: Problems, field: string, source: IscsiSource): void {
  if (source.iqn !== undefined && !iqnForms.some((form) => form.test(source.iqn as string))) invalid(problems, `${field}.iqn`, source.iqn, 'must be valid format');
  const lun = source.lun ?? 0;
  if (lun < 0 || lun > 255) invalid(problems, `${field}.lun`, lun, 'must be between 0 and 255, inclusive');
  if ((source.chapAuthDiscovery === true || source.chapAuthSession === true) && source.secretRef === undefined) required(problems, `${field}.secretRef`);
}
