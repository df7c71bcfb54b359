// Create validation of AppArmor profiles: the field, the older annotations, and the agreement of both.
// The kernel's name identifies a profile, and may look like a path.
import type { AppArmorProfile } from '../../../ports/model/container.js';
import type { Pod } from '../../../ports/model/pod.js';
import { apparmorAnnotationPrefix } from '../../containers/security-profiles.js';
import { goQuote } from '../../values/go-text.js';
import { utf8Length } from '../../values/utf8.js';
import { forbidden, invalid, oneOf, type Problems, required, tooLong } from './field-problem.js';

const localhostPrefix = 'localhost/';
const byAnnotation: Readonly<Record<string, string>> = { RuntimeDefault: 'runtime/default', Unconfined: 'unconfined' };
/** The longest path of Linux. */
const maxNameBytes = 4095;

export function validateAppArmorProfile(problems: Problems, field: string, profile: AppArmorProfile): void {
  const at = `${field}.localhostProfile`;
  const name = profile.localhostProfile;
  oneOf(problems, `${field}.type`, profile.type, ['Localhost', 'RuntimeDefault', 'Unconfined']);
  if (profile.type !== 'Localhost') {
    if (name !== undefined && (profile.type === 'RuntimeDefault' || profile.type === 'Unconfined')) invalid(problems, at, name, 'can only be set when AppArmor type is Localhost');
    return;
  }
  if (name === undefined || name === '') required(problems, at, 'must be set when AppArmor type is Localhost');
  else if (name.trim() !== name) invalid(problems, at, name, 'must not be padded with whitespace');
  if (name !== undefined && utf8Length(name) > maxNameBytes) tooLong(problems, at, maxNameBytes);
}

/** Of all containers, each annotation separately. */
export function validateAppArmorAnnotations(problems: Problems, { metadata, spec }: Pod): void {
  const names = new Set([...(spec.initContainers ?? []), ...spec.containers, ...(spec.ephemeralContainers ?? [])].map(({ name }) => name));
  for (const [key, value] of Object.entries(metadata.annotations ?? {})) {
    if (!key.startsWith(apparmorAnnotationPrefix)) continue;
    const name = key.slice(apparmorAnnotationPrefix.length);
    if (!names.has(name)) invalid(problems, `metadata.annotations[${key}]`, name, 'container not found');
    const isKnown = value === '' || value === byAnnotation.RuntimeDefault || value === byAnnotation.Unconfined || value.startsWith(localhostPrefix);
    if (!isKnown) invalid(problems, `metadata.annotations[${key}]`, value, `invalid AppArmor profile name: ${goQuote(value)}`);
  }
}

/** Containers whose profile is set in both ways. */
export function validateAppArmorAgreement(problems: Problems, pod: Pod): void {
  const { spec } = pod;
  for (const list of ['initContainers', 'containers', 'ephemeralContainers'] as const) {
    for (const [i, { name, securityContext }] of (spec[list] ?? []).entries()) {
      const profile = securityContext?.appArmorProfile ?? spec.securityContext?.appArmorProfile;
      const annotation = pod.metadata.annotations?.[apparmorAnnotationPrefix + name];
      if (profile !== undefined && annotation !== undefined) compare(problems, `spec.${list}[${i}].securityContext.appArmorProfile`, profile, annotation);
    }
  }
}

function compare(problems: Problems, field: string, profile: AppArmorProfile, annotation: string): void {
  const isLocalhost = profile.type === 'Localhost';
  const matches = isLocalhost ? annotation.startsWith(localhostPrefix) : annotation === (byAnnotation[profile.type ?? ''] ?? annotation);
  if (!matches) forbidden(problems, `${field}.type`, 'apparmor type in annotation and field must match');
  else if (isLocalhost && annotation.slice(localhostPrefix.length) !== profile.localhostProfile) {
    forbidden(problems, `${field}.localhostProfile`, 'apparmor profile in annotation and field must match');
  }
}
