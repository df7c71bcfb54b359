// `npm run docs`: the pages of the package entries to docs/api, by typedoc. A warning fails: a page that leads nowhere is a fault.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bootstrapDevelopment, orExit } from './bootstrap.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
await orExit('docs', bootstrapDevelopment);
const { Application } = await import('typedoc');

const entries = ['src/domain/index.ts', 'src/ports/index.ts'].map((path) => join(root, path));
/** Members of the agent's state: it is stored, compared and handed on, not looked into. */
const agentDirectory = join(root, 'src', 'domain', 'agent');
const agentState = /^export interface AgentState \{.*?^\}/ms.exec(readFileSync(join(agentDirectory, 'agent-state.ts'), 'utf8'))?.[0] ?? '';
const entry = readFileSync(entries[0], 'utf8');
const stateTypes = readdirSync(agentDirectory, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .flatMap((name) => [...readFileSync(join(agentDirectory, name), 'utf8').matchAll(/^export (?:interface|type) (\w+)/gm)].map(([, type]) => type))
  .filter((type) => mentions(agentState, type) && !mentions(entry, type));
const otherTypes = [
  'PodCache',
  'PodConfigState',
  'Pleg',
  'SyncRun',
  'StartFailure',
  'StatusRecord',
  'PodWorkers',
  'FileSourceState',
  'UrlSourceState',
  'KernelData',
  'VolumeManager',
  'ProbeRegistry',
];

function mentions(text, type) {
  return new RegExp(`\\b${type}\\b`).test(text);
}

const application = await Application.bootstrap({
  name: 'kubelet-ts',
  entryPoints: entries,
  tsconfig: join(root, 'docs', 'tsconfig.json'),
  out: join(root, 'docs', 'api'),
  readme: 'none',
  excludeInternal: true,
  disableSources: true,
  treatWarningsAsErrors: true,
  intentionallyNotExported: [...stateTypes, ...otherTypes],
  validation: { notExported: true, invalidLink: true, notDocumented: false },
  requiredToBeDocumented: ['Function'],
  logLevel: 'Warn',
});
const project = await application.convert();
if (project === undefined) process.exitCode = 1;
else {
  application.validate(project);
  if (!application.logger.hasErrors() && !application.logger.hasWarnings()) await application.generateOutputs(project);
  if (application.logger.hasErrors() || application.logger.hasWarnings()) process.exitCode = 1;
  else console.error('docs: written to docs/api');
}
