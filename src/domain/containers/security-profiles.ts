// Seccomp and AppArmor profiles of a container.
// Invariant: the container's profile overrides the pod's; a localhost profile is always named.
import type { Container, SeccompProfile } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';
import type { SecurityProfile } from '../../ports/model/sandbox-config.js';
import { goQuote } from '../values/go-text.js';
import { joinPath } from '../values/slash-paths.js';
import type { Resolved } from './namespaces.js';

/** `container.apparmor.security.beta.kubernetes.io/<container>`, from before there was a field. */
export const apparmorAnnotationPrefix = 'container.apparmor.security.beta.kubernetes.io/';
const localhostPrefix = 'localhost/';

/** @param profilesDirectory where localhost profiles are, on the node */
export function seccompProfile(pod: Pod, container: Container, seccompDefault: boolean, profilesDirectory: string): Resolved<SecurityProfile> {
  const profile: SeccompProfile | undefined = container.securityContext?.seccompProfile ?? pod.spec.securityContext?.seccompProfile;
  if (profile === undefined) return { ok: true, value: { profileType: seccompDefault ? 'RuntimeDefault' : 'Unconfined' } };
  if (profile.type === 'RuntimeDefault') return { ok: true, value: { profileType: 'RuntimeDefault' } };
  if (profile.type !== 'Localhost') return { ok: true, value: { profileType: 'Unconfined' } };
  const file = profile.localhostProfile ?? '';
  if (file === '') return { ok: false, message: 'localhostProfile must be set if seccompProfile type is Localhost.' };
  return { ok: true, value: { profileType: 'Localhost', localhostRef: joinPath(profilesDirectory, file) } };
}

/** null: no profile, the runtime decides. */
export function apparmorProfile(pod: Pod, container: Container): Resolved<SecurityProfile | null> {
  const field = container.securityContext?.appArmorProfile ?? annotated(pod, container.name) ?? pod.spec.securityContext?.appArmorProfile;
  if (field === undefined) return { ok: true, value: null };
  switch (field.type) {
    case 'RuntimeDefault':
    case 'Unconfined':
      return { ok: true, value: { profileType: field.type } };
    case 'Localhost':
      if (field.localhostProfile === undefined) return { ok: false, message: 'missing localhost apparmor profile name' };
      return { ok: true, value: { profileType: 'Localhost', localhostRef: field.localhostProfile } };
    default:
      return { ok: false, message: `unknown apparmor profile type: ${goQuote(field.type)}` };
  }
}

/** An annotation with an unknown value is ignored. */
function annotated(pod: Pod, containerName: string): { readonly type: string; readonly localhostProfile?: string } | undefined {
  const value = pod.metadata.annotations?.[apparmorAnnotationPrefix + containerName];
  if (value === 'runtime/default') return { type: 'RuntimeDefault' };
  if (value === 'unconfined') return { type: 'Unconfined' };
  return value?.startsWith(localhostPrefix) === true ? { type: 'Localhost', localhostProfile: value.slice(localhostPrefix.length) } : undefined;
}
