// The directory of certificates: --cert-dir. An agent beside the node's kubelet keeps its certificates in its own root directory, so that
// it never uses or replaces those of the node.
import { join } from 'node:path';
import type { ProcessOptions } from '../../domain/configuration/apply-flags.js';
import { defaultRootDirectory } from './daemon-profile.js';

const nodeDirectory = `${defaultRootDirectory}/pki`;

export function certificateDirectory({ certDir, rootDir }: Pick<ProcessOptions, 'certDir' | 'rootDir'>): string {
  return certDir === nodeDirectory && rootDir !== defaultRootDirectory ? join(rootDir, 'pki') : certDir;
}
