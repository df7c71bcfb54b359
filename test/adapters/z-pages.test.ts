// /flagz, /statusz and /debug/flags/v by what is asked for: forms, versions, and what is refused.
import t from 'tap';
import { flagzRoute, type KubeletRoute, statuszRoute, verbosityRoute } from '../../src/adapters/http-server/index.js';
import { parseYaml } from '../../src/adapters/yaml/index.js';

const flagz = flagzRoute(
  () =>
    new Map([
      ['v', '2'],
      ['hostname-override', 'n1'],
      ['node-labels', 'a=b: c'],
    ]),
);
const facts = {
  startTime: '2026-01-02T03:04:05Z',
  uptimeSeconds: 3_725,
  runtimeVersion: 'node v20',
  binaryVersion: '1.36',
  emulationVersion: '1.36',
  paths: ['/configz', '/flagz'],
};
const statusz = statuszRoute(() => facts);

async function ask(route: KubeletRoute, accept: string | undefined, method = 'GET', body = '') {
  const headers = accept === undefined ? {} : { accept };
  const answer = await route.answer({
    method,
    path: route.pattern,
    elements: [],
    query: new URLSearchParams(),
    headers,
    body: async () => body,
    signal: new AbortController().signal,
  });
  if (answer === null || !('body' in answer)) throw new Error('no answer');
  return answer;
}

const of = (type: string, kind: string, version = 'v1beta1', group = 'config.k8s.io') => `${type};as=${kind};v=${version};g=${group}`;
const json = 'application/json';
const yaml = 'application/yaml';
type Row = readonly [sentence: string, route: KubeletRoute, accept: string | undefined, status: number, type: string | null];
const rows: readonly Row[] = [
  ['nothing is asked for', flagz, undefined, 200, 'text/plain; charset=utf-8'],
  ['text', flagz, 'text/plain', 200, 'text/plain; charset=utf-8'],
  ['anything', statusz, '*/*', 200, 'text/plain; charset=utf-8'],
  ['JSON of a kind and version', flagz, of(json, 'Flagz'), 200, 'application/json;g=config.k8s.io;v=v1beta1;as=Flagz'],
  ['the same of the other page', statusz, of(json, 'Statusz'), 200, 'application/json;g=config.k8s.io;v=v1beta1;as=Statusz'],
  ['YAML of a kind and version', flagz, of(yaml, 'Flagz'), 200, 'application/yaml;g=config.k8s.io;v=v1beta1;as=Flagz'],
  ['the version before', statusz, of(yaml, 'Statusz', 'v1alpha1'), 200, 'application/yaml;g=config.k8s.io;v=v1alpha1;as=Statusz'],
  ['the first of several that there is', flagz, `text/html, ${json}, ${of(json, 'Flagz')}, text/plain`, 200, 'application/json;g=config.k8s.io;v=v1beta1;as=Flagz'],
  ['JSON of no version', flagz, json, 406, null],
  ['another kind', flagz, of(json, 'Statusz'), 406, null],
  ['another version', flagz, of(json, 'Flagz', 'v1'), 406, null],
  ['another group', flagz, of(json, 'Flagz', 'v1beta1', 'apps'), 406, null],
  ['a form that there is not', statusz, of('application/cbor', 'Statusz'), 406, null],
  ['a name that every object has', statusz, of('constructor', 'Statusz'), 406, null],
  ['HTML', statusz, 'text/html', 406, null],
];

for (const [sentence, route, accept, status, type] of rows) {
  t.test(sentence, async (t) => {
    const answer = await ask(route, accept);
    t.equal(answer.status, status);
    t.equal(answer.headers['Content-Type'], type ?? json);
    if (status === 406) {
      const accepted = 'only the following media types are accepted: application/json, application/yaml, text/plain';
      return t.match(JSON.parse(answer.body), { kind: 'Status', reason: 'NotAcceptable', message: accepted, code: 406 });
    }
    const isOld = accept?.includes('v1alpha1') === true;
    t.equal('Warning' in answer.headers, isOld, 'an old version is warned of');
    if (type?.startsWith('text/')) return t.match(answer.body, /^\nkubelet (flagz|statusz)\nWarning: This endpoint is not meant to be machine parseable/);
    const read = parseYaml(Buffer.from(answer.body));
    if (!read.ok) throw new Error('it can not be read');
    const content =
      route === flagz ? { flags: { v: '2', 'hostname-override': 'n1', 'node-labels': 'a=b: c' } } : { goVersion: 'node v20', uptimeSeconds: 3_725, paths: ['/configz', '/flagz'] };
    const shown = type?.startsWith(yaml) ? JSON.parse(JSON.stringify(read.value)) : JSON.parse(answer.body);
    return t.match(shown, {
      kind: route === flagz ? 'Flagz' : 'Statusz',
      apiVersion: `config.k8s.io/${isOld ? 'v1alpha1' : 'v1beta1'}`,
      metadata: { name: 'kubelet' },
      ...content,
    });
  });
}

t.test('the pages in text', async (t) => {
  t.match((await ask(flagz, 'text/plain')).body, /\n\nhostname-override=n1\nnode-labels=a=b: c\nv=2\n$/, 'sorted');
  t.match((await ask(statusz, 'text/plain')).body, /\nStarted: 2026-01-02T03:04:05Z\nUp: 1 hr 02 min 05 sec\nGo version: node v20\n/);
});

t.test('how much is logged', async (t) => {
  const set: number[] = [];
  const route = verbosityRoute((level) => set.push(level));
  t.match(await ask(route, undefined, 'PUT', '4'), { status: 200, body: 'successfully set klog.logging.verbosity to 4\n' });
  t.match(await ask(route, undefined, 'PUT', 'loud'), { status: 400, body: 'strconv.ParseUint: parsing "loud": invalid syntax\n' });
  t.match(await ask(route, undefined, 'PUT', '99999999999'), { status: 400, body: /value out of range/ });
  t.match(await ask(route, undefined, 'GET'), { status: 406, body: 'unsupported http method\n' });
  t.strictSame(set, [4]);
});
