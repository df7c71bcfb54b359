// Package entry `kubelet-ts/domain`: the agent as a machine, the kernel that runs it, and the parts of a kubelet's knowledge that are of use
// by themselves. No Node module and no package below here.
export { agentMachine } from './agent/agent.js';
export { type AgentEvent, type AgentState, newAgentState } from './agent/agent-state.js';
export { type KubeletEvent, type KubeletOperations, type KubeletPorts, type KubeletSettings, type KubeletState, kubeletMachine, newKubeletState } from './agent/kubelet.js';
export { type AgentSettings, defaultSettings } from './agent/settings.js';
export { nodeFacts } from './containers/default-node-facts.js';
export type { NodeFacts } from './containers/node-facts.js';
export { canonicalJson, hashText, parseCanonicalJson } from './kernel/canonical.js';
export { type Divergence, outputText, type RecordedStep, replay } from './kernel/flight-recorder.js';
export { type Input, Kernel, type Output } from './kernel/kernel.js';
export type { Address, Command, Machine, Reply, Turn, Wake } from './kernel/machine.js';
export { type ManifestPods, podsOfManifest } from './pod-sources/manifest-pods.js';
export { podQosClass, type QosClass } from './qos/qos-class.js';
export { isTerminalPhase } from './status/phase.js';
export { compareQuantities, parseQuantity, type Quantity, quantityMilliValue, quantityText, quantityValue } from './values/quantity.js';
