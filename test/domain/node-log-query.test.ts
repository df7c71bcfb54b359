// Queries of the node's logs: what is refused and how, as recorded, and the arguments of journalctl.
import t from 'tap';
import { journalArguments, parseNodeLogQuery } from '../../src/domain/logs/node-log-query.js';

const parsed = (text: string) => {
  const query = new URLSearchParams(text);
  return parseNodeLogQuery((name) => query.getAll(name));
};

const refusals: readonly (readonly [query: string, status: number, message: string])[] = [
  ['query=', 400, 'unit: Invalid value: [""]: unit cannot be empty'],
  ['query=kubelet&sinceTime=x', 400, 'sinceTime: Invalid value: "x": invalid time format'],
  ['query=kubelet&tailLines=x', 400, 'tailLines: Invalid value: "x": strconv.Atoi: parsing "x": invalid syntax'],
  ['query=kubelet&boot=99999999999999999999', 400, 'boot: Invalid value: "99999999999999999999": strconv.Atoi: parsing "99999999999999999999": value out of range'],
  ['query=a%3Bb', 406, 'query: Invalid value: "a;b": input contains unsupported characters'],
  ['query=/a&query=/b', 406, 'query: Invalid value: ["/a","/b"]: cannot specify more than one file'],
  ['query=/a.log&tailLines=5', 406, 'query: Invalid value: ["/a.log"]: cannot specify file with options'],
  ['query=/a.log&query=kubelet', 406, 'query: Invalid value: "[/a.log], [kubelet]": cannot specify a file and service'],
  ['query=kubelet&sinceTime=2026-01-02T00:00:00Z&untilTime=2026-01-01T00:00:00Z', 406, 'untilTime: Invalid value: "2026-01-01T00:00:00Z": must be after `sinceTime`'],
  ['query=kubelet&tailLines=100001', 406, 'tailLines: Invalid value: 100001: must be between 0 and 100000, inclusive'],
  ['query=kubelet&boot=1', 406, 'boot: Invalid value: 1: must be less than 1'],
  ['query=kubelet&pattern=%5B', 406, 'pattern: Invalid value: "[": error parsing regexp: missing closing ]: `[`'],
  ['query=a&query=b&query=c&query=d&query=e', 406, 'query: Too many: 5: must have at most 4 items'],
  [`query=${'a'.repeat(257)}`, 406, `query: Invalid value: "${'a'.repeat(257)}": length must be less than 256`],
];

t.test('what is refused', async (t) => {
  for (const [query, status, message] of refusals) t.strictSame(parsed(query), { kind: 'refused', status, message }, query.slice(0, 60));
});

t.test('what is asked of the journal', async (t) => {
  t.strictSame(parsed('tailLines=5'), { kind: 'none' }, 'without a query the files are shown');
  const rows: readonly (readonly [query: string, words: readonly string[]])[] = [
    ['query=kubelet', ['--unit=kubelet']],
    ['query=kubelet&query=containerd', ['--unit=kubelet', '--unit=containerd']],
    ['query=kubelet&tailLines=5', ['--pager-end', '--lines=5', '--unit=kubelet']],
    ['query=kubelet&sinceTime=2026-01-02T03:04:05Z&untilTime=2026-01-03T00:00:00%2B01:00', ['--since=2026-01-02 03:04:05', '--until=2026-01-02 23:00:00', '--unit=kubelet']],
    ['query=kubelet&pattern=a;rm -rf $HOME`x`&boot=-1', ['--unit=kubelet', '--grep=a;rm -rf $HOME`x`', '--boot', '-1']],
  ];
  for (const [text, words] of rows) {
    const result = parsed(text);
    if (result.kind !== 'query') t.fail(`${text}: ${JSON.stringify(result)}`);
    else t.strictSame(journalArguments(result.query, result.query.services), ['--utc', '--no-pager', '--output=short-precise', ...words], text);
  }
});
