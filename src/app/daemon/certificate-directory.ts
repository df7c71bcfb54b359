// Where certificates are kept: as --cert-dir says. An agent beside the node's own keeps its certificates with the rest of its things, so that
// it never takes or replaces those of the node.
import { join } from 'node:path';
import type { ProcessOptions } from '../../domain/configuration/apply-flags.js';
import { defaultRootDirectory } from './daemon-profile.js';

const nodeDirectory = `${defaultRootDirectory}/pki`;

export function certificateDirectory({ certDir, rootDir }: Pick<ProcessOptions, 'certDir' | 'rootDir'>): string {
  return certDir === nodeDirectory && rootDir !== defaultRootDirectory ? join(rootDir, 'pki') : certDir;
}
