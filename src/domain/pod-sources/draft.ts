// A freshly decoded object that its owner may still change; a readonly API object after that.
import type { Container, EphemeralContainer, Handler, Probe } from '../../ports/model/container.js';
import type { Pod } from '../../ports/model/pod.js';
import type { Volume } from '../../ports/model/volume.js';

export type Draft<T> = T extends readonly (infer U)[] ? Draft<U>[] : T extends object ? { -readonly [K in keyof T]: Draft<T[K]> } : T;

export type PodDraft = Draft<Pod>;
export type ContainerDraft = Draft<Container>;
export type EphemeralContainerDraft = Draft<EphemeralContainer>;
export type ProbeDraft = Draft<Probe>;
export type HandlerDraft = Draft<Handler>;
/** The sources by name, as plain structures: the schema has checked them. */
export type VolumeDraft = Draft<Volume>;
