// `kubelet-ctl mock-cri`: the mock container runtime as a program of its own.
import { type MockCriProfile, mockCriProfiles, startMockCri } from '../../adapters/mock-cri/index.js';
import type { ViewOutput } from '../dev/pod-view.js';

const usage = `usage: kubelet-ctl mock-cri --listen unix:///path [--profile NAME] [--speed N] [--no-events] [--listed-images] [--seed N]

A container runtime that runs nothing: sandboxes, containers and images are kept and behave as configured, in real time. How a container
behaves is said by the pod: the annotation sim.kubelet-ts/CONTAINER: run=30s,exit=1,log=2/s

  --profile NAME    offer what a runtime offers that there is: ${Object.keys(mockCriProfiles).join(', ')}
  --speed N         N seconds of the runtime in one (default 1)
  --no-events       offer no event stream, as older containerds
  --listed-images   pulls fail: the registry is empty
  --seed N          what image sizes and ids are drawn from (default 1)
`;

interface Given {
  listen: string | null;
  speed: number;
  seed: number;
  /** Left out: as the profile has it. */
  offersEvents?: false;
  profile?: MockCriProfile;
  registry: 'any' | 'listed';
}

export async function mockCri(words: readonly string[], output: ViewOutput, error: ViewOutput): Promise<number> {
  if (words.includes('--help') || words.includes('-h')) {
    output.write(usage);
    return 0;
  }
  const given = parse(words);
  if (typeof given === 'string' || given.listen === null) {
    error.write(`kubelet-ctl mock-cri: ${typeof given === 'string' ? given : '--listen is needed'}\n\n${usage}`);
    return 2;
  }
  const ended = new Promise<void>((resolve) => {
    process.once('SIGINT', () => resolve());
    process.once('SIGTERM', () => resolve());
  });
  try {
    const server = await startMockCri({ ...given, listen: given.listen });
    output.write(`listening on ${server.endpoint}\n`);
    await ended;
    await server.stop();
    return 0;
  } catch (failure) {
    error.write(`kubelet-ctl mock-cri: ${failure instanceof Error ? failure.message : String(failure)}\n`);
    return 1;
  }
}

/** A text: the error. */
function parse(words: readonly string[]): Given | string {
  const given: Given = { listen: null, speed: 1, seed: 1, registry: 'any' };
  const rest = words.flatMap((word) => (/^--[a-z]+=/.test(word) ? [word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)] : [word])).reverse();
  for (let word = rest.pop(); word !== undefined; word = rest.pop()) {
    switch (word) {
      case '--no-events':
        given.offersEvents = false;
        break;
      case '--listed-images':
        given.registry = 'listed';
        break;
      case '--profile': {
        const name = rest.pop() ?? '';
        if (!Object.hasOwn(mockCriProfiles, name)) return `--profile is one of ${Object.keys(mockCriProfiles).join(', ')}`;
        given.profile = name as MockCriProfile;
        break;
      }
      case '--listen':
        given.listen = rest.pop() ?? null;
        break;
      case '--speed':
      case '--seed': {
        const value = Number(rest.pop());
        if (!Number.isFinite(value) || value <= 0) return `${word} needs a positive number`;
        given[word === '--speed' ? 'speed' : 'seed'] = value;
        break;
      }
      default:
        return `unknown option ${word}`;
    }
  }
  return given;
}
