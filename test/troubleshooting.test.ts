// docs/troubleshooting.md against the sources: each metric, event and log line that it names is one of this kubelet.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';

const root = join(import.meta.dirname, '..', '..');
const textsBelow = (directory: string): string =>
  readdirSync(join(root, directory), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => readFileSync(join(root, directory, path), 'utf8'))
    .join('\n');
const [sources, families] = [textsBelow('src'), textsBelow('src/ports/outbound/metrics') + textsBelow('src/adapters/metrics')];
const [sentEvents = ''] = readFileSync(join(root, 'docs/events.md'), 'utf8').split('## Not sent yet');

type Column = 'event' | 'metric' | 'log line';

/** What stands in backticks in that column of all tables. */
function named(column: Column): string[] {
  const found: string[] = [];
  let at = -1;
  for (const line of readFileSync(join(root, 'docs/troubleshooting.md'), 'utf8').split('\n')) {
    const cells = line.split('|').map((cell) => cell.trim());
    if (cells[1] === 'symptom') at = cells.indexOf(column);
    else if (!line.startsWith('|')) at = -1;
    else if (at >= 0) found.push(...[...(cells[at] ?? '').matchAll(/`([^`]+)`/g)].map(([, text = '']) => text));
  }
  return found;
}

/** Of prom-client, which a test with a running daemon sees. */
const ofProcess = /^(nodejs|process)_/;

t.test('metrics', async (t) => {
  // The others are values of labels.
  const metrics = named('metric').filter((text) => /^(kubelet|container|csi|dra|storage|plugin|prober|resource|rest_client|nodejs|process)_[a-z0-9_]+$/.test(text));
  t.ok(metrics.length > 40, `${metrics.length} metrics`);
  for (const name of metrics) if (!ofProcess.test(name)) t.ok(new RegExp(`\\b${name}\\b`).test(families), name);
});

t.test('events', async (t) => {
  const events = named('event');
  t.ok(events.length > 30, `${events.length} events`);
  for (const reason of events) t.ok(sentEvents.includes(`\`${reason}\``), reason);
});

t.test('lines of the log', async (t) => {
  const lines = named('log line');
  t.ok(lines.length > 30, `${lines.length} lines`);
  for (const line of lines) t.ok(sources.includes(line), line);
});
