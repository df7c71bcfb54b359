// The parts of a control plane that the simulated apiserver has inside.

export type ControllerName = 'namespaces' | 'scheduler' | 'certificates' | 'garbage' | 'taints' | 'ttl' | 'heartbeats' | 'events';

export const allControllers: readonly ControllerName[] = ['namespaces', 'scheduler', 'certificates', 'garbage', 'taints', 'ttl', 'heartbeats', 'events'];
