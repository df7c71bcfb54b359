// The arrows between the layers and the ban on cycles, for `npm run check`. test/tidy holds the same arrows and the rest of the rules;
// this one resolves packages and follows chains, so it is the one that sees cycles.
const layers = ['ports', 'domain', 'sim', 'adapters', 'app'];

/** A layer may import itself and the layers named. */
function arrows(layer, mayImport) {
  const others = layers.filter((name) => name !== layer && !mayImport.includes(name));
  return {
    name: `${layer}-imports-only-${[layer, ...mayImport].join('-')}`,
    severity: 'error',
    from: { path: `^src/${layer}/` },
    to: { path: `^(src/(${others.join('|')})|test|bench|scripts)/` },
  };
}

/** No Node module and no package: the layer runs in a browser and on virtual time. */
function alone(layer) {
  return { name: `${layer}-is-pure`, severity: 'error', from: { path: `^src/${layer}/` }, to: { dependencyTypes: ['core', 'npm', 'npm-dev', 'npm-optional', 'npm-peer', 'npm-no-pkg', 'npm-unknown'] } };
}

module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    { name: 'no-unresolved', severity: 'error', from: {}, to: { couldNotResolve: true } },
    { name: 'no-undeclared-package', severity: 'error', from: { path: '^src/' }, to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'] } },
    arrows('ports', []),
    arrows('domain', ['ports']),
    arrows('sim', ['ports', 'domain']),
    arrows('adapters', ['ports', 'domain', 'sim']),
    alone('ports'),
    alone('domain'),
    alone('sim'),
    {
      name: 'adapters-see-values-and-kernel-of-the-domain',
      severity: 'error',
      from: { path: '^src/adapters/' },
      to: { path: '^src/domain/', pathNot: '^src/domain/(values|kernel)/' },
    },
    { name: 'adapters-see-the-face-of-sim', severity: 'error', from: { path: '^src/adapters/' }, to: { path: '^src/sim/', pathNot: '^src/sim/index\\.ts$' } },
    {
      name: 'adapters-see-the-face-of-each-other',
      severity: 'error',
      from: { path: '^src/adapters/([^/]+)/' },
      to: { path: '^src/adapters/', pathNot: ['^src/adapters/$1/', '^src/adapters/[^/]+/index\\.ts$'] },
    },
    { name: 'inversify-only-in-app', severity: 'error', from: { path: '^src/', pathNot: '^src/app/' }, to: { path: 'node_modules/inversify/' } },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^dist/' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: { extensions: ['.ts', '.js', '.json'], exportsFields: ['exports'], conditionNames: ['import', 'node', 'default', 'types'] },
  },
};
