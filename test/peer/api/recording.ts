// Where kube-apiserver's answers to the script are kept, an answer a line, without what isn't compared:
//
// | left out                              | why                                                                            |
// |---------------------------------------|--------------------------------------------------------------------------------|
// | metadata.managedFields                | the mock keeps them for applied objects only                                   |
// | descriptions of a table's columns     | no client shows them                                                           |
// | `openshift-service-ca.crt`            | a source that some distributions' servers add to the volume of a pod's token   |
// | ages, the server's present version    | other in each run                                                              |
// | the object that a strict patch made   | the mock quotes the patch                                                      |
// | how a pod's spec differs from before  | the mock says that it does                                                     |
// | audiences of the apiserver itself     | a setting of it                                                                |
import { readFileSync, writeFileSync } from 'node:fs';
import type { Json } from '../admin-client.js';

const file = new URL('../../../../test/peer/recordings/apiserver.json', import.meta.url);

export function comparable(answers: Json): Json {
  return JSON.parse(JSON.stringify(answers), (key, value: Json) => {
    if (key === 'managedFields') return undefined;
    if (key === 'columnDefinitions') return value.map(({ description: _, ...column }: Json) => column);
    if (key === 'cells') return value.map((cell: Json) => (typeof cell === 'string' ? cell.replace(/^\d+[sm]$/, 'AGE') : cell));
    if (key === 'sources' && Array.isArray(value)) return value.filter((source: Json) => source.configMap?.name !== 'openshift-service-ca.crt');
    if (key === 'message' && typeof value === 'string') {
      return value
        .replace(/current: \d+$/, 'current: N')
        .replace(/\n@@ .*$/s, '')
        .replace(/in record \(\d+\)/, 'in record (N)')
        .replace(/Invalid value: ".*": strict decoding/, 'Invalid value: "(object)": strict decoding');
    }
    if (key === 'audiences') return value.map((audience: string) => audience.replace(/^https:\/\/kubernetes\.default\.svc.*/, '(apiserver)'));
    if (typeof value === 'string' && value.startsWith('X509SHA256=')) return 'X509SHA256=N';
    return value;
  });
}

export function recordedAnswers(): Json {
  return comparable(JSON.parse(readFileSync(file, 'utf8')));
}

export function record({ answers, watches }: Json): void {
  const lines = (of: Json): string =>
    Object.entries(of)
      .map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`)
      .join(',\n');
  const events = Object.entries(watches).map(([name, list]) => `${JSON.stringify(name)}: [\n${(list as Json[]).map((one) => JSON.stringify(one)).join(',\n')}\n]`);
  writeFileSync(file, `{"answers": {\n${lines(answers)}\n},\n"watches": {\n${events.join(',\n')}\n}}\n`);
}
