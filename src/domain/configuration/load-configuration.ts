// Loads the effective configuration from the command line and its files, or returns a one-line refusal.
// Order: flags, file, drop-ins, defaults, flags again, logging, validation. Flags override drop-ins, later drop-ins override earlier ones,
// drop-ins override the file, the file overrides the defaults.
// Invariant: a pure function of its arguments; files are read through the source only.
import type { ConfigurationSource, ParsedValue } from '../../ports/outbound/configuration-source.js';
import { goQuote } from '../values/go-text.js';
import { isAbsolutePath, joinPath, parentPath } from '../values/slash-paths.js';
import { type GatedFeatures, gatedFeatures } from './acting-gates.js';
import { applyFlags, type ProcessOptions, processOptions } from './apply-flags.js';
import { readDropIn, readMainDocument, readMergedDocument } from './configuration-document.js';
import { applyDefaults, withFileDefaults } from './defaults.js';
import { showConfiguration } from './draft.js';
import { type FeatureGates, joinErrors, noFeatureGates, setFeatureGates } from './feature-gates.js';
import { flagBaseline, flagTable } from './flag-table.js';
import { mergePatch } from './merge-patch.js';
import { nodeLabelsProblem } from './node-labels.js';
import { type ParsedFlags, parseFlags } from './parse-flags.js';
import { type DraftConfiguration, type KubeletConfiguration, settingRows, valueAt, withValue } from './schema.js';
import { type ValidationHost, validateConfiguration } from './validate.js';
import { loggingProblems } from './validate-services.js';

export interface LoadedConfiguration {
  readonly kind: 'loaded';
  readonly configuration: KubeletConfiguration;
  readonly options: ProcessOptions;
  readonly gates: FeatureGates;
  /** What the gates switch. */
  readonly features: GatedFeatures;
  /** `Flag --x has been deprecated, ...`: for standard error, in the order of use. */
  readonly deprecations: readonly string[];
  readonly deprecatedFlags: readonly string[];
  /** Why the file had to be read leniently; null when it was exact. */
  readonly strictDecodingError: string | null;
  readonly skippedDropIns: readonly string[];
  /** About feature gates that no longer need to be set. */
  readonly gateWarnings: readonly string[];
}

/** The step that refused the configuration. */
export type RefusalPhase = 'flags' | 'files' | 'defaulting' | 'logging' | 'validation';

export interface RefusedConfiguration {
  readonly kind: 'refused';
  readonly error: string;
  readonly phase: RefusalPhase;
  readonly exitCode: 1;
}

export type LoadResult =
  | LoadedConfiguration
  | RefusedConfiguration
  /** --help */
  | { readonly kind: 'help' }
  /** --version: `true` or `raw`. */
  | { readonly kind: 'version'; readonly format: string };

/** `words` are those after the program's name. */
export function loadConfiguration(words: readonly string[], source: ConfigurationSource, host: ValidationHost): LoadResult {
  try {
    return load(words, source, host);
  } catch (error) {
    if (error instanceof Refusal) return { kind: 'refused', error: error.message, phase: error.phase, exitCode: 1 };
    throw error;
  }
}

/** Leaves the steps below; never leaves this file. */
class Refusal extends Error {
  readonly phase: RefusalPhase;

  constructor(phase: RefusalPhase, message: string) {
    super(message);
    this.phase = phase;
  }
}

function load(words: readonly string[], source: ConfigurationSource, host: ValidationHost): LoadResult {
  const flags = parseFlags(words);
  if (!flags.ok) throw new Refusal('flags', `failed to parse kubelet flag: ${flags.error}`);
  const [command] = flags.positional;
  if (command !== undefined) throw new Refusal('flags', `unknown command ${command}`);
  const options = processOptions(flags.values);
  if (options.help) return { kind: 'help' };
  if (options.version === 'true' || options.version === 'raw') return { kind: 'version', format: options.version };

  const fromFlags = applyFlags(flagBaseline, flags.values);
  const gateWarnings: string[] = [];
  let gates = setGates(noFeatureGates, fromFlags, gateWarnings);
  const labels = nodeLabelsProblem(options.nodeLabels);
  if (labels !== null) throw new Refusal('flags', `failed to validate kubelet flags: ${labels}`);

  const file = options.config === '' ? null : loadFile(options.config, source, gates);
  const merged = options.configDir === '' ? null : mergeDropIns(file?.configuration ?? fromFlags, options.configDir, source, gates);
  const base = merged?.configuration ?? file?.configuration ?? null;
  const configuration = base === null ? fromFlags : applyFlags(base, flags.values);
  if (base !== null) gates = setGates(gates, configuration, gateWarnings);
  const logging = loggingProblems(configuration, gates);
  if (logging.length > 0) throw new Refusal('logging', `initialize logging: ${joinErrors(logging)}`);
  const problems = validateConfiguration(configuration, gates, host);
  if (problems.length > 0) throw new Refusal('validation', `failed to validate kubelet configuration, error: ${joinErrors(problems)}`);
  return {
    kind: 'loaded',
    configuration,
    options,
    gates,
    features: gatedFeatures(gates),
    deprecations: deprecationLines(flags),
    deprecatedFlags: flags.deprecatedUses,
    strictDecodingError: file?.strictDecodingError ?? null,
    skippedDropIns: merged?.skipped ?? [],
    gateWarnings: [...new Set(gateWarnings)],
  };
}

function deprecationLines({ deprecatedUses }: ParsedFlags): string[] {
  const messages = new Map(flagTable.map((flag) => [flag.name, flag.deprecation]));
  return deprecatedUses.map((name) => `Flag --${name} has been deprecated, ${messages.get(name)}`);
}

/** The text names the flags in both rounds, as it always did. */
function setGates(gates: FeatureGates, configuration: KubeletConfiguration, warnings: string[]): FeatureGates {
  const set = setFeatureGates(gates, configuration.featureGates);
  if (!set.ok) throw new Refusal('flags', `failed to set feature gates from initial flags-based config: ${set.error}`);
  warnings.push(...set.warnings);
  return set.gates;
}

/** Gates of a document count for its own defaults already. */
function withDefaults(draft: DraftConfiguration, gates: FeatureGates): KubeletConfiguration {
  const own = setFeatureGates(gates, (valueAt(draft, ['featureGates']) ?? {}) as Record<string, boolean>);
  if (!own.ok) throw new Refusal('defaulting', `failed to merge global and in-flight KubeletConfiguration while setting defaults, error: ${own.error}`);
  return applyDefaults(draft, own.gates);
}

function loadFile(name: string, source: ConfigurationSource, gates: FeatureGates): { readonly configuration: KubeletConfiguration; readonly strictDecodingError: string | null } {
  const file = source.readFile(name);
  const document = readMainDocument(file);
  if (!document.ok) throw new Refusal('files', `failed to load kubelet config file, path: ${name}, error: failed to load Kubelet config file ${name}, error ${document.error}`);
  const configuration = resolvePaths(withDefaults(document.draft, gates), parentPath(file.path));
  const evictionHardIsSet = valueAt(document.draft, ['evictionHard']) !== null;
  return { configuration: withFileDefaults(configuration, evictionHardIsSet), strictDecodingError: document.strictDecodingError };
}

/** Relative paths of the file count from where it lies. */
function resolvePaths(configuration: KubeletConfiguration, directory: string): KubeletConfiguration {
  let resolved = configuration;
  for (const { path, setting } of settingRows) {
    if (!setting.relativeToFile) continue;
    const value = valueAt(resolved, path) as string;
    if (value !== '' && !isAbsolutePath(value)) resolved = withValue(resolved, path, joinPath(directory, value));
  }
  return resolved;
}

/** Drop-ins patch the shown form, in which empty lists and maps are absent: so they get their defaults again. */
function mergeDropIns(
  base: KubeletConfiguration,
  directory: string,
  source: ConfigurationSource,
  gates: FeatureGates,
): { readonly configuration: KubeletConfiguration; readonly skipped: readonly string[] } {
  const failed = (error: string): Refusal => new Refusal('files', `failed to merge kubelet configs: ${error}`);
  const walk = `failed to walk through kubelet dropin directory ${goQuote(directory)}: `;
  const listing = source.readDropIns(directory);
  let document: ParsedValue = showConfiguration(base);
  for (const file of listing.files) {
    const dropIn = readDropIn(file);
    if (!dropIn.ok) throw failed(`${walk}${dropIn.error}`);
    document = mergePatch(document, dropIn.patch);
  }
  if (listing.error !== null) throw failed(`${walk}${listing.error}`);
  const read = readMergedDocument(document);
  if (!read.ok) throw failed(`failed to unmarshal merged JSON into kubelet configuration: ${read.error}`);
  return { configuration: withDefaults(read.draft, gates), skipped: listing.skipped };
}
