import { agentMachine } from '../../src/domain/agent/agent.js';
import { newAgentState, type AgentEvent, type AgentState } from '../../src/domain/agent/agent-state.js';
import { defaultSettings } from '../../src/domain/agent/settings.js';
import { Kernel } from '../../src/domain/kernel/kernel.js';
import type { AgentOperations } from '../../src/ports/outbound/outbound-ports.js';
import { SimContainerRuntime } from '../../src/sim/runtime/sim-container-runtime.js';
import { SimNode } from '../../src/sim/sim-node.js';
import { World } from '../../src/sim/world.js';
import type { Pod } from '../../src/ports/model/pod.js';

const facts = { nodeAddresses: [], cgroupRoot: '' } as never;
const evented = process.argv[2] === 'evented';
const n = Number(process.argv[3] ?? 1);
const state = newAgentState({ ...defaultSettings, runtimeTellsChanges: evented }, facts);
const kernel = new Kernel<AgentState, AgentEvent, AgentOperations>(agentMachine(state), state, 1);
const runtime = new SimContainerRuntime({ seed: 1, registry: 'any' });
const logAll = n === 1;
const host = {
  knows: () => true,
  handle: (op: string, request: unknown) => {
    if (op === 'events.record' && logAll) { const e = request as { reason: string; message: string; involvedObject: { name: string; fieldPath?: string } }; console.log((world.now / 1e6).toFixed(3), 'EVENT', e.involvedObject.name, e.involvedObject.fieldPath ?? '', e.reason, e.message); }
    const value = op === 'podCgroups.list' || op === 'podDirectories.list' || op === 'podLogs.listDirectories' ? [] : op === 'podCgroups.ensure' ? { created: true } : op === 'podCgroups.exists' ? true : op === 'podDirectories.prepareContainer' ? { terminationFile: '' } : op === 'podLogs.nextRestartCount' ? 0 : null;
    return { after: 100, outcome: { ok: true as const, value } };
  },
};
const node = new SimNode({ runtime, host: host as never, runtimeTellsChanges: evented });
const start = 1_800_000_000_000_000;
const world = new World<AgentState, AgentEvent, AgentOperations>({ start, hash: logAll, log: (_n, now, level, message) => { if (logAll || level === 'error') console.log((now / 1e6).toFixed(3), level, message); } });
world.add('node', kernel, node);
world.send('node', { type: 'start' });
const pod = (name: string, script: string): Pod => ({ metadata: { name, namespace: 'default', uid: `uid-${name}`, annotations: { 'sim.kubelet-ts/c': script } }, spec: { restartPolicy: 'Always', terminationGracePeriodSeconds: 5, containers: [{ name: 'c', image: 'busybox', imagePullPolicy: 'IfNotPresent' }] } });
const pods = Array.from({ length: n }, (_, i) => pod(`p${i}`, process.argv[4] ?? (n === 1 ? 'run=3s,exit=1; run=forever' : 'run=10s,exit=1')));
world.send('node', { type: 'podSet', source: 'file', pods });
const t = performance.now();
world.runUntil(start + 60e6);
const steps1 = world.steps;
console.log('60 s:', steps1, 'steps', performance.now() - t, 'ms');
if (logAll) console.log(JSON.stringify(state.statuses.get('uid-p0')?.status, null, 1));
const t2 = performance.now();
world.runUntil(start + 600e6);
console.log('600 s:', world.steps - steps1, 'steps', performance.now() - t2, 'ms', Math.round((world.steps - steps1) / (performance.now() - t2) * 1000), 'steps/s');
world.send('node', { type: 'podSet', source: 'file', pods: [] });
world.runUntil(start + 800e6);
console.log('after removal: records', state.workers.records.size, 'sandboxes', runtime.state.sandboxes.size, 'containers', runtime.state.containers.size, 'statuses', state.statuses.size, 'hash', world.hash);
