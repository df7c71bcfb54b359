// The credential provider plugins of the two flags, checked before the agent starts: otherwise unusable plugins would
// fail pod by pod.
import { FileConfigurationSource } from '../../adapters/config-files/index.js';
import { findPlugin } from '../../adapters/credentials/index.js';
import type { LoadedConfiguration } from '../../domain/configuration/load-configuration.js';
import type { CredentialProvider } from '../../domain/images/credential-plugins.js';
import { readCredentialProviders } from '../../domain/images/credential-provider-config.js';
import { goQuote } from '../../domain/values/go-text.js';
import { StartRefusal } from '../../ports/start-refusal.js';

const suffixes = ['.json', '.yaml', '.yml'];

export function credentialProvidersOf({
  imageCredentialProviderConfig: config,
  imageCredentialProviderBinDir: directory,
}: LoadedConfiguration['options']): readonly CredentialProvider[] {
  if (config === '' && directory === '') return [];
  const refuse = (why: string) => new StartRefusal(`Failed to register CRI auth plugins: ${why}`);
  if (directory === '') throw refuse('--image-credential-provider-config needs --image-credential-provider-bin-dir beside it');
  if (config === '') throw refuse('--image-credential-provider-bin-dir needs --image-credential-provider-config beside it');
  const noDirectory = findPlugin(directory, null);
  if (noDirectory !== null) throw refuse(noDirectory);
  const files = new FileConfigurationSource().readFileOrDirectory(config, suffixes);
  if (files.length === 0) throw refuse(`no configuration files found in directory ${goQuote(config)}`);
  const read = readCredentialProviders(files);
  if (!read.ok) throw refuse(read.error);
  for (const { name } of read.providers) {
    const problem = findPlugin(directory, name);
    if (problem !== null) throw refuse(problem);
  }
  return read.providers;
}
