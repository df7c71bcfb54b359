// @ts-check
// The live page in the browser: requests the node's data every two seconds while the page is visible, and draws it. It keeps the plots' history
// itself, so that a node measures nothing for a closed page.
// Invariant: text from the node is only ever set as text, never as markup.

/** @typedef {{step: string, subject: string, from: number, to: number | null, failure: string | null}} Span */
/** @typedef {{uid: string, name: string, namespace: string, phase: string, ready: string, restarts: number, age: string, message: string, isStatic: boolean, isEnding: boolean, cpuNanoCores: number | null, workingSetBytes: number | null, containers: {name: string, state: string, restarts: number, image: string}[], life: Span[]}} Pod */
/** @typedef {{signal: string, kind: string, available: number | null, capacity: number | null, threshold: number | null, isBytes: boolean}} Signal */
/** @typedef {{path: string, of: string, cpuNanoCores: number | null, workingSetBytes: number | null, processes: number | null}} Cgroup */
/** @typedef {{now: number, sampledAt: string | null, node: {name: string, version: string, runtime: string, startedAt: number, cpuCount: number, memoryBytes: number, cpuNanoCores: number | null, workingSetBytes: number | null}, failures: {name: string, failure: string}[], signals: Signal[], pods: Pod[], cgroups: Cgroup[]}} Data */

const periodMillis = 2000;
const historyMax = 120;
const logLines = 200;
const keyName = 'key';

/** @type {Map<string, number[]>} */
const history = new Map();
/** @type {string | null} */
let sampledAt = null;
/** @type {string | null} */
let chosenUid = null;
/** Cgroups that were opened or closed by hand. @type {Map<string, boolean>} */
const openCgroups = new Map();

/** @param {string} id @returns {HTMLElement} */
const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/**
 * @param {string} tag
 * @param {Record<string, string>} attributes
 * @param {(Node | string)[]} children
 */
function html(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

/**
 * @param {string} tag
 * @param {Record<string, string | number>} attributes
 * @param {(Node | string)[]} children
 */
function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
  node.append(...children);
  return node;
}

/** The key comes behind the `#`, which no server is sent, and stays with this tab. */
function key() {
  const given = new URLSearchParams(location.hash.slice(1)).get(keyName);
  if (given !== null) {
    sessionStorage.setItem(keyName, given);
    window.history.replaceState(null, '', location.pathname);
  }
  return sessionStorage.getItem(keyName) ?? '';
}

/** @param {string} path */
async function ask(path) {
  const answer = await fetch(path, { headers: { Authorization: `Bearer ${key()}` }, cache: 'no-store' });
  if (answer.status === 401) throw new Error('the key is missing or wrong: open the page as .../#key=KEY, with the key of the file live-page-key in the root directory');
  if (!answer.ok) throw new Error(`${answer.status}: ${(await answer.text()).slice(0, 300)}`);
  return answer;
}

/** @param {number | null} bytes */
function bytesText(bytes) {
  if (bytes === null) return '–';
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

/** @param {number | null} nanoCores */
function cpuText(nanoCores) {
  if (nanoCores === null) return '–';
  const milli = nanoCores / 1e6;
  return milli >= 1000 ? `${(milli / 1000).toFixed(2)} cores` : `${milli >= 10 ? Math.round(milli) : milli.toFixed(1)} m`;
}

/** @param {number} millis */
function durationText(millis) {
  if (millis < 1000) return `${Math.round(millis)} ms`;
  const seconds = millis / 1000;
  if (seconds < 120) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 120 ? `${minutes} min` : `${Math.floor(minutes / 60)} h`;
}

/** @param {string} name @param {number | null} value */
function remember(name, value) {
  if (value === null) return;
  const values = history.get(name) ?? [];
  values.push(value);
  if (values.length > historyMax) values.shift();
  history.set(name, values);
}

/** @param {string} name @param {string} label @param {number} [least] the top of the plot, at the least */
function plot(name, label, least = 0) {
  const values = history.get(name) ?? [];
  const top = Math.max(least, ...values) || 1;
  const width = Math.max(1, values.length - 1);
  const points = values.map((value, i) => `${i},${(30 - (28 * value) / top).toFixed(2)}`);
  const picture = svg('svg', { viewBox: `0 0 ${width} 30`, preserveAspectRatio: 'none', role: 'img', 'aria-label': label });
  if (values.length > 1) picture.append(svg('polygon', { points: `0,30 ${points.join(' ')} ${width},30` }), svg('polyline', { points: points.join(' ') }));
  return picture;
}

/** @param {Data} data */
function note(data) {
  if (data.sampledAt !== null && data.sampledAt === sampledAt) return;
  sampledAt = data.sampledAt;
  remember('cpu', data.node.cpuNanoCores);
  remember('memory', data.node.workingSetBytes);
  remember(
    'restarts',
    data.pods.reduce((sum, { restarts }) => sum + restarts, 0),
  );
  remember('running', data.pods.filter(({ phase }) => phase === 'Running').length);
  const uids = new Set();
  for (const pod of data.pods) {
    uids.add(pod.uid);
    remember(`cpu/${pod.uid}`, pod.cpuNanoCores);
    remember(`memory/${pod.uid}`, pod.workingSetBytes);
  }
  for (const name of history.keys()) if (name.includes('/') && !uids.has(name.slice(name.indexOf('/') + 1))) history.delete(name);
}

/** @param {string} title @param {string} value @param {string} more @param {Element} picture */
function card(title, value, more, picture) {
  return html('div', { class: 'card' }, html('span', {}, title), html('b', {}, value), html('span', {}, more), picture);
}

/** @param {Data} data */
function drawNode({ node, pods, now, failures }) {
  byId('node').textContent = node.name;
  byId('about').textContent = `${node.version} · ${node.runtime} · up ${durationText(now - node.startedAt)}`;
  document.title = `${node.name} – kubelet-ts`;
  const running = pods.filter(({ phase }) => phase === 'Running').length;
  const restarts = pods.reduce((sum, pod) => sum + pod.restarts, 0);
  byId('cards').replaceChildren(
    card('CPU', cpuText(node.cpuNanoCores), `of ${node.cpuCount} cores`, plot('cpu', 'CPU of the node', node.cpuCount * 1e8)),
    card('Memory', bytesText(node.workingSetBytes), `of ${bytesText(node.memoryBytes)}`, plot('memory', 'memory of the node', node.memoryBytes / 10)),
    card('Pods running', String(running), `of ${pods.length}`, plot('running', 'pods running', 1)),
    card('Restarts', String(restarts), 'of containers, in all', plot('restarts', 'restarts of containers', 1)),
  );
  const state = byId('state');
  state.className = failures.length === 0 ? '' : 'bad';
  state.textContent = failures.length === 0 ? 'healthy' : failures.map(({ name, failure }) => `${name}: ${failure}`).join('; ');
}

/** @param {Data} data */
function drawSignals({ signals }) {
  /** @param {Signal} signal @param {number | null} value */
  const text = (signal, value) => (value === null ? '–' : signal.isBytes ? bytesText(value) : String(value));
  byId('signals').replaceChildren(
    ...signals.map((signal) => {
      const { available, capacity, threshold } = signal;
      const part = (/** @type {number | null} */ value) => (value === null || !capacity ? 0 : Math.min(100, (100 * value) / capacity));
      const filled = html('i');
      filled.style.width = `${part(available)}%`;
      const mark = html('u');
      mark.style.left = `${part(threshold)}%`;
      const isMet = available !== null && threshold !== null && available < threshold;
      return html(
        'div',
        { class: isMet ? 'signal met' : 'signal', 'data-signal': signal.signal },
        html('span', {}, signal.signal),
        html('small', {}, signal.kind),
        html('div', { class: 'bar' }, filled, mark),
        html('small', {}, available === null ? 'not measured here' : `${text(signal, available)} left; evicts below ${text(signal, threshold)}`),
      );
    }),
  );
  if (signals.length === 0) byId('signals').replaceChildren('Nothing is measured, or no threshold is set.');
}

/** @param {Data} data */
function drawPods({ pods }) {
  const body = /** @type {HTMLTableSectionElement} */ (document.querySelector('#pods tbody'));
  const focused = document.activeElement instanceof HTMLButtonElement ? document.activeElement.dataset.uid : undefined;
  body.replaceChildren(
    ...pods.map((pod) => {
      const button = html('button', { type: 'button', 'data-uid': pod.uid }, pod.name);
      const row = html(
        'tr',
        pod.uid === chosenUid ? { class: 'chosen' } : {},
        html('td', {}, button, html('small', {}, `${pod.namespace}${pod.isStatic ? ' · static' : ''}`)),
        html('td', { class: pod.phase }, pod.isEnding ? 'Terminating' : pod.phase),
        html('td', {}, pod.ready),
        html('td', {}, String(pod.restarts)),
        html('td', {}, plot(`cpu/${pod.uid}`, `CPU of ${pod.name}`), cpuText(pod.cpuNanoCores)),
        html('td', {}, plot(`memory/${pod.uid}`, `memory of ${pod.name}`), bytesText(pod.workingSetBytes)),
        html('td', {}, pod.age),
        html('td', { class: 'trouble' }, pod.message),
      );
      row.addEventListener('click', () => choose(pod.uid));
      return row;
    }),
  );
  for (const button of body.querySelectorAll('button')) if (button.dataset.uid === focused) button.focus();
  byId('no-pods').hidden = pods.length > 0;
}

/** @param {string} uid */
function choose(uid) {
  chosenUid = uid;
  void refresh();
}

const rowHeight = 20;
const leftWidth = 250;
const fullWidth = 1200;

/** A span's length is drawn on a scale that gives the first moments of a life room: a pod lives for days and starts in a second. @param {Pod} pod @param {number} now */
function lifePicture({ life }, now) {
  const shown = life.slice(-40);
  const begin = Math.min(...shown.map(({ from }) => from));
  const end = Math.max(...shown.map(({ from, to }) => to ?? Math.min(now, from + 60_000)), begin + 1);
  const x = (/** @type {number} */ at) => leftWidth + ((fullWidth - leftWidth - 90) * Math.min(at - begin, end - begin)) / (end - begin);
  const height = shown.length * rowHeight + 24;
  const picture = svg('svg', { viewBox: `0 0 ${fullWidth} ${height}`, role: 'img', 'aria-label': 'what happened to this pod, and when' });
  for (const part of [0, 0.25, 0.5, 0.75, 1]) {
    const at = begin + (end - begin) * part;
    picture.append(
      svg('line', { x1: x(at), x2: x(at), y1: 0, y2: height - 18 }),
      svg('text', { x: x(at), y: height - 5, class: 'faint', 'text-anchor': 'middle' }, `+${durationText(at - begin)}`),
    );
  }
  shown.forEach((span, i) => {
    const y = i * rowHeight;
    const to = span.to ?? now;
    const bar = svg('rect', {
      x: x(span.from),
      y: y + 3,
      width: Math.max(2, x(Math.min(to, end)) - x(span.from)),
      height: rowHeight - 7,
      rx: 2,
      class: `step-${span.step}${span.failure === null ? '' : ' failed'}`,
    });
    const said = `${span.step} ${span.subject}: ${new Date(span.from).toLocaleTimeString()}, ${span.to === null ? 'since then' : durationText(to - span.from)}${span.failure === null ? '' : `; ${span.failure}`}`;
    bar.append(svg('title', {}, said));
    picture.append(
      svg('text', { x: 0, y: y + 14 }, `${span.step} ${span.subject}`.slice(0, 42)),
      bar,
      svg(
        'text',
        { x: Math.min(x(Math.min(to, end)) + 6, fullWidth - 80), y: y + 14, class: 'faint' },
        `${span.failure === null ? '' : '✗ '}${durationText(to - span.from)}${span.to === null ? ' …' : ''}`,
      ),
    );
  });
  return picture;
}

/** @param {Data} data */
async function drawPod({ pods, now }) {
  const pod = pods.find(({ uid }) => uid === chosenUid);
  byId('pod').hidden = pod === undefined;
  if (pod === undefined) return;
  byId('pod-title').textContent = `${pod.namespace}/${pod.name}`;
  byId('life').replaceChildren(pod.life.length === 0 ? 'Nothing has happened to it since the agent started.' : lifePicture(pod, now));
  byId('containers').replaceChildren(
    ...pod.containers.map(({ name, state, restarts, image }) =>
      html('span', {}, html('b', {}, name), ` ${state}${restarts > 0 ? `, ${restarts} restarts` : ''} `, html('small', {}, image)),
    ),
  );
  const choice = /** @type {HTMLSelectElement} */ (byId('log-of'));
  const names = pod.containers.map(({ name }) => name);
  if (choice.dataset.uid !== pod.uid || choice.options.length !== names.length) {
    const before = choice.dataset.uid === pod.uid ? choice.value : '';
    choice.replaceChildren(...names.map((name) => html('option', {}, name)));
    const running = pod.containers.find(({ state }) => state === 'running')?.name ?? '';
    if (names.includes(before)) choice.value = before;
    else if (running !== '') choice.value = running;
    choice.dataset.uid = pod.uid;
    await drawLog(pod);
  } else if (/** @type {HTMLInputElement} */ (byId('log-follow')).checked) await drawLog(pod);
}

/** @param {Pod} pod */
async function drawLog({ namespace, name, uid }) {
  const container = /** @type {HTMLSelectElement} */ (byId('log-of')).value;
  const log = byId('log');
  let text = '';
  if (container !== '') {
    try {
      text = await (await ask(`/containerLogs/${[namespace, name, container].map(encodeURIComponent).join('/')}?tailLines=${logLines}`)).text();
    } catch (error) {
      text = error instanceof Error ? error.message : String(error);
    }
  }
  if (uid !== chosenUid) return;
  const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 8;
  if (log.textContent !== text) log.textContent = text;
  if (atEnd) log.scrollTop = log.scrollHeight;
}

/** @typedef {{name: string, path: string, here: Cgroup | null, below: Map<string, Branch>}} Branch */

/** @param {Cgroup[]} cgroups @returns {Branch} */
function treeOf(cgroups) {
  /** @type {Branch} */
  const root = { name: '/', path: '/', here: null, below: new Map() };
  for (const cgroup of cgroups) {
    let branch = root;
    let path = '';
    for (const name of cgroup.path.split('/').filter((part) => part !== '')) {
      path += `/${name}`;
      const next = branch.below.get(name) ?? { name, path, here: null, below: new Map() };
      branch.below.set(name, next);
      branch = next;
    }
    branch.here = cgroup;
  }
  return root;
}

/** @param {Branch} branch @param {number} depth @returns {HTMLElement} */
function branchElement({ name, path, here, below }, depth) {
  const label = html('span', { class: 'name' }, name, ...(here !== null && here.of !== '' ? [html('small', {}, here.of)] : []));
  const figures = [cpuText(here?.cpuNanoCores ?? null), bytesText(here?.workingSetBytes ?? null), here?.processes == null ? '–' : `${here.processes} proc`];
  const cells = [label, ...figures.map((text) => html('span', { class: 'figure' }, text))];
  if (below.size === 0) return html('div', { class: 'leaf' }, ...cells);
  const details = /** @type {HTMLDetailsElement} */ (html('details', {}, html('summary', {}, ...cells)));
  details.open = openCgroups.get(path) ?? depth < 2;
  details.addEventListener('toggle', () => openCgroups.set(path, details.open));
  const names = [...below.keys()].sort();
  details.append(...names.map((one) => branchElement(/** @type {Branch} */ (below.get(one)), depth + 1)));
  return details;
}

/** When the cgroups that are shown were measured. @type {string | null | undefined} */
let cgroupsOf;

/** Only new figures are drawn, so that a reader of the tree doesn't lose the place. @param {Data} data */
function drawCgroups({ cgroups, sampledAt: measuredAt }) {
  if (measuredAt === cgroupsOf) return;
  cgroupsOf = measuredAt;
  byId('cgroups').replaceChildren(cgroups.length === 0 ? 'The cgroups of this node can not be read.' : branchElement(treeOf(cgroups), 0));
}

let isAsking = false;

async function refresh() {
  if (isAsking) return;
  isAsking = true;
  try {
    /** @type {Data} */
    const data = await (await ask('/data')).json();
    note(data);
    drawNode(data);
    drawSignals(data);
    drawPods(data);
    drawCgroups(data);
    await drawPod(data);
  } catch (error) {
    const state = byId('state');
    state.className = 'bad';
    state.textContent = error instanceof Error ? error.message : String(error);
  } finally {
    isAsking = false;
  }
}

byId('log-of').addEventListener('change', () => void refresh());
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) void refresh();
});
setInterval(() => {
  if (!document.hidden) void refresh();
}, periodMillis);
void refresh();
