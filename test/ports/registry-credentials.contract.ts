// The contract of the registry credential port: the model, and the node's files and programs.

import type { Test } from 'tap';
import type { Call, PortOf } from '../../src/ports/operation.js';
import type { NodeDockerConfig, PluginRun, RegistryCredentialOperations } from '../../src/ports/outbound/registry-credentials.js';
import { PortError, type PortErrorKind } from '../../src/ports/port-error.js';
import { portErrorOf } from '../support/port-failures.js';

export const quietCall: Call = { signal: { aborted: false, reason: undefined, addEventListener() {}, removeEventListener() {} }, timeoutMicros: null };
const abortedCall: Call = { ...quietCall, signal: { ...quietCall.signal, aborted: true } };

export interface CredentialsUnderTest {
  readonly port: PortOf<RegistryCredentialOperations>;
  /** Puts a Docker configuration where the node has it. */
  configure(text: string): void;
  /** Makes a plugin that writes this, or that fails saying so. */
  plugin(name: string, answer: { readonly stdout: string } | { readonly failure: string }): void;
}

export const runOf = (name: string, more: Partial<PluginRun> = {}): PluginRun => ({ name, args: [], env: [], stdin: '{}\n', ...more });

/** How a call failed; it must have. */

async function kindOf(work: () => Promise<unknown>): Promise<PortErrorKind | 'done'> {
  try {
    await work();
    return 'done';
  } catch (error) {
    if (error instanceof PortError) return error.kind;
    throw error;
  }
}

export async function registryCredentialsContract(t: Test, { port, configure, plugin }: CredentialsUnderTest): Promise<void> {
  t.equal(await port.readNodeConfig(null, quietCall), null, 'a node without a configuration');
  const text = '{"auths":{"r.io":{"auth":"dTpw"}}}';
  configure(text);
  const read = (await port.readNodeConfig(null, quietCall)) as NodeDockerConfig;
  t.strictSame([read.format, read.text], ['config.json', text]);
  t.same(await port.readNodeConfig(null, quietCall), read, 'again');

  plugin('good', { stdout: '{"kind":"CredentialProviderResponse"}' });
  plugin('bad', { failure: 'no token for you' });
  t.strictSame(await port.runPlugin(runOf('good'), quietCall), { stdout: '{"kind":"CredentialProviderResponse"}' });
  t.match(await portErrorOf(port.runPlugin(runOf('bad'), quietCall)), {
    kind: 'unknown',
    operation: 'registryCredentials.runPlugin',
    subject: 'bad',
    message: /no token for you$/,
  });
  t.equal(await kindOf(() => port.runPlugin(runOf('none'), quietCall)), 'not-found');
  for (const name of ['', '.', '..', '../good', 'a/b', '/bin/sh', 'a\0b'])
    t.equal(await kindOf(() => port.runPlugin(runOf(name), quietCall)), 'invalid-argument', `a plugin ${JSON.stringify(name)}`);
  t.equal(await kindOf(() => port.runPlugin(runOf('good'), abortedCall)), 'cancelled');
  t.equal(await kindOf(() => port.readNodeConfig(null, abortedCall)), 'cancelled');
}
