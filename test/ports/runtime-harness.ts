// The runtime under test, for the contract of container runtimes.
import type { PortOf } from '../../src/ports/operation.js';
import type { ContainerOperations, ImageOperations, RuntimeStateOperations, SandboxOperations } from '../../src/ports/outbound/container-runtime.js';

export interface RuntimePortsUnderTest {
  readonly runtime: PortOf<RuntimeStateOperations>;
  readonly sandboxes: PortOf<SandboxOperations>;
  readonly containers: PortOf<ContainerOperations>;
  readonly images: PortOf<ImageOperations>;
}

export interface RuntimeHarness {
  readonly ports: RuntimePortsUnderTest;
  /** An image that is there, and one whose registry does not answer. */
  readonly image: string;
  readonly unreachableImage: string;
  /** Where sandboxes of the suite belong; '' for the runtime's default. */
  readonly cgroupParent: string;
  /** Waits until it holds: real time or virtual. Fails by itself after a while. */
  until(holds: () => Promise<boolean>): Promise<void>;
  close(): Promise<void>;
}
