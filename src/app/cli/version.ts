// What --version prints. Alone in its file, so that a program can answer before it loads anything else.
// kubeadm reads the line with `^\s*Kubernetes v(X.Y.Z...)\s*$`, and a suffix after `+` sorts with the release.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The release of Kubernetes that this agent is measured against. */
const release = 'v1.36.2';

/** The directory of this package: of a clone, or where it is installed. */
export function packageDirectory(): string {
  for (let directory = dirname(fileURLToPath(import.meta.url)); ; directory = dirname(directory)) {
    if (existsSync(join(directory, 'package.json'))) return directory;
    if (dirname(directory) === directory) throw new Error('the package of this program is not complete: there is no package.json above it');
  }
}

export function reportedVersion(): string {
  const { version } = JSON.parse(readFileSync(join(packageDirectory(), 'package.json'), 'utf8')) as { readonly version: string };
  return `${release}+ts.${version}`;
}

/** The text for `--version` (`true`) and `--version=raw`. */
export function versionText(format: string): string {
  const version = reportedVersion();
  if (format !== 'raw') return `Kubernetes ${version}\n`;
  const [major, minor] = release.slice(1).split('.');
  return `version.Info{Major:"${major}", Minor:"${minor}", GitVersion:"${version}", Compiler:"node ${process.version}", Platform:"${process.platform}/${process.arch}"}\n`;
}

/** The answer to a command line with only the version flag; null for any other. */
export function quickVersion(words: readonly string[]): string | null {
  if (words.length !== 1) return null;
  const format = /^--version(?:=(true|raw))?$/.exec(words[0] ?? '');
  return format === null ? null : versionText(format[1] ?? 'true');
}
