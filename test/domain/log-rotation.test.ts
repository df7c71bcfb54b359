// The actions on a log's rotated files, as a table.

import t from 'tap';
import { planRotatedFiles, rotatedLogName } from '../../src/domain/logs/log-rotation.js';
import { instantOf } from '../../src/domain/values/instant.js';

const rows: readonly (readonly [string, readonly string[], number, readonly string[], readonly string[]])[] = [
  ['nothing was rotated yet', [], 5, [], []],
  ['the newest is compressed at the next rotation', ['0.log.1'], 5, [], ['0.log.1']],
  ['compressed ones stay', ['0.log.1.gz', '0.log.2'], 5, [], ['0.log.2']],
  ['with five files, three old ones beside the log and the one it becomes', ['0.log.1.gz', '0.log.2.gz', '0.log.3.gz', '0.log.4'], 5, ['0.log.1.gz'], ['0.log.4']],
  ['the oldest go first, whatever the order they are listed in', ['0.log.3', '0.log.1', '0.log.2'], 3, ['0.log.1', '0.log.2'], ['0.log.3']],
  ['with two files none is kept', ['0.log.1.gz', '0.log.2'], 2, ['0.log.1.gz', '0.log.2'], []],
  ['what was half compressed goes', ['0.log.1', '0.log.1.tmp'], 5, ['0.log.1.tmp'], ['0.log.1']],
  ['what is there compressed too goes', ['0.log.1', '0.log.1.gz'], 5, ['0.log.1'], []],
  ['what goes does not count', ['0.log.1', '0.log.1.gz', '0.log.2.tmp', '0.log.2'], 4, ['0.log.1', '0.log.2.tmp'], ['0.log.2']],
];
for (const [what, names, maxFiles, discard, compress] of rows) {
  t.test(what, async (t) => {
    t.strictSame(planRotatedFiles(names, maxFiles), { discard, compress });
  });
}

t.test('a rotated log is named by local time', async (t) => {
  const at = Date.UTC(2026, 0, 2, 3, 4, 5) * 1_000 + 999_999;
  t.equal(rotatedLogName('0.log', instantOf(at), 0), '0.log.20260102-030405');
  t.equal(rotatedLogName('12.log', instantOf(at), 5.5 * 3_600), '12.log.20260102-083405');
  t.equal(rotatedLogName('0.log', instantOf(at), -4 * 3_600), '0.log.20260101-230405');
});
