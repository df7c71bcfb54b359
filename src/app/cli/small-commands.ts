// `kubelet-ctl check-config` and `kubelet-ctl replay`: read their input, print the result, and end.
import { FileConfigurationSource } from '../../adapters/config-files/index.js';
import { readHost } from '../../adapters/linux/index.js';
import { parseCpuSet } from '../../domain/values/cpu-set.js';
import { replayFile } from '../daemon/replay-file.js';
import { checkConfig, checkConfigUsage } from './check-config.js';

const replayUsage = `usage: kubelet-ctl replay FILE

Runs the flight record FILE again, without a runtime, and compares the commands of each step. Exit status: 0 all steps equal, 1 a step went
another way (it is shown), 2 FILE is no record. A kubelet records when its file KUBELET_TS_CONFIG says flightRecorder: {file: PATH}.
`;
/** How much of two outputs is shown where they differ. */
const shownCharacters = 2_000;

export function checkConfigCommand(words: readonly string[]): number {
  if (words.includes('--help') || words.includes('-h')) {
    process.stdout.write(`${checkConfigUsage}\n`);
    return 0;
  }
  const host = readHost();
  const online = parseCpuSet(host.onlineCpus);
  return checkConfig(words, {
    source: new FileConfigurationSource(),
    cgroupVersion: host.cgroupVersion,
    onlineCpus: online.ok ? online.value : [0],
    writeOut: (text) => void process.stdout.write(text),
    writeError: (text) => void process.stderr.write(text),
  });
}

export function replayCommand(words: readonly string[]): number {
  const [path] = words;
  if (path === '--help' || path === '-h') {
    process.stdout.write(replayUsage);
    return 0;
  }
  if (path === undefined || words.length > 1) {
    process.stderr.write(replayUsage);
    return 2;
  }
  try {
    return reported(path);
  } catch (error) {
    process.stderr.write(`kubelet-ctl replay: ${error instanceof Error ? error.message : String(error)}\n`);
    return 2;
  }
}

function reported(path: string): number {
  const result = replayFile(path);
  switch (result.kind) {
    case 'same':
      process.stdout.write(`${result.steps} steps, the same commands in each\n`);
      return 0;
    case 'unreadable':
      process.stderr.write(`kubelet-ctl replay: ${path}: ${result.message}\n`);
      return 2;
    case 'diverged': {
      const { step, now, recorded, replayed } = result.divergence;
      const at = Math.max(0, firstDifference(recorded, replayed) - 100);
      const shown = (text: string): string => `${at > 0 ? '…' : ''}${text.slice(at, at + shownCharacters)}`;
      process.stdout.write(`step ${step + 1} at ${new Date(now / 1000).toISOString()} went another way\nrecorded: ${shown(recorded)}\nreplayed: ${shown(replayed)}\n`);
      return 1;
    }
  }
}

function firstDifference(a: string, b: string): number {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  return at;
}
