// Entries of the list of images that need no verification: the patterns, and the errors of others.
import t from 'tap';
import { allowlistPatternProblem } from '../../src/domain/configuration/image-pattern.js';

const hex = 'a'.repeat(64);
const unreadable = 'failed to parse as an image name: invalid reference format';
const full = (pattern: string) => `neither tag nor digest is accepted in an image reference: ${pattern}`;

const rows: readonly (readonly [pattern: string, problem: string | null])[] = [
  ['registry.example/app', null],
  ['registry.example/team/app', null],
  ['registry:5000/app', null],
  ['localhost/app', null],
  ['localhost:80/app', null],
  ['[fe80::1]:5000/app', null],
  ['Registry/app', null],
  ['docker.io/library/app', null],
  ['docker.io/team/app', null],
  ['registry.example/*', null],
  ['registry.example/team/*', null],
  ['app', full('app')],
  ['team/app', full('team/app')],
  ['docker.io/app', full('docker.io/app')],
  ['index.docker.io/app', full('index.docker.io/app')],
  ['index.docker.io/team/app', full('index.docker.io/team/app')],
  ['registry.example/app:1', full('registry.example/app:1')],
  [`registry.example/app@sha256:${hex}`, full(`registry.example/app@sha256:${hex}`)],
  [`${hex}`, unreadable],
  [`x${hex}`, full(`x${hex}`)],
  [`${hex}x`, full(`${hex}x`)],
  ['registry.example/App', unreadable],
  ['registry.example/', unreadable],
  ['registry.example/a//b', unreadable],
  ['/app', unreadable],
  ['', 'the supplied pattern is too short: '],
  ['*', "not a valid wildcard pattern, only patterns ending with '/*' are allowed: *"],
  ['a*b', "not a valid wildcard pattern, only patterns ending with '/*' are allowed: a*b"],
  ['a*/*', "not a valid wildcard pattern, only patterns ending with '/*' are allowed: a*/*"],
  ['/*', 'at least registry hostname is required'],
  [' registry.example/app', 'leading/trailing spaces are not allowed:  registry.example/app'],
];

t.test('patterns and what is wrong with them', async (t) => {
  for (const [pattern, problem] of rows) t.equal(allowlistPatternProblem(pattern), problem, JSON.stringify(pattern));
});
