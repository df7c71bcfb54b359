// How iSCSI and Fibre Channel devices are called in paths.

export type Named = { readonly ok: true; readonly value: string } | { readonly ok: false; readonly message: string };

export interface IscsiSource {
  readonly targetPortal?: string;
  readonly iqn?: string;
  readonly lun?: number;
  readonly iscsiInterface?: string;
  readonly readOnly?: boolean;
}
export interface FcSource {
  readonly targetWWNs?: readonly string[];
  readonly wwids?: readonly string[];
  readonly lun?: number;
  readonly readOnly?: boolean;
}

const iscsiPort = '3260';

/** `iface-<interface>/<portal>-<iqn>-lun-<lun>`; a portal without a port has iSCSI's own. */
export function iscsiDevice({ targetPortal = '', iqn = '', lun = 0, iscsiInterface = '' }: IscsiSource): string {
  const portal = targetPortal.includes(':') ? targetPortal : `${targetPortal}:${iscsiPort}`;
  return `iface-${iscsiInterface}/${portal}-${iqn}-lun-${lun}`;
}

/** World wide names with a LUN, or world wide identifiers. */
export function fcDevice({ targetWWNs = [], wwids = [], lun }: FcSource): Named {
  if (targetWWNs.length > 0 && lun !== undefined) return { ok: true, value: `${targetWWNs.join('-')}-lun-${lun}` };
  if (wwids.length > 0) return { ok: true, value: wwids.map((wwid) => wwid.replaceAll(' ', '_')).join('-') };
  return { ok: false, message: 'fc: no fc disk information found. failed to make a new mounter' };
}
