// Claims for devices on a simulated node of a cluster: drivers register, claims are prepared before pods start and unprepared after them; what goes wrong
// with claims, drivers and the state file; restarts.
import t from 'tap';
import { DraRun, gpu, nic } from './dra-run.js';
import { minute, second } from './sim-pods.js';

t.test('a claim is prepared before its pod starts and unprepared after it; the state file says so meanwhile', async (t) => {
  const run = new DraRun();
  run.until('there is a state file', () => run.saved().length === 0);
  t.equal(run.host.state.stateFiles.get('dra_manager_state')?.includes('\\"ClaimInfoStateList\\":[]'), true);
  run.driver();
  const claim = run.deviceClaim('g');
  const uid = run.claimingPod('a', ['g']);
  run.runs('a');
  t.strictSame(run.calls, ['prepare g']);
  t.strictSame(run.cdiDevices(uid), [[`${gpu}/device=${claim}`]]);
  t.strictSame(run.saved(), [`g: 1 pods; ${gpu}=${gpu}/device=${claim}`]);
  run.goes('a');
  t.strictSame([run.calls, run.preparedBy(), run.saved()], [['prepare g', 'unprepare g'], [], []]);
  t.strictSame(run.events(), []);
  t.strictSame(run.cluster.violations, []);
});

t.test('a claim of two pods is prepared once, and unprepared by the last of them', async (t) => {
  const run = new DraRun();
  run.driver();
  run.deviceClaim('g');
  run.claimingPod('a', ['g']);
  run.claimingPod('b', ['g']);
  run.runs('a');
  run.runs('b');
  t.match(run.saved(), [/^g: 2 pods/]);
  run.goes('a');
  t.strictSame(run.calls, ['prepare g']);
  t.match(run.saved(), [/^g: 1 pods/]);
  t.strictSame(run.preparedBy(), ['g']);
  run.goes('b');
  t.strictSame(run.calls, ['prepare g', 'unprepare g']);
  t.strictSame(run.saved(), []);
  t.strictSame(run.cluster.violations, []);
});

t.test('a claim of several drivers, and several claims of one: each driver is asked once, and a container has what it asks for', async (t) => {
  const run = new DraRun();
  run.driver(gpu);
  run.driver(nic);
  const device = (deviceName: string, requestNames: readonly string[]) => ({ requestNames, poolName: 'pool', deviceName, cdiDeviceIds: [`x/y=${deviceName}`], shareId: null });
  run.host.state.draDevices.set('both', [device('one', ['r0']), device('two', ['r1']), device('all', []), device('one', ['r0'])]);
  run.deviceClaim('both', [gpu, nic]);
  run.deviceClaim('other', [gpu]);
  const uid = run.claimingPod('a', ['both', 'other'], {}, { claims: [{ name: 'c-both', request: 'r0' }] });
  run.runs('a');
  t.strictSame(run.calls.toSorted(), ['prepare both', 'prepare both,other']);
  t.strictSame(run.cdiDevices(uid), [['x/y=one', 'x/y=all']]);
  run.goes('a');
  t.strictSame(run.calls.slice(2).toSorted(), ['unprepare both', 'unprepare both,other']);
  t.strictSame(run.cluster.violations, []);
});

t.test('a claim that was made from a template has to be the pod’s own; where none is needed none is asked for', async (t) => {
  const run = new DraRun();
  run.driver();
  const spec = { resourceClaims: [{ name: 'own', resourceClaimTemplateName: 't' }], containers: [{ name: 'main', image: 'app:1', resources: { claims: [{ name: 'own' }] } }] };
  const uid = run.pod('a', [], spec);
  run.until('it says what is missing', () => run.events().length > 0);
  t.equal(run.events()[0], 'Failed to prepare dynamic resources: prepare dynamic resources: pod "default/a": ResourceClaim not created yet');
  const owner = { apiVersion: 'v1', kind: 'Pod', name: 'z', uid: run.pod('z', []), controller: true };
  run.deviceClaim('a-own-1', [gpu], { ownerReferences: [owner] });
  run.setClaim('a-own-1', { reservedFor: [{ resource: 'pods', name: 'a', uid }] });
  run.admin.patch('pods', 'a', { status: { resourceClaimStatuses: [{ name: 'own', resourceClaimName: 'a-own-1' }] } }, 'status');
  run.until('it says whose it is', () => run.events().some((text) => text.endsWith('ResourceClaim default/a-own-1 was not created for Pod default/a (Pod is not owner)')));
  run.admin.patch('resourceclaims', 'a-own-1', {
    metadata: {
      ownerReferences: [
        { ...owner, name: 'a', uid },
        { uid: owner.uid, $patch: 'delete' },
      ],
    },
  });
  run.runs('a');
  t.strictSame(run.calls, ['prepare a-own-1']);
  const without = run.pod('b', [], spec);
  run.admin.patch('pods', 'b', { status: { resourceClaimStatuses: [{ name: 'own' }] } }, 'status');
  run.runs('b');
  t.strictSame([run.calls.length, run.cdiDevices(without)], [1, [[]]]);
  t.strictSame(run.cluster.violations, []);
});

t.test('the claim behind extended resources', async (t) => {
  const run = new DraRun();
  run.driver();
  const claim = run.deviceClaim('x');
  const resources = { requests: { 'example.com/gpu': '1' }, limits: { 'example.com/gpu': '1' } };
  const uid = run.pod('a', [], { containers: [{ name: 'main', image: 'app:1', resources }] });
  const requestMappings = [{ containerName: 'main', resourceName: 'example.com/gpu', requestName: 'r0' }];
  run.admin.patch('pods', 'a', { status: { extendedResourceClaimStatus: { resourceClaimName: 'x', requestMappings } } }, 'status');
  run.setClaim('x', { reservedFor: [{ resource: 'pods', name: 'a', uid }] });
  run.runs('a');
  t.strictSame(run.cdiDevices(uid), [[`${gpu}/device=${claim}`]]);
  run.goes('a');
  t.strictSame(run.calls, ['prepare x', 'unprepare x']);
});

type Given = (run: DraRun) => void;
const problems: readonly (readonly [sentence: string, given: Given, reserved: readonly string[], error: RegExp])[] = [
  ['a claim that isn’t there', () => {}, [], /^fetch ResourceClaim g: resourceclaims.resource.k8s.io "g" not found$/],
  ['one that is reserved for others', (run) => void run.deviceClaim('g'), [], /^pod a \([-\w]+\) is not allowed to use ResourceClaim g \([-\w]+\)$/],
  [
    'one that nothing was given to',
    (run) => {
      run.deviceClaim('g');
      run.setClaim('g', { allocation: null });
    },
    ['g'],
    /^ResourceClaim g: not allocated$/,
  ],
  ['a driver that isn’t registered', (run) => void run.deviceClaim('g', [nic]), ['g'], new RegExp(`^DRA driver ${nic} is not registered$`)],
];
for (const [sentence, given, reserved, error] of problems) {
  t.test(`${sentence}: the pod waits, nothing is noted, and an event says why`, async (t) => {
    const run = new DraRun();
    run.driver();
    given(run);
    run.claimingPod('a', ['g'], {}, {}, reserved);
    run.until('it is told', () => run.events().length > 0);
    t.match(run.events()[0]?.replace('Failed to prepare dynamic resources: prepare dynamic resources: ', ''), error);
    t.strictSame([run.phase('a'), run.calls, run.saved()], ['Pending', [], []]);
    run.goes('a');
    t.strictSame(run.cluster.violations, []);
  });
}

t.test('a driver that comes later is not waited for longer than that', async (t) => {
  const run = new DraRun();
  run.deviceClaim('g');
  run.claimingPod('a', ['g']);
  run.until('it waits', () => run.events().length > 0);
  run.run(7 * second);
  run.driver();
  t.ok(run.cluster.runUntil(() => run.phase('a') === 'Running', 5 * second));
});

t.test('what drivers fail with is told, and they are asked again', async (t) => {
  const run = new DraRun();
  const plugin = run.driver();
  run.deviceClaim('g');
  plugin.claimErrors.set('g', 'out of order');
  run.claimingPod('a', ['g']);
  run.until('it is told', () => run.events().length > 0);
  t.equal(run.events()[0], 'Failed to prepare dynamic resources: prepare dynamic resources: NodePrepareResources failed for ResourceClaim g: out of order');
  t.match(run.saved(), [/^g: 1 pods/], 'it may have done something');
  plugin.failures.push({ call: 'prepare', kind: 'internal', message: 'rpc error: code = Internal desc = boom' });
  run.until('it is told of the call', () => run.events().some((text) => text.endsWith(': NodePrepareResources: rpc error: code = Internal desc = boom')));
  plugin.claimErrors.clear();
  run.runs('a');
  plugin.claimErrors.set('g', 'busy');
  run.admin.remove('pods', 'a', {});
  run.run(minute);
  t.equal(run.admin.get('pods', 'a').code, 200, 'it is there until the driver has let go');
  t.strictSame([...new Set(run.events('FailedKillPod'))], ['error killing pod: unprepare dynamic resources: NodeUnprepareResources failed for ResourceClaim g: busy']);
  plugin.claimErrors.clear();
  run.until('it is gone', () => run.admin.get('pods', 'a').code === 404);
  t.strictSame([run.preparedBy(), run.saved()], [[], []]);
  t.strictSame(run.cluster.violations, []);
});

t.test('a driver that hangs is given up after 45 s, one that has gone is waited for', async (t) => {
  const run = new DraRun();
  run.driver();
  run.deviceClaim('g');
  run.cluster.node().setFaults([{ operation: 'draPlugin.prepare', trigger: { times: 1 }, action: { kind: 'hang', moment: 'after' } }]);
  run.claimingPod('a', ['g']);
  run.run(40 * second);
  t.strictSame(run.events(), []);
  run.until('it is told', () => run.events().length > 0);
  run.runs('a');
  run.host.csi.remove(`${gpu}-reg.sock`);
  run.admin.remove('pods', 'a', {});
  run.run(minute);
  t.equal(run.admin.get('pods', 'a').code, 200);
  run.driver();
  run.until('it is gone', () => run.admin.get('pods', 'a').code === 404);
  t.strictSame(run.saved(), []);
  t.strictSame(run.cluster.violations, []);
});

t.test('a pod that goes while its claims are prepared has them unprepared', async (t) => {
  const run = new DraRun();
  run.driver();
  run.deviceClaim('g');
  run.cluster.node().setFaults([{ operation: 'draPlugin.prepare', trigger: { times: 1 }, action: { kind: 'delay', moment: 'after', micros: 20 * second } }]);
  run.claimingPod('a', ['g']);
  run.until('the driver is at it', () => run.calls.length === 1);
  run.goes('a');
  t.strictSame([run.calls, run.preparedBy(), run.saved()], [['prepare g', 'unprepare g'], [], []]);
  t.equal(run.cluster.node().agent.dra?.tasks.size, 0);
  t.strictSame(run.cluster.violations, []);
});

t.test('a claim that was made anew under a name waits for the end of the one before', async (t) => {
  const run = new DraRun();
  const plugin = run.driver();
  const before = run.deviceClaim('g');
  run.claimingPod('a', ['g']);
  run.runs('a');
  plugin.claimErrors.set('g', 'busy');
  run.admin.remove('pods', 'a', { gracePeriodSeconds: 0 });
  run.admin.remove('resourceclaims', 'g', {});
  run.deviceClaim('g');
  const uid = run.claimingPod('b', ['g'], {}, {}, []);
  run.setClaim('g', { reservedFor: [{ resource: 'pods', name: 'b', uid }] });
  const error = `old ResourceClaim with same name g and different UID ${before} still exists (previous pod force-deleted?!)`;
  run.until('it says so', () => run.events('FailedPrepareDynamicResources', 'b').some((text) => text.endsWith(error)));
  plugin.claimErrors.clear();
  run.runs('b');
  t.match(run.saved(), [/^g: 1 pods/]);
  t.strictSame(run.cluster.violations, []);
});

t.test('an agent that is killed goes on from the file: what runs keeps its devices, a new sandbox has its claims prepared again', async (t) => {
  const run = new DraRun();
  run.driver();
  const claim = run.deviceClaim('g');
  const uid = run.claimingPod('a', ['g']);
  run.runs('a');
  const node = run.cluster.node();
  node.start();
  run.until('it has registered again', () => node.agent.plugins.draPlugins.length === 1);
  run.run(30 * second);
  t.strictSame(run.calls, ['prepare g'], 'nothing is prepared for what runs');
  node.runtime.killContainer(node.containers(uid).find(({ state }) => state === 'running')?.id ?? '', run.cluster.now);
  run.until('it runs again', () => node.containers(uid).filter(({ state }) => state === 'running').length === 1 && node.containers(uid).length > 1);
  t.strictSame(run.cdiDevices(uid).at(-1), [`${gpu}/device=${claim}`]);
  for (const { id } of node.sandboxes(uid)) node.runtime.killSandbox(id, run.cluster.now);
  run.until('it is prepared again', () => run.calls.length === 2);
  run.until('it runs in a new sandbox', () => node.containers(uid).some(({ state }) => state === 'running'));
  t.strictSame(run.saved(), [`g: 1 pods; ${gpu}=${gpu}/device=${claim}`], 'devices are kept once');
  run.goes('a');
  t.strictSame(run.saved(), []);
  t.strictSame(run.cluster.violations, []);
});

t.test('claims of a pod that went while the agent was down are unprepared', async (t) => {
  const run = new DraRun();
  const plugin = run.driver();
  run.deviceClaim('g');
  run.claimingPod('a', ['g']);
  run.runs('a');
  const node = run.cluster.node();
  node.kill();
  run.admin.remove('pods', 'a', { gracePeriodSeconds: 0 });
  run.run(10 * second);
  plugin.failures.push({ call: 'unprepare', kind: 'unavailable', message: 'not yet' });
  node.start();
  run.until('the driver is asked', () => run.calls.length === 2);
  run.run(30 * second);
  t.match(run.saved(), [/^g: 1 pods/], 'it could not');
  run.until('it is asked again', () => run.saved().length === 0);
  t.strictSame([run.calls, run.preparedBy()], [['prepare g', 'unprepare g', 'unprepare g'], []]);
  run.run(second);
  t.equal(node.agent.dra?.tasks.size, 0);
  t.strictSame(run.cluster.violations, []);
});

t.test('no driver hears of a claim before the state file names it', async (t) => {
  const run = new DraRun();
  run.driver();
  run.deviceClaim('g');
  run.cluster
    .node()
    .setFaults([{ operation: 'stateFiles.write', trigger: {}, action: { kind: 'error', moment: 'before', error: 'internal', message: 'no space left on device' } }]);
  run.claimingPod('a', ['g']);
  run.until('it is told', () => run.events().length > 0);
  t.equal(run.events()[0], 'Failed to prepare dynamic resources: prepare dynamic resources: checkpoint ResourceClaim cache: no space left on device');
  run.run(minute);
  t.strictSame(run.calls, []);
  run.cluster.node().setFaults([]);
  run.runs('a');
  t.strictSame(run.calls, ['prepare g']);
  t.strictSame(run.cluster.violations, []);
});

t.test('which drivers are taken', async (t) => {
  const run = new DraRun();
  for (const [versions, error] of [
    [[], /plugin validation failed with err: invalid supported gRPC versions of DRA driver plugin gpu.example.com at endpoint \S+: empty list/],
    [['v1beta1.DRAPlugin'], /: none of \[v1beta1.DRAPlugin\] is supported by this kubelet, which supports v1.DRAPlugin$/],
  ] as const)
    t.match(run.driver(gpu, { supportedVersions: versions }).notified, { registered: false, error });
  t.match(run.driver(gpu, { supportedVersions: ['v1beta1.DRAPlugin', 'v1.DRAPlugin'] }).notified, { registered: true });
  t.equal(run.cluster.node().agent.plugins.draPlugins.length, 1);
  const newer = run.host.csi.put('newer.sock', { name: gpu, type: 'DRAPlugin', supportedVersions: ['v1.DRAPlugin'] });
  run.until('the newer one is taken too', () => newer.notified?.registered === true);
  run.deviceClaim('g');
  run.claimingPod('a', ['g']);
  run.host.csi.remove(`${gpu}-reg.sock`);
  run.runs('a');
  run.host.csi.remove('newer.sock');
  run.until('none is left', () => run.cluster.node().agent.plugins.draPlugins.length === 0);
});

t.test('a node without claims tells pods that want some', async (t) => {
  const run = new DraRun({ claims: false });
  t.match(run.driver().notified, { registered: false, error: /no handler registered for plugin type: DRAPlugin/ });
  run.claimingPod('a', ['g'], {}, {}, []);
  run.until('it is told', () => run.events('FailedCreatePodContainer').length > 0);
  t.match(run.events('FailedCreatePodContainer')[0], /dynamic resource allocation/);
});
