// The CRI features of existing container runtimes, as options of the mock: for developers of kubelets or CRI clients
// without access to each of them. Copies only the interface, not failures or timing.
// Source: the runtimes' release notes and their code; features that depend on the host (kernel, runc, CRIU, settings) are assumed present.
import type { MockCriOptions, MockCriProfile } from './mock-cri-options.js';

type Offered = Pick<
  MockCriOptions,
  | 'runtimeName'
  | 'runtimeHandlers'
  | 'reportsHandlers'
  | 'userNamespaces'
  | 'recursiveReadOnlyMounts'
  | 'supplementalGroupsPolicy'
  | 'offersEvents'
  | 'offersListStreams'
  | 'offersCheckpoints'
  | 'cgroupDriver'
>;

/** No handlers in its status, so that a kubelet takes it to offer neither user namespaces nor recursive read-only mounts. */
const before2: Offered = {
  runtimeName: 'containerd',
  reportsHandlers: false,
  userNamespaces: false,
  recursiveReadOnlyMounts: false,
  supplementalGroupsPolicy: null,
  offersEvents: false,
  offersListStreams: false,
  offersCheckpoints: false,
  cgroupDriver: null,
};

const from2: Offered = {
  runtimeName: 'containerd',
  runtimeHandlers: ['runc'],
  reportsHandlers: true,
  userNamespaces: true,
  recursiveReadOnlyMounts: true,
  supplementalGroupsPolicy: true,
  offersEvents: true,
  offersListStreams: false,
  offersCheckpoints: false,
  cgroupDriver: 'cgroupfs',
};

export const mockCriProfiles: Readonly<Record<MockCriProfile, Offered>> = {
  'containerd-1.6': before2,
  'containerd-1.7': { ...before2, offersEvents: true },
  'containerd-2.0': from2,
  'containerd-2.1': { ...from2, offersCheckpoints: true },
  // Its events are off unless its configuration has enable_pod_events.
  'cri-o': { ...from2, runtimeName: 'cri-o', runtimeHandlers: ['crun', 'runc'], offersEvents: false, offersCheckpoints: true },
};

/** Throws a TypeError for a profile that there isn't. */
export function withProfile(options: MockCriOptions): MockCriOptions {
  const { profile } = options;
  if (profile === undefined) return options;
  if (!Object.hasOwn(mockCriProfiles, profile)) throw new TypeError(`no such profile: ${profile}; there are ${Object.keys(mockCriProfiles).join(', ')}`);
  return { ...mockCriProfiles[profile], ...options };
}
