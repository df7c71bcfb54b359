// Loaded before everything else in each process of the tests (`npm test`): writes down each warning of Node, with its stack, for the run to fail by.
// Invariant: nothing else changes; a warning that the program handles itself is written down, too.
import { appendFileSync } from 'node:fs';

const file = process.env.KUBELET_TS_TEST_WARNINGS;
if (file !== undefined) {
  const emit = process.emit;
  process.emit = function (event, ...rest) {
    if (event === 'warning') appendFileSync(file, `${JSON.stringify({ program: process.argv[1] ?? '', warning: rest[0]?.stack ?? String(rest[0]) })}\n`);
    return emit.call(this, event, ...rest);
  };
}
