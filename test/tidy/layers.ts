// The import arrows: ports <- domain <- sim <- adapters <- app, and what each layer may take from packages and from Node.
// Invariant: a type-only import counts like any other.
import { posix } from 'node:path';
import { type Finding, importsOf, type SourceText } from './source-text.js';

/** Null when `path` is not in a layer. */
function layerOf(path: string): string | null {
  return /^src\/(ports|domain|sim|adapters|app)\//.exec(path)?.[1] ?? null;
}

const pureLayers = new Set(['ports', 'domain', 'sim']);

export function arrowFindings(source: SourceText): Finding[] {
  const layer = layerOf(source.path);
  if (layer === null) return [];
  return importsOf(source).flatMap(({ specifier, line }) => {
    const message = specifier.startsWith('.') ? relativeProblem(source.path, layer, specifier) : packageProblem(layer, specifier);
    return message === null ? [] : [{ path: source.path, line, message }];
  });
}

function packageProblem(layer: string, specifier: string): string | null {
  if (pureLayers.has(layer)) return `${layer} imports no package and no Node module, but here ${specifier}`;
  if (/^kubelet-ts(\/|$)/.test(specifier)) return `the package does not import itself by name: ${specifier}`;
  if (layer !== 'app' && /^inversify(\/|$)/.test(specifier)) return 'only src/app imports inversify';
  return null;
}

function relativeProblem(from: string, layer: string, specifier: string): string | null {
  const to = resolved(from, specifier);
  if (to.startsWith('src/') && /(\/|^)[^./]+$|(?<!\.d)\.ts$/.test(specifier)) return `a relative import ends in .js: ${specifier}`;
  if (to === 'package.json' || to.startsWith('build/')) return pureLayers.has(layer) ? `${layer} reads nothing outside src: ${to}` : null;
  if (!to.startsWith('src/')) return `${layer} imports nothing outside src: ${to}`;
  return mayImport(from, layer, to) ? null : `${layer} may not import ${to}`;
}

function mayImport(from: string, layer: string, to: string): boolean {
  const target = layerOf(to);
  switch (layer) {
    case 'ports':
      return target === 'ports';
    case 'domain':
      return target === 'ports' || target === 'domain';
    case 'sim':
      return target === 'ports' || target === 'domain' || target === 'sim';
    case 'adapters':
      return adapterMayImport(from, to);
    default:
      return target !== null;
  }
}

/** The domain's values and kernel, the ports, its own folder, and the faces of sim and of other adapters. */
function adapterMayImport(from: string, to: string): boolean {
  if (/^src\/(ports|domain\/values|domain\/kernel)\//.test(to) || to === 'src/sim/index.ts') return true;
  return folderOf(from) === folderOf(to) || /^src\/adapters\/[^/]+\/index\.ts$/.test(to);
}

function folderOf(path: string): string | null {
  return /^src\/adapters\/([^/]+)\//.exec(path)?.[1] ?? null;
}

/** The source file that a relative specifier means. */
export function resolved(from: string, specifier: string): string {
  return posix.join(posix.dirname(from), specifier).replace(/\.js$/, '.ts');
}
