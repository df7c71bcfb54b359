// Two schedulers on the same simulated cluster and the same trace of jobs, on virtual time: how long do jobs wait, and how many nodes are in use?
// Run: node examples/embed/two-schedulers.mjs, or with another number of nodes than 200 behind it
import { allControllers, SimCluster } from 'kubelet-ts/sim';

const second = 1_000_000;
const size = Number(globalThis.process?.argv[2] ?? 200);
const nodes = Array.from({ length: size }, (_, i) => `node-${String(i).padStart(3, '0')}`);
const nodeMillis = 4_000;
/** Plain data, so that both get the same: when a job comes, what CPU it asks for, how long it runs. */
const trace = Array.from({ length: size }, (_, i) => ({ at: (i * 50) / size, cpuMillis: [500, 1000, 2000][i % 3], runs: 20 + ((i * 37) % 40) }));

// Told the free CPU of each node that has room, a scheduler names one.
const byFree = (sign) => (rooms) => rooms.reduce((best, room) => (sign * (room.free - best.free) > 0 ? room : best)).name;
const schedulers = { spread: byFree(1), pack: byFree(-1) };

function run(choose) {
  // The server's own scheduler stays out of it. `node: {}`: each node is the project's own agent, and joins that server.
  const controllers = allControllers.filter((name) => name !== 'scheduler');
  const cluster = new SimCluster({ seed: 1, nodes, apiserver: { controllers }, node: {}, checkers: [], hash: true });
  const pods = { group: '', version: 'v1', plural: 'pods' };
  const user = { name: 'scheduler', groups: ['system:masters'] };
  const ask = (verb, name, subresource, body) => {
    const { code, body: answer } = cluster.apiserver.handle({ user, verb, resource: pods, namespace: 'default', name, subresource, body }, cluster.now);
    if (code >= 300) throw new Error(`${verb} ${name ?? ''}: ${code} ${answer.message}`);
    return answer;
  };
  cluster.run(5 * second); // every node has registered

  const began = cluster.now;
  let [next, done, busiest] = [0, 0, 0];
  while (done < trace.length) {
    for (; next < trace.length && began + trace[next].at * second <= cluster.now; next++) {
      const { cpuMillis, runs } = trace[next];
      const container = { name: 'c', image: `job:${next % 8}`, imagePullPolicy: 'IfNotPresent', resources: { requests: { cpu: `${cpuMillis}m` } } };
      const metadata = { name: `job-${next}`, annotations: { 'sim.kubelet-ts/c': `run=${runs}s` } };
      ask('create', null, null, { metadata, spec: { restartPolicy: 'Never', automountServiceAccountToken: false, containers: [container] } });
    }
    const all = ask('list', null, null).items.map((pod) => ({ pod, job: trace[Number(pod.metadata.name.slice(4))] }));
    const live = all.filter(({ pod }) => pod.status.phase !== 'Succeeded');
    done = all.length - live.length;
    const free = new Map(nodes.map((name) => [name, nodeMillis]));
    for (const { pod, job } of live) if (pod.spec.nodeName) free.set(pod.spec.nodeName, free.get(pod.spec.nodeName) - job.cpuMillis);
    for (const { pod, job } of live.filter(({ pod }) => !pod.spec.nodeName)) {
      const name = choose([...free].flatMap(([name, left]) => (left >= job.cpuMillis ? [{ name, free: left }] : [])));
      free.set(name, free.get(name) - job.cpuMillis);
      ask('create', pod.metadata.name, 'binding', { metadata: { name: pod.metadata.name }, target: { kind: 'Node', name } });
    }
    busiest = Math.max(busiest, [...free.values()].filter((left) => left < nodeMillis).length);
    cluster.run(second / 2);
  }
  const waits = ask('list', null, null).items.map(({ metadata, status }) => {
    const started = Date.parse(status.containerStatuses[0].state.terminated.startedAt) / 1000;
    return started - (began / second + trace[Number(metadata.name.slice(4))].at);
  });
  return { wait: waits.reduce((sum, wait) => sum + wait, 0) / waits.length, busiest, seconds: (cluster.now - began) / second, hash: cluster.hash };
}

for (const [name, choose] of Object.entries(schedulers)) {
  const { wait, busiest, seconds, hash } = run(choose);
  console.log(`${name}: a job starts ${wait.toFixed(1)} s after it came, ${busiest} nodes in use at most, ${seconds} s in all, trace ${hash.slice(0, 12)}`);
}
