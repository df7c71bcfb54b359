// The start of one container under way, as data.
import type { Micros } from '../../ports/micros.js';
import type { Container } from '../../ports/model/container.js';
import type { RuntimeImage } from '../../ports/outbound/container-runtime.js';

export type ContainerGroup = 'init' | 'regular' | 'ephemeral';

export interface ContainerStart {
  readonly container: Container;
  readonly group: ContainerGroup;
  phase: 'begin' | 'image' | 'pull' | 'pulled' | 'count' | 'hosts' | 'files' | 'create' | 'start' | 'done' | 'failed';
  /** With the tag that a bare name stands for. */
  image: string;
  imageRef: string;
  imageStatus: RuntimeImage | null;
  pullStartedAt: Micros;
  restartCount: number;
  terminationFile: string;
  containerId: string;
}

export function newContainerStart(container: Container, group: ContainerGroup): ContainerStart {
  return { container, group, phase: 'begin', image: '', imageRef: '', imageStatus: null, pullStartedAt: 0, restartCount: 0, terminationFile: '', containerId: '' };
}
