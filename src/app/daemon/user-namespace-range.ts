// Which of the host's ids this kubelet may give to pods, found once at the start: a range that can't be used refuses the start.
import { readSubordinateIds } from '../../adapters/linux/index.js';
import type { KubeletConfiguration } from '../../domain/configuration/schema.js';
import { idRangeOwner, type SubordinateIds, type UserNamespaceSettings, userNamespaceSettings } from '../../domain/user-namespaces/id-range.js';
import { StartRefusal } from '../../ports/start-refusal.js';

const prefix = 'failed to run Kubelet: failed to create kubelet: create user namespace manager: ';

export async function userNamespaceRange(configuration: KubeletConfiguration, environment: Readonly<Record<string, string | undefined>>): Promise<UserNamespaceSettings> {
  let ids: SubordinateIds;
  try {
    ids = await readSubordinateIds({ user: idRangeOwner, searchPath: environment.PATH ?? '' });
  } catch (error) {
    throw new StartRefusal(`${prefix}kubelet mappings: ${error instanceof Error ? error.message : String(error)}`);
  }
  const settings = userNamespaceSettings(ids, configuration.userNamespaces?.idsPerPod ?? null, configuration.maxPods);
  if (!settings.ok) throw new StartRefusal(`${prefix}${settings.error}`);
  return settings.value;
}
