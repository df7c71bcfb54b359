// Who may write the agent's state: `slice.ts` of a part gives write access to the files of its folder, and nothing else gives it.
import { posix } from 'node:path';
import ts from 'typescript';
import { resolved } from './layers.js';
import { type Finding, finding, importsOf, nodesOf, type SourceText } from './source-text.js';

const takesAccess = /^src\/domain\/agent\/(agent|ownership|[^/]+\/slice)\.ts$/;
const access = new Set(['contextOf', 'stateOf']);
const written = /^(\w*ContextOf|StateOf)\b|^(?!Agent|Ports?|Source|Sync|Image|Volume)\w+Context$/;

export function ownershipFindings(source: SourceText): Finding[] {
  if (!source.path.startsWith('src/')) return [];
  const imports = importsOf(source).flatMap(({ specifier, line }) => {
    const to = specifier.startsWith('.') ? resolved(source.path, specifier) : '';
    if (!/^src\/domain\/agent\/[^/]+\/slice\.ts$/.test(to) || posix.dirname(to) === posix.dirname(source.path)) return [];
    return [{ path: source.path, line, message: `write access to the state of another part: ${to}; call a function of its owner` }];
  });
  return takesAccess.test(source.path) ? imports : [...imports, ...accessFindings(source)];
}

function accessFindings(source: SourceText): Finding[] {
  if (!source.path.startsWith('src/domain/agent/')) return [];
  return [...nodesOf(source.tree)].flatMap((node) => {
    if (ts.isIdentifier(node) && access.has(node.text) && ts.isImportSpecifier(node.parent))
      return [finding(source, node, 'only slice.ts of a part and agent.ts take write access')];
    if (ts.isAsExpression(node) && written.test(node.type.getText(source.tree)))
      return [finding(source, node, `a cast to write access: ${node.getText(source.tree).slice(0, 80)}`)];
    return [];
  });
}
