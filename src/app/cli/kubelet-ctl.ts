#!/usr/bin/env node
// Tools around the kubelet: demonstrations, mocks, queries of a running one, checks. One module a command, loaded
// on demand.
import { exitWhenWritten, whenReaderIsGone } from './standard-output.js';
import { quickVersion } from './version.js';

const help = `usage: kubelet-ctl COMMAND [OPTION...]

  dev            run a kubelet with example pods and watch them; needs no root and no runtime
  ps             pods and containers of a running kubelet, or of a container runtime
  logs           what a container of a node without an apiserver has written
  check-config   what a kubelet would run with, from a configuration file; or what is wrong with it
  mock-cri       a container runtime for tests, on a Unix socket
  mock-csi       a CSI driver for tests, which registers with a kubelet
  mock-apiserver an apiserver in memory, for kubectl and tests
  replay         run a flight record again, and find the first step that went another way

kubelet-ctl COMMAND --help says more. Quick start: kubelet-ctl dev
`;

async function main([command, ...words]: readonly string[]): Promise<number> {
  const { stdout, stderr } = process;
  // A demonstration has more to do then than to end.
  if (command !== 'dev') whenReaderIsGone(() => process.exit(0));
  switch (command) {
    case 'dev':
      return (await import('../dev/run-dev.js')).runDev(words, stdout, stderr);
    case 'ps':
      return (await import('./ps.js')).ps(words, stdout, stderr);
    case 'logs':
      return (await import('./logs.js')).logs(words, stdout, stderr);
    case 'check-config':
      return (await import('./small-commands.js')).checkConfigCommand(words);
    case 'mock-cri':
      return (await import('./mock-cri.js')).mockCri(words, stdout, stderr);
    case 'mock-csi':
      return (await import('./mock-csi.js')).mockCsi(words, stdout, stderr);
    case 'mock-apiserver':
      return (await import('./mock-apiserver.js')).mockApiserver(words, stdout, stderr);
    case 'replay':
      return (await import('./small-commands.js')).replayCommand(words);
    case 'help':
    case '--help':
    case '-h':
      stdout.write(help);
      return 0;
    default:
      stderr.write(command === undefined ? help : `kubelet-ctl: unknown command ${command}\n\n${help}`);
      return 2;
  }
}

const words = process.argv.slice(2);
const version = quickVersion(words);
if (version !== null) process.stdout.write(version);
else await exitWhenWritten(await main(words));
