// In-tree cloud volumes, which are CSI volumes today: each old source maps to a persistent volume of the cloud's driver.
// Invariant: the same source always gives the same handle, so that a volume keeps its identity.
import type { ObjectMeta } from '../../ports/model/object-meta.js';
import type { CSIPersistentVolumeSource, PersistentVolume } from '../../ports/model/storage.js';
import { specName, type VolumeSpec } from './volume-spec.js';

export type Migration =
  | { readonly kind: 'not-migrated' }
  | { readonly kind: 'migrated'; readonly spec: VolumeSpec & { readonly kind: 'persistent' } }
  | { readonly kind: 'failed'; readonly message: string };

/** What all old sources have in common, and each one's own fields. */
type OldSource = Readonly<Record<string, string | number | boolean | null | undefined>>;

interface Translated {
  readonly volumeHandle: string;
  readonly attributes?: Readonly<Record<string, string>>;
  readonly nodeStageSecretRef?: { readonly name: string; readonly namespace: string };
  /** The name of the persistent volume for an inline volume; null: made from driver and handle. */
  readonly name?: string;
  /** A share, which many nodes may write to. */
  readonly isShared?: boolean;
}
type Translation = Translated | { readonly problem: string };

interface Translator {
  readonly source: string;
  readonly driver: string;
  readonly translate: (source: OldSource, spec: VolumeSpec, podNamespace: string) => Translation;
}

const multiZoneDelimiter = '__';

const translators: readonly Translator[] = [
  { source: 'awsElasticBlockStore', driver: 'ebs.csi.aws.com', translate: translateEbs },
  { source: 'gcePersistentDisk', driver: 'pd.csi.storage.gke.io', translate: translateGcePd },
  { source: 'azureDisk', driver: 'disk.csi.azure.com', translate: translateAzureDisk },
  { source: 'azureFile', driver: 'file.csi.azure.com', translate: translateAzureFile },
  { source: 'cinder', driver: 'cinder.csi.openstack.org', translate: (source) => ({ volumeHandle: text(source['volumeID']) }) },
  { source: 'vsphereVolume', driver: 'csi.vsphere.vmware.com', translate: translateVsphere },
  { source: 'portworxVolume', driver: 'pxd.portworx.com', translate: (source) => ({ volumeHandle: text(source['volumeID']) }) },
];

/** The CSI volume in place of an old one. A persistent volume keeps its name, modes and metadata. */
export function migrateToCsi(spec: VolumeSpec, podNamespace: string): Migration {
  const holder: Readonly<Record<string, unknown>> = spec.kind === 'inline' ? spec.volume : spec.persistentVolume.spec;
  const translator = translators.find(({ source }) => holder[source] !== undefined && holder[source] !== null);
  if (translator === undefined) return { kind: 'not-migrated' };
  const old = holder[translator.source] as OldSource;
  const translated = translator.translate(old, spec, podNamespace);
  if ('problem' in translated) return { kind: 'failed', message: `failed to translate in-tree pv to CSI: ${translated.problem}` };
  const csi = csiSource(translator.driver, old, translated);
  const persistentVolume = spec.kind === 'inline' ? volumeOfInline(csi, translated) : withCsi(spec.persistentVolume, translator.source, csi);
  return { kind: 'migrated', spec: { kind: 'persistent', persistentVolume, readOnly: spec.kind === 'inline' ? old['readOnly'] === true : spec.readOnly } };
}

function csiSource(driver: string, old: OldSource, { volumeHandle, attributes = {}, nodeStageSecretRef }: Translated): CSIPersistentVolumeSource {
  const fsType = text(old['fsType']);
  return {
    driver,
    volumeHandle,
    ...(old['readOnly'] === true ? { readOnly: true } : {}),
    ...(fsType === '' ? {} : { fsType }),
    ...(Object.keys(attributes).length === 0 ? {} : { volumeAttributes: attributes }),
    ...(nodeStageSecretRef === undefined ? {} : { nodeStageSecretRef }),
  };
}

function volumeOfInline(csi: CSIPersistentVolumeSource, { name, isShared = false }: Translated): PersistentVolume {
  // The name is in the staging path, so it is one a disk.
  const metadata: ObjectMeta = { name: name ?? `${csi.driver}-${csi.volumeHandle}` };
  return { metadata, spec: { accessModes: [isShared ? 'ReadWriteMany' : 'ReadWriteOnce'], volumeMode: 'Filesystem', csi } };
}

function withCsi(volume: PersistentVolume, oldSource: string, csi: CSIPersistentVolumeSource): PersistentVolume {
  const { [oldSource]: _, ...spec } = volume.spec;
  return { ...volume, spec: { ...spec, csi } };
}

/** `vol-1`, or `aws://<zone>/vol-1`. */
function translateEbs(source: OldSource): Translation {
  const id = text(source['volumeID']);
  const attributes = { partition: String(source['partition'] ?? 0) };
  if (!id.startsWith('aws://')) return { volumeHandle: id, attributes };
  const path = id
    .slice('aws://'.length)
    .replace(/^[^/]*/, '')
    .replace(/^\/+|\/+$/g, '');
  if (!/^vol-[^/]*$/.test(path)) return { problem: `failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (${id})` };
  return { volumeHandle: path, attributes };
}

/** A persistent volume's zone labels are in the handle; several zones are a disk of their region. */
function translateGcePd(source: OldSource, spec: VolumeSpec): Translation {
  const disk = text(source['pdName']);
  const partition = source['partition'] ?? 0;
  const attributes = { partition: partition === 0 ? '' : String(partition) };
  const name = `pd.csi.storage.gke.io-${disk}`;
  const labels = spec.kind === 'inline' ? {} : (spec.persistentVolume.metadata.labels ?? {});
  const label = labels['topology.kubernetes.io/zone'] ?? labels['failure-domain.beta.kubernetes.io/zone'] ?? '';
  const zones = label.split(multiZoneDelimiter);
  if (zones.length < 2) return { volumeHandle: `projects/UNSPECIFIED/zones/${label === '' ? 'UNSPECIFIED' : label}/disks/${disk}`, attributes, name };
  const regions = [...new Set(zones.map((zone) => zone.slice(0, zone.lastIndexOf('-'))))];
  if (regions.length > 1) return { problem: `multiple or no regions gotten from zones, got: ${regions.join(' ')}` };
  return { volumeHandle: `projects/UNSPECIFIED/regions/${regions[0]}/disks/${disk}`, attributes, name };
}

function translateAzureDisk(source: OldSource): Translation {
  const uri = text(source['diskURI']);
  const given = { cachingmode: text(source['cachingMode']), fstype: text(source['fsType']), kind: text(source['kind']) };
  return { volumeHandle: uri, name: uri, attributes: Object.fromEntries(Object.entries(given).filter(([, value]) => value !== '')) };
}

/** The handle has all that the driver needs to find the account's key. */
function translateAzureFile(source: OldSource, spec: VolumeSpec, podNamespace: string): Translation {
  const secretName = text(source['secretName']);
  const share = text(source['shareName']);
  const claim = spec.kind === 'inline' ? undefined : spec.persistentVolume.spec.claimRef;
  const named = text(source['secretNamespace']);
  if (spec.kind === 'persistent' && named === '' && claim === undefined) return { problem: 'could not find a secret namespace in PersistentVolumeSource or ClaimRef' };
  const own = spec.kind === 'inline' ? podNamespace : named || (claim?.namespace ?? '');
  const namespace = own === '' ? 'default' : own;
  const volumeHandle = `#${secretName}#${share}#${specName(spec)}#${namespace}`;
  return { volumeHandle, name: volumeHandle, attributes: { sharename: share }, nodeStageSecretRef: { name: secretName, namespace }, isShared: true };
}

function translateVsphere(source: OldSource): Translation {
  const policy = text(source['storagePolicyName']);
  return { volumeHandle: text(source['volumePath']), ...(policy === '' ? {} : { attributes: { storagepolicyname: policy } }) };
}

function text(value: OldSource[string]): string {
  return typeof value === 'string' ? value : '';
}
